//! The sections about time: how it was spent, on which cards, by whom.

use gua_query::usage::{Amount, Basis, CardUsage, Cost, RuleThresholds, States, TotalState, Usage};
use jiff::tz::TimeZone;

use super::energy;
use super::figures::{bar, hours, ink, largest, mark, percent, stretch};
use super::money;
use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell};
use crate::render::words::{card_name, safe};

/// The longest bar of all cards, and of one.
const LONGEST_BAR: usize = 60;
const LONGEST_CARD_BAR: usize = 24;
/// A shorter one would show nothing.
const SHORTEST_BAR: usize = 8;

/// Where the words about idle capacity stand, after the state.
const CAPACITY_AT: usize = INDENT + 12;

pub(in crate::render) fn headline(page: &mut Page<'_>, usage: &Usage) {
    let basis = basis(usage, &page.view.tz);
    headline_by(page, usage, &basis);
}

/// The headline, with the rules by which time was classified.
pub(in crate::render) fn headline_by(page: &mut Page<'_>, usage: &Usage, basis: &[String]) {
    page.heading("§1 Headline");
    for line in basis {
        page.text(INDENT, line, Ink::Quiet);
    }
    let room = page.view.width.saturating_sub(2 * INDENT).min(LONGEST_BAR);
    page.cells(INDENT, &bar_cells(&usage.states, room));
    let largest = largest(&usage.states);
    let rows: Vec<_> = shown(usage)
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
    if let Some(energy) = energy::headline(usage) {
        page.text(INDENT, &energy, Ink::Plain);
    }
}

/// What idle time cost: of a state in which nothing was computed.
pub(in crate::render) fn cost(usage: &Usage, state: TotalState) -> Option<String> {
    let money = usage.money.as_ref()?;
    let of = cost_of(usage, state)?;
    Some(money::cost(of.cost, of.unpriced_gpu_hours, &money.currency))
}

fn cost_of(usage: &Usage, state: TotalState) -> Option<&Cost> {
    let money = usage.money.as_ref()?;
    match state {
        TotalState::IdleHeld => Some(&money.idle_held),
        TotalState::TrulyIdle => Some(&money.truly_idle),
        TotalState::Active | TotalState::Unknown => None,
    }
}

/// The utilization below which work is low use, as in "10 % of the card".
pub(super) fn active_threshold(usage: &Usage, of_what: &str) -> String {
    let mut percents = usage.basis.iter().map(|basis| basis.thresholds.active_percent);
    let first = percents.next().flatten();
    match first.filter(|first| percents.all(|other| other == Some(*first))) {
        Some(percent) => format!("{percent} % {of_what}"),
        None if usage.basis.is_empty() => "the threshold of its host".to_owned(),
        None => "the threshold of that time".to_owned(),
    }
}

/// Returns the rules by which time was classified, a line for each.
pub(in crate::render) fn basis(usage: &Usage, tz: &TimeZone) -> Vec<String> {
    match usage.basis.as_slice() {
        [] => vec!["basis: card time".to_owned()],
        [only] => vec![format!("basis: card time. {}", rule(only))],
        several => {
            let line = |basis: &Basis| {
                let times = stretch(basis.from, basis.to, tz, &usage.window.tz);
                format!("basis: card time, {times}. {}", rule(basis))
            };
            several.iter().map(line).collect()
        }
    }
}

