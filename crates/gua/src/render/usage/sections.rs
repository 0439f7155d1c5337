//! The sections about time: how it was spent, on which cards, by whom.

use probe::card::label;

use super::figures::{bar, hours, ink, mark, percent, stretch};
use super::money;
use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell};
use crate::render::words::{card_name, safe};
use crate::report::usage::{Amount, Card, Cost, JudgedBy, Shown, States, Usage};

/// The longest bar of all cards, and of one.
const LONGEST_BAR: usize = 60;
const LONGEST_CARD_BAR: usize = 24;
/// A shorter one would show nothing.
const SHORTEST_BAR: usize = 8;

/// Where the words about idle capacity stand, after the state.
const CAPACITY_AT: usize = INDENT + 12;

pub(in crate::render) fn headline(page: &mut Page<'_>, usage: &Usage) {
    headline_by(page, usage, &basis(usage));
}

/// The same, with what else the states were judged by.
pub(in crate::render) fn headline_by(page: &mut Page<'_>, usage: &Usage, basis: &str) {
    page.heading("§1 Headline");
    page.text(INDENT, basis, Ink::Quiet);
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
                Cell::plain(cost(usage, state).unwrap_or_default()),
            ]
        })
        .collect();
    let right = Align::Right;
    page.table(&[Align::Left, Align::Left, right, right, right], &rows, 0);
}

/// What a state cost, where it is one of those that cost for nothing.
pub(in crate::render) fn cost(usage: &Usage, state: Shown) -> Option<String> {
    let money = usage.money.as_ref()?;
    let of = cost_of(usage, state)?;
    Some(money::cost(of.cost, of.unpriced_gpu_hours, &money.currency))
}

fn cost_of(usage: &Usage, state: Shown) -> Option<&Cost> {
    let money = usage.money.as_ref()?;
    match state {
        Shown::IdleHeld => Some(&money.idle_held),
        Shown::TrulyIdle => Some(&money.truly_idle),
        Shown::Active | Shown::Unknown => None,
    }
}

/// From which utilization on a card works; over many hosts each has its own line.
pub(super) fn active_line(usage: &Usage) -> String {
    usage
        .thresholds
        .map_or_else(|| "its host's line".to_owned(), |lines| format!("{} %", lines.active_percent))
}

pub(in crate::render) fn basis(usage: &Usage) -> String {
    let Some(lines) = usage.thresholds else {
        return "basis: card time; each host judges by its own thresholds".to_owned();
    };
    let (active, held) = (lines.active_percent, lines.held_mb);
    format!(
        "basis: card time; active ≥ {active} % utilization; idle-held < {active} % with > {held} MiB \
         held by processes"
    )
}

pub(in crate::render) fn judged_again(usage: &Usage, tz: &jiff::tz::TimeZone) -> Option<String> {
    let judged = usage.judged_again.as_ref()?;
    let (from, to) = (judged.from?, judged.to?);
    Some(format!(
        "judged again from samples, which are kept of {} of the observed time ({})",
        percent(judged.share_of_observed),
        stretch(from, to, tz, &usage.window.tz)
    ))
}

pub(in crate::render) fn idle_capacity(page: &mut Page<'_>, usage: &Usage) {
    page.heading("§2 Idle capacity");
    for (state, text) in capacity(usage) {
        page.beside(&Cell::new(state.word(), ink(state)), CAPACITY_AT, &text);
    }
    if let Some(basis) = money::basis(usage) {
        page.text(INDENT, &basis, Ink::Quiet);
    }
}

/// What stood idle, in hours and in cards.
pub(in crate::render) fn capacity(usage: &Usage) -> [(Shown, String); 2] {
    let equivalent = usage.equivalent_gpus;
    let of = match usage.cards.len() {
        1 => "of 1 card".to_owned(),
        cards => format!("of {cards} cards"),
    };
    let text = |state: Shown, cards: Option<f64>, were: &str| {
        let idle = amount(&usage.states, state).gpu_hours;
        let cards = cards.map_or_else(|| "–".to_owned(), |cards| format!("{cards:.1}"));
        let money = usage.money.as_ref().zip(cost_of(usage, state));
        let money = money.map(|(money, of)| format!("; {}", money::at_this_pace(money, of)));
        let money = money.unwrap_or_default();
        (state, format!("{} GPU-hours, as if {cards} {of} {were}{money}", hours(idle, idle)))
    };
    [
        text(Shown::IdleHeld, equivalent.idle_held, "were taken away"),
        text(Shown::TrulyIdle, equivalent.truly_idle, "stood free"),
    ]
}

pub(in crate::render) fn cards(page: &mut Page<'_>, usage: &Usage) {
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
pub(in crate::render) fn place(card: &Card) -> String {
    card.index.map_or_else(|| "?".to_owned(), |index| label(index, card.slot))
}

pub(in crate::render) fn called(card: &Card) -> String {
    card.name.as_deref().map_or_else(|| "unknown".to_owned(), |name| safe(card_name(name)))
}

/// What is said where nobody looked for accounts.
pub(super) const NO_ACCOUNTS: &str = "what each identity held was not looked for";

/// By which lines accounts and sessions were recorded, where they are others than the page's.
pub(super) fn as_recorded(usage: &Usage, tz: &jiff::tz::TimeZone) -> Option<String> {
    let recorded = usage.accounts_judged_by.as_ref()?;
    let lines = recorded
        .lines
        .iter()
        .map(|it| format!("{} ({})", lines(it), stretch(it.from, it.to, tz, &usage.window.tz)));
    let lines: Vec<_> = lines.collect();
    let apart =
        if usage.judged_again.is_some() { ", and need not add up to the cards" } else { "" };
    Some(format!(
        "accounts and sessions are as they were recorded{apart}: by {}",
        lines.join(", by ")
    ))
}

fn lines(judged: &JudgedBy) -> String {
    match (judged.active_percent, judged.held_mb, judged.worked_percent) {
        (Some(active), Some(held), Some(worked)) => {
            format!("active ≥ {active} %, held > {held} MiB, working ≥ {worked} % of the SMs")
        }
        _ => "lines that cannot be told".to_owned(),
    }
}

/// The states that have a row: what is unknown only where something is.
pub(in crate::render) fn shown(states: &States) -> impl Iterator<Item = Shown> + use<> {
    let unknown = states.unknown.gpu_hours > 0.0;
    let all = states.all().map(|(state, _)| state);
    all.into_iter().filter(move |state| unknown || *state != Shown::Unknown)
}

/// What the figures of a column are shown beside.
pub(in crate::render) fn largest(states: &States) -> f64 {
    states.all().iter().map(|(_, amount)| amount.gpu_hours).fold(0.0, f64::max)
}

pub(in crate::render) fn amount(states: &States, which: Shown) -> Amount {
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
