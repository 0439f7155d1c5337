//! The sections about time: how it was spent, on which cards, by whom.

use probe::card::label;

use super::figures::{bar, hours, ink, mark, percent, stretch, who};
use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell};
use crate::render::words::{card_name, safe};
use crate::report::usage::{Amount, Card, Person, Shown, States, Usage};

/// The longest bar of all cards, and of one.
const LONGEST_BAR: usize = 60;
const LONGEST_CARD_BAR: usize = 24;
/// A shorter one would show nothing.
const SHORTEST_BAR: usize = 8;

/// Where the words about idle capacity stand, after the state.
const CAPACITY_AT: usize = INDENT + 12;

/// How many people are shown.
pub(super) const MOST_PEOPLE: usize = 10;

pub(super) fn headline(page: &mut Page<'_>, usage: &Usage) {
    page.heading("§1 Headline");
    page.text(INDENT, &basis(usage), Ink::Quiet);
    if let Some(judged) = judged_again(usage, &page.view.tz) {
        page.text(INDENT, &judged, Ink::Quiet);
    }
    let room = page.view.width.saturating_sub(2 * INDENT).min(LONGEST_BAR);
    page.cells(INDENT, &bar_cells(&usage.states, room));
    let largest = largest(&usage.states);
    let rows: Vec<_> = shown(&usage.states)
        .map(|state| {
            let amount = amount(&usage.states, state);
            vec![
                Cell::new(state.word(), ink(state)),
                Cell::new(mark(state).to_string(), ink(state)),
                Cell::plain(percent(amount.share)),
                Cell::plain(format!("{} GPU-h", hours(amount.gpu_hours, largest))),
            ]
        })
        .collect();
    page.table(&[Align::Left, Align::Left, Align::Right, Align::Right], &rows, 0);
}

pub(super) fn basis(usage: &Usage) -> String {
    let lines = usage.thresholds;
    let (active, held) = (lines.active_percent, lines.held_mb);
    format!(
        "basis: card time; active ≥ {active} % utilization; idle-held < {active} % with > {held} MB \
         held by processes"
    )
}

pub(super) fn judged_again(usage: &Usage, tz: &jiff::tz::TimeZone) -> Option<String> {
    let judged = usage.judged_again.as_ref()?;
    let (from, to) = (judged.from?, judged.to?);
    Some(format!(
        "judged again from samples, which are kept of {} of the observed time ({})",
        percent(judged.share_of_observed),
        stretch(from, to, tz, &usage.window.tz)
    ))
}

pub(super) fn idle_capacity(page: &mut Page<'_>, usage: &Usage) {
    page.heading("§2 Idle capacity");
    for (state, text) in capacity(usage) {
        page.beside(&Cell::new(state.word(), ink(state)), CAPACITY_AT, &text);
    }
}

/// What stood idle, in hours and in cards.
pub(super) fn capacity(usage: &Usage) -> [(Shown, String); 2] {
    let equivalent = usage.equivalent_gpus;
    let of = match usage.cards.len() {
        1 => "of 1 card".to_owned(),
        cards => format!("of {cards} cards"),
    };
    let text = |hours_idle: f64, cards: Option<f64>, were: &str| {
        let cards = cards.map_or_else(|| "–".to_owned(), |cards| format!("{cards:.1}"));
        format!("{} GPU-hours, as if {cards} {of} {were}", hours(hours_idle, hours_idle))
    };
    let states = &usage.states;
    [
        (
            Shown::IdleHeld,
            text(states.idle_held.gpu_hours, equivalent.idle_held, "were taken away"),
        ),
        (Shown::TrulyIdle, text(states.truly_idle.gpu_hours, equivalent.truly_idle, "stood free")),
    ]
}

pub(super) fn cards(page: &mut Page<'_>, usage: &Usage) {
    page.heading("§3 Per-GPU");
    let states: Vec<_> = shown(&usage.states).collect();
    let mut aligns = vec![Align::Right, Align::Left];
    aligns.extend(states.iter().map(|_| Align::Right));
    let mut rows = card_rows(usage, &states, |state| state.word().to_owned(), true);
    if page.room_beside(&aligns, &rows) == 0 {
        // The marks stand for the words, and the names go last.
        rows = card_rows(usage, &states, |state| mark(state).to_string(), true);
    }
    if page.room_beside(&aligns, &rows) == 0 {
        rows = card_rows(usage, &states, |state| mark(state).to_string(), false);
    }
    let room = page.room_beside(&aligns, &rows).saturating_sub(2).min(LONGEST_CARD_BAR);
    let head = page.lines.len();
    page.table(&aligns, &rows, 1);
    if room >= SHORTEST_BAR {
        add_bars(page, head + 1, &usage.cards, room);
    }
}

