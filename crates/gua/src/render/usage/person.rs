//! The report on one person.

use gua_query::usage::{Cost, PersonPage, Suggestion, Usage};

use super::accounts::{self, Figure, PrintedAccounts};
use super::energy;
use super::figures::{hours, largest, length, percent};
use super::label::named;
use super::money::{at_this_pace, cost};
use super::page::{INDENT, Page};
use super::sections::active_threshold;
use super::sessions::{self, idle, place, program};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell};
use crate::render::words::memory;

pub(super) fn page(page: &mut Page<'_>, usage: &Usage, person: &PersonPage) {
    page.heading(&title(person));
    let rows: Vec<_> =
        figures(usage, person).into_iter().map(|row| row.map(Cell::plain).to_vec()).collect();
    page.table(&[Align::Left, Align::Right, Align::Left], &rows, 2);
    energy::notes(usage).iter().for_each(|note| page.text(INDENT, note, Ink::Quiet));
    page.heading("Where");
    accounts::tables(page, usage);
    sessions::section(page, usage);
    super::compared::section(page, usage);
    page.heading("Suggestion");
    page.text(INDENT, &suggestion(usage, person), Ink::Notice);
    if let Some(command) = command(person) {
        page.text(INDENT, &format!("→ {command}"), Ink::Strong);
    }
}

pub(super) fn title(person: &PersonPage) -> String {
    let name = person.account.name.as_deref().unwrap_or("unattributed");
    format!("What {} held", named(name, None))
}

/// What, how much, and what that means.
pub(super) fn figures(usage: &Usage, person: &PersonPage) -> Vec<[String; 3]> {
    let account = &person.account;
    let row = |what: &str, figure: String, means: String| [what.to_owned(), figure, means];
    let printed = PrintedAccounts::new(usage, &[account], 1).sum;
    let gpu_hours =
        |what: &str, figure, means| row(what, format!("{} GPU-h", printed.cell(figure)), means);
    let mut rows = vec![
        gpu_hours(
            "total",
            Figure::Total,
            format!("{} of what all held; shared cards are split", percent(account.share_of_total)),
        ),
        gpu_hours("active", Figure::Active, String::new()),
        gpu_hours(
            "idle-held",
            Figure::IdleHeld,
            format!("{} of all", percent(account.idle_held_share)),
        ),
        gpu_hours("= unused", Figure::Unused, "memory held, no work".to_owned()),
        gpu_hours("+ low use", Figure::LowUse, low_use(usage)),
    ];
    if account.unknown_gpu_hours > 0.0 {
        rows.push(gpu_hours("unknown", Figure::Unknown, "work that could not be read".to_owned()));
    }
    if account.idle_beside_process_hours > Some(0.0) {
        let hours = format!("{} h", printed.cell(Figure::Beside));
        rows.push(row("beside others", hours, "idle while others worked on the card".to_owned()));
    }
    if account.held_idle_gib_hours.is_some() {
        let held = format!("{} GiB-h", printed.cell(Figure::HeldIdle));
        rows.push(row("memory", held, "held idle".to_owned()));
    }
    if account.peak_memory_bytes.is_some() {
        let peak = printed.cell(Figure::Peak).to_owned();
        rows.push(row("peak", peak, "most memory of one process on one card".to_owned()));
    }
    let energy = format!("{} kWh", printed.cell(Figure::Energy));
    rows.push(row("energy", energy, "of the active and idle-held time".to_owned()));
    if let Some(money) = &usage.energy_money {
        let unknown_hours = account.energy.energy_unknown_gpu_hours;
        let energy_cost = cost(account.energy_cost, unknown_hours, &money.currency);
        rows.push(row("energy cost", energy_cost, "of that energy".to_owned()));
    }
    if let Some(money) = &usage.money {
        let idle_cost = Cost {
            cost: account.idle_held_cost,
            cost_per_month: None,
            unpriced_gpu_hours: account.unpriced_idle_held_gpu_hours,
        };
        rows.push(row("cost", at_this_pace(money, &idle_cost), "of idle-held".to_owned()));
    }
    rows
}

fn low_use(usage: &Usage) -> String {
    format!("work below {}", active_threshold(usage, "of the card"))
}

/// What would help most, in words.
pub(super) fn suggestion(usage: &Usage, person: &PersonPage) -> String {
    let session = |place: usize| usage.sessions.get(place);
    match &person.suggestion {
        Suggestion::EndSession { session: at, .. } => match session(*at) {
            Some(session) => format!(
                "End {} on card {}: it has held {} for {} without working.",
                program(session),
                place(session),
                session.peak_memory_bytes.map_or_else(|| "memory".to_owned(), memory),
                idle(session)
            ),
            None => "End what is idle.".to_owned(),
        },
        Suggestion::FreeMemory { session: at, .. } => match session(*at) {
            Some(session) => format!(
                "Give back the memory of {} on card {}: somebody else works there, and it has held \
                 {} for {} without working.",
                program(session),
                place(session),
                session.peak_memory_bytes.map_or_else(|| "some".to_owned(), memory),
                idle(session)
            ),
            None => "Give back memory that is idle.".to_owned(),
        },
        Suggestion::EndWhenDone { sessions, idle_seconds } => {
            let count = if *sessions == 1 {
                "1 session".to_owned()
            } else {
                format!("{sessions} sessions")
            };
            let is_sure = usage.sessions.iter().all(|session| session.open.is_some());
            let now = if is_sure { " Nothing is held idle now." } else { "" };
            format!(
                "Let programs and kernels end when their work is done: {count} stayed for {} \
                 without working.{now}",
                length(*idle_seconds)
            )
        }
        Suggestion::WorkedLittle { gpu_hours } => format!(
            "Work more at a time, or share the card: for {} GPU-h it was held and worked below {}.",
            hours(*gpu_hours, largest(&usage.states)),
            active_threshold(usage, "of the card")
        ),
        Suggestion::SmallerCard { peak_memory_bytes, card_memory_bytes } => format!(
            "A card with less memory would do, or a part of one: no more than {} of {} were held.",
            memory(*peak_memory_bytes),
            memory(*card_memory_bytes)
        ),
        Suggestion::Nothing { active_share } => match active_share {
            Some(share) => {
                format!(
                    "Nothing to suggest: {} of the GPU-hours were active.",
                    percent(Some(*share))
                )
            }
            None => "Nothing to suggest: no GPU-hours were counted.".to_owned(),
        },
    }
}

pub(super) fn command(person: &PersonPage) -> Option<&str> {
    match &person.suggestion {
        Suggestion::EndSession { command, .. } | Suggestion::FreeMemory { command, .. } => {
            command.as_deref()
        }
        _ => None,
    }
}