fn rule(basis: &Basis) -> String {
    let rule = safe(&basis.rule);
    let RuleThresholds { active_percent, held_mb, worked_percent } = basis.thresholds;
    // The rule of another program says its thresholds itself.
    let thresholds = [
        active_percent.map(|active| format!("active ≥ {active} % utilization")),
        held_mb.map(|held| format!("held > {held} MiB")),
        worked_percent.map(|worked| format!("working ≥ {worked} % of the SMs")),
    ];
    let thresholds: Vec<_> = thresholds.into_iter().flatten().collect();
    if basis.imported || thresholds.is_empty() {
        return rule;
    }
    format!("{rule} Thresholds: {}.", thresholds.join(", "))
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
pub(in crate::render) fn capacity(usage: &Usage) -> [(TotalState, String); 2] {
    let equivalent = usage.equivalent_gpus;
    let of = match usage.gpu_count {
        1 => "of 1 card".to_owned(),
        cards => format!("of {cards} cards"),
    };
    let largest = largest(&usage.states);
    let text = |state: TotalState, cards: Option<f64>, were: &str| {
        let idle = amount(&usage.states, state).gpu_hours;
        let cards = cards.map_or_else(|| "–".to_owned(), |cards| format!("{cards:.1}"));
        let money = usage.money.as_ref().zip(cost_of(usage, state));
        let money = money.map(|(money, of)| format!("; {}", money::at_this_pace(money, of)));
        let money = money.unwrap_or_default();
        (
            state,
            format!(
                "{} GPU-h, as much as {cards} {of} {were} all the time{money}",
                hours(idle, largest)
            ),
        )
    };
    [
        text(TotalState::IdleHeld, equivalent.idle_held, "held"),
        text(TotalState::TrulyIdle, equivalent.truly_idle, "free"),
    ]
}

pub(in crate::render) fn cards(page: &mut Page<'_>, usage: &Usage) {
    page.heading("§3 Per-GPU");
    let states: Vec<_> = shown(usage).collect();
    let mut aligns = vec![Align::Right, Align::Left];
    aligns.extend(states.iter().map(|_| Align::Right));
    aligns.extend(energy::card_column(usage).map(|_| Align::Right));
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
fn add_bars(page: &mut Page<'_>, first: usize, cards: &[CardUsage], room: usize) {
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
    states: &[TotalState],
    head: impl Fn(TotalState) -> String,
    with_names: bool,
) -> Vec<Vec<Cell>> {
    let quiet = |text: String| Cell::new(text, Ink::Quiet);
    let name = |name: String| if with_names { name } else { String::new() };
    let mut first = vec![quiet("#".to_owned()), quiet(name("card".to_owned()))];
    first.extend(states.iter().map(|state| quiet(head(*state))));
    let energy = energy::card_column(usage);
    first.extend(energy.as_ref().map(|_| quiet("kWh".to_owned())));
    let mut rows = vec![first];
    for (place_in_list, card) in usage.cards.iter().enumerate() {
        let mut row = vec![Cell::plain(place(card)), Cell::plain(name(called(card)))];
        let shares = states.iter().map(|state| percent(amount(&card.states, *state).share));
        row.extend(shares.map(Cell::plain));
        let kwh = energy.as_ref().and_then(|energy| energy.get(place_in_list));
        row.extend(kwh.cloned().map(Cell::plain));
        rows.push(row);
    }
    rows
}

/// The index, with the slot of an instance.
pub(in crate::render) fn place(card: &CardUsage) -> String {
    card.label().unwrap_or_else(|| "?".to_owned())
}

pub(in crate::render) fn called(card: &CardUsage) -> String {
    card.name.as_deref().map_or_else(|| "unknown".to_owned(), |name| safe(card_name(name)))
}

/// The states that have a row: what is unknown only where something is. Nobody has free time.
pub(in crate::render) fn shown(usage: &Usage) -> impl Iterator<Item = TotalState> + use<> {
    let is_any_unknown = usage.states.unknown.gpu_hours > 0.0;
    let is_about_all = usage.person.is_none();
    let all = usage.states.all().map(|(state, _)| state);
    all.into_iter().filter(move |state| match state {
        TotalState::Unknown => is_any_unknown,
        TotalState::TrulyIdle => is_about_all,
        TotalState::Active | TotalState::IdleHeld => true,
    })
}

pub(in crate::render) fn amount(states: &States, which: TotalState) -> Amount {
    match which {
        TotalState::Active => states.active,
        TotalState::IdleHeld => states.idle_held,
        TotalState::TrulyIdle => states.truly_idle,
        TotalState::Unknown => states.unknown,
    }
}

fn bar_cells(states: &States, columns: usize) -> Vec<Cell> {
    let part = |(state, columns): (TotalState, usize)| {
        Cell::new(mark(state).to_string().repeat(columns), ink(state))
    };
    bar(states, columns).into_iter().map(part).collect()
}