/// Each card's bar after its row. Rows end with a figure at the right of the last column,
/// so the bars stand below each other.
fn add_bars(page: &mut Page<'_>, first: usize, cards: &[Card], room: usize) {
    let paint = page.view.paint;
    for (line, card) in page.lines.iter_mut().skip(first).zip(cards) {
        line.push_str("  ");
        for cell in bar_cells(&card.states, room) {
            line.push_str(&paint.text(cell.ink, &cell.text));
        }
    }
}

fn card_rows(
    usage: &Usage,
    states: &[Shown],
    head: impl Fn(Shown) -> String,
    with_names: bool,
) -> Vec<Vec<Cell>> {
    let quiet = |text: String| Cell::new(text, Ink::Quiet);
    let name = |name: String| if with_names { name } else { String::new() };
    let mut first = vec![quiet("#".to_owned()), quiet(name("card".to_owned()))];
    first.extend(states.iter().map(|state| quiet(head(*state))));
    let mut rows = vec![first];
    for card in &usage.cards {
        let mut row = vec![Cell::plain(place(card)), Cell::plain(name(called(card)))];
        let shares = states.iter().map(|state| percent(amount(&card.states, *state).share));
        row.extend(shares.map(Cell::plain));
        rows.push(row);
    }
    rows
}

/// The index, with the slot of an instance.
pub(super) fn place(card: &Card) -> String {
    label(card.index, card.slot)
}

pub(super) fn called(card: &Card) -> String {
    card.name.as_deref().map_or_else(|| "unknown".to_owned(), |name| safe(card_name(name)))
}

/// Why the shares of people may add up to more than all.
pub(super) const SHARED_CARDS: &str = "a shared card counts in full for everybody who holds it";

pub(super) fn people(page: &mut Page<'_>, usage: &Usage) {
    page.heading("§4 Top identities");
    let Some(people) = &usage.identities else {
        page.text(INDENT, NOT_JUDGED_AGAIN, Ink::Quiet);
        return;
    };
    if people.is_empty() {
        page.text(INDENT, "nobody held a card", Ink::Quiet);
        return;
    }
    let largest = most_hours(people);
    let heads = ["who", "GPU-hours", "idle-held", "of all idle-held"];
    let mut rows = vec![heads.map(|head| Cell::new(head, Ink::Quiet)).to_vec()];
    for person in people.iter().take(MOST_PEOPLE) {
        rows.push(vec![
            Cell::plain(who(person)),
            Cell::plain(hours(person.gpu_hours, largest)),
            Cell::plain(percent(person.idle_held_share)),
            Cell::plain(percent(of_all(person.idle_held_gpu_hours, usage))),
        ]);
    }
    let aligns = [Align::Left, Align::Right, Align::Right, Align::Right];
    let needed = INDENT + 8 + 2 + 9 + 2 + 9 + 2 + 16;
    if page.view.width < needed {
        rows.iter_mut().for_each(|row| row.truncate(3));
    }
    page.table(&aligns, &rows, 0);
    page.text(INDENT, SHARED_CARDS, Ink::Quiet);
    let more = people.len().saturating_sub(MOST_PEOPLE);
    if more > 0 {
        page.text(INDENT, &format!("and {more} more; --json has all"), Ink::Quiet);
    }
}

pub(super) const NOT_JUDGED_AGAIN: &str = "not judged again: samples do not tell what each \
    identity held; without --active-percent and --held-mb they are shown";

/// The part of all idle-held time; those on one card share it, so parts may add up to more.
pub(super) fn of_all(idle_held_hours: f64, usage: &Usage) -> Option<f64> {
    let all = usage.states.idle_held.gpu_hours;
    (all > 0.0).then(|| (idle_held_hours / all).min(1.0))
}

/// The states that have a row: what is unknown only where something is.
pub(super) fn shown(states: &States) -> impl Iterator<Item = Shown> + use<> {
    let unknown = states.unknown.gpu_hours > 0.0;
    let all = states.all().map(|(state, _)| state);
    all.into_iter().filter(move |state| unknown || *state != Shown::Unknown)
}

/// What the figures of a column are shown beside.
pub(super) fn largest(states: &States) -> f64 {
    states.all().iter().map(|(_, amount)| amount.gpu_hours).fold(0.0, f64::max)
}

pub(super) fn most_hours(people: &[Person]) -> f64 {
    people.iter().take(MOST_PEOPLE).map(|person| person.gpu_hours).fold(0.0, f64::max)
}

pub(super) fn amount(states: &States, which: Shown) -> Amount {
    match which {
        Shown::Active => states.active,
        Shown::IdleHeld => states.idle_held,
        Shown::TrulyIdle => states.truly_idle,
        Shown::Unknown => states.unknown,
    }
}

fn bar_cells(states: &States, columns: usize) -> Vec<Cell> {
    let part = |(state, columns): (Shown, usize)| {
        Cell::new(mark(state).to_string().repeat(columns), ink(state))
    };
    bar(states, columns).into_iter().map(part).collect()
}
