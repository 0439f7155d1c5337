//! Which keys there are, and what the marks mean.

use super::popup::{Line, Text};
use super::theme::Ink;
use gua_core::Thresholds;

const KEYS: [(&str, &str); 17] = [
    ("↑ ↓ j k", "one line; PgUp, PgDn, Home, End, the wheel: more"),
    ("← → h l Tab", "to the cards, to the holders"),
    ("Enter", "everything that is known of the chosen one"),
    ("/", "filter by user, program or pid, as you type; Esc takes it off"),
    ("i", "sort by how long they hold without working, longest first"),
    ("m", "sort by memory"),
    ("s", "sort by SM share"),
    ("u", "sort by user"),
    ("r", "sort by run time"),
    ("c", "sort by card; the same key again turns the order round"),
    ("t", "as a tree, below the processes that started them"),
    ("o", "only your own processes"),
    ("g", "without those that only draw graphics"),
    ("+ -", "less or more time in the graphs, 1 min to 1 h"),
    ("p Space", "pause; the graphs go on behind it"),
    ("x", "send a signal to the chosen process, after a question"),
    ("q Ctrl-C", "quit; Ctrl-Z: to the shell, and back with fg"),
];

pub fn text(thresholds: &Thresholds) -> Text {
    let keys = KEYS.iter().map(|(key, what)| Line::Pair((*key).into(), (*what).into()));
    let (active, held) = (thresholds.active.0, thresholds.held.0 >> 20);
    let judged = format!(
        "active: utilization from {active} % on. idle-held: below, with more than {held} MiB held. \
         free: neither. unknown: could not be read; Enter on a card says why."
    );
    let idle = format!(
        "idle-held of a holder: how long it has not worked, by its own SM share or by its card \
         where that is not told, with more than {held} MiB held, or on a card that is held idle. \
         ≥ where it was so already when it was first seen."
    );
    let said = [
        "",
        &judged,
        &idle,
        "? is a figure that is not known. ~ is that of a moment only. ▒ is memory of no visible \
         process. RAM counts shared pages too.",
    ];
    let said = said.into_iter().map(|said| Line::Said(said.to_owned(), Ink::Plain));
    Text { title: "gua top: keys".into(), lines: keys.chain(said).collect(), keys: "Esc: back" }
}
