//! The last row: what was typed or done, what is left out, and which keys there are.

use probe::units::UnixMillis;

use super::canvas::{Canvas, columns};
use super::theme::Ink;
use crate::calendar;
use crate::render::words::{cut, safe};
use crate::tui::state::{Mode, Remembers, State};

const KEYS: [(&str, &str); 9] = [
    ("?", "help"),
    ("q", "quit"),
    ("/", "filter"),
    ("⏎", "details"),
    ("i m s u r c", "sort"),
    ("t", "tree"),
    ("o", "own"),
    ("p", "pause"),
    ("x", "signal"),
];

pub fn draw(canvas: &mut Canvas<'_>, state: &State, y: Option<u16>) {
    let Some(y) = y else { return };
    if let Mode::Filter { .. } = state.mode {
        return put_filter(canvas, state, y);
    }
    if let Some(message) = &state.message {
        canvas.put(0, y, message, Ink::Notice);
        return;
    }
    let mut x = 0;
    for choice in choices(state) {
        x = canvas.put(x, y, &choice, Ink::Notice) + 2;
    }
    // The keys come first.
    let memory = cut(&memory(state), usize::from(canvas.width() / 2));
    let end = canvas.width().saturating_sub(columns(&memory));
    for (key, what) in KEYS {
        let key = if canvas.theme.is_ascii && key == "⏎" { "Enter" } else { key };
        if x + columns(key) + columns(what) + 3 > end {
            break;
        }
        x = canvas.put(x, y, key, Ink::Strong) + 1;
        x = canvas.put(x, y, what, Ink::Plain) + 2;
    }
    if x <= end {
        canvas.put(end, y, &memory, Ink::Quiet);
    }
}

fn put_filter(canvas: &mut Canvas<'_>, state: &State, y: u16) {
    let typed = safe(&state.choice.text);
    let x = canvas.put(0, y, "filter: ", Ink::Strong);
    let x = canvas.put(x, y, &typed, Ink::Plain);
    let x = canvas.put(x, y, " ", Ink::Chosen) + 2;
    let all = state.all_holders();
    let shown = state.lines.len().min(all);
    let count = format!("{shown} of {all}   Enter keeps it, Esc leaves it");
    canvas.put(x, y, &count, Ink::Quiet);
}

/// What is not shown as it comes.
fn choices(state: &State) -> Vec<String> {
    let choice = &state.choice;
    let mut choices = Vec::from_iter(range(state));
    if !choice.text.is_empty() {
        choices.push(format!("only {}", safe(&choice.text)));
    }
    if choice.only_of.is_some() {
        choices.push("only own".to_owned());
    }
    if choice.hides_graphics {
        choices.push("no graphics".to_owned());
    }
    choices
}

/// Which of the holders are seen, where that is not all of them.
fn range(state: &State) -> Option<String> {
    let (seen, count) = (state.holders, state.lines.len());
    let last = (seen.top + seen.page).min(count);
    (seen.page > 0 && seen.page < count).then(|| format!("{}–{last} of {count}", seen.top + 1))
}

/// What the times rest on.
fn memory(state: &State) -> String {
    let clock = |at: UnixMillis| state.settings.zone.format(calendar::nearest(at), "%H:%M");
    match &state.remembers {
        Remembers::OnlyWhatWasSeen => format!("seen since {}", clock(state.settings.began)),
        Remembers::From(from) => format!("recorded since {}", clock(*from)),
        Remembers::Not(why) => why.clone(),
    }
}
