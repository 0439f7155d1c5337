//! The page for one person.

use super::accounts;
use super::figures::{hours, length, percent};
use super::label::named;
use super::money::at_this_pace;
use super::page::{INDENT, Page};
use super::sections::active_line;
use super::sessions::{self, place, what};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell};
use crate::render::words::{gib_hours, memory};
use crate::report::usage::{Account, Cost, PersonPage, Suggestion, Usage};

pub(super) fn page(page: &mut Page<'_>, usage: &Usage, person: &PersonPage) {
    page.heading(&title(person));
    let rows: Vec<_> =
        figures(usage, person).into_iter().map(|row| row.map(Cell::plain).to_vec()).collect();
    page.table(&[Align::Left, Align::Right, Align::Left], &rows, 2);
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
    let show = |value: f64| format!("{} GPU-h", hours(value, account.gpu_hours));
    let row = |what: &str, figure: String, means: String| [what.to_owned(), figure, means];
    let mut rows = vec![
        row("present", show(account.gpu_hours), "with a process on a card".to_owned()),
        row("worked", show(account.worked_gpu_hours), worked_little(usage, account)),
        row(
            "idle-held",
            show(account.idle_held_gpu_hours),
            format!(
                "{} of all; a shared card is split by memory",
                percent(account.idle_held_share)
            ),
        ),
        row("all idle", show(account.idle_gpu_hours), "also where others worked".to_owned()),
    ];
    let held = gib_hours(account.held_idle_gb_hours);
    rows.push(row("memory", format!("{} GiB-h", hours(held, held)), "held idle".to_owned()));
    if let Some(money) = &usage.money {
        let cost = Cost {
            cost: account.cost,
            cost_per_month: None,
            unpriced_gpu_hours: account.unpriced_gpu_hours,
        };
        rows.push(row("cost", at_this_pace(money, &cost), "of idle-held".to_owned()));
    }
    rows
}

/// What of the work was so little that the card counts as idle-held.
fn worked_little(usage: &Usage, account: &Account) -> String {
    let little = account.worked_on_idle_held_gpu_hours;
    if little <= 0.0 {
        return String::new();
    }
    let (little, line) = (hours(little, account.gpu_hours), active_line(usage));
    format!("{little} of it under {line} of the card, which is idle-held then")
}

/// What would help most, in words.
pub(super) fn suggestion(usage: &Usage, person: &PersonPage) -> String {
    let session = |place: usize| usage.sessions.as_ref().and_then(|all| all.get(place));
    match &person.suggestion {
        Suggestion::EndSession { session: at, .. } => match session(*at) {
            Some(session) => format!(
                "End {} on card {}: it has held {} for {} without working.",
                what(session),
                place(session),
                session.peak_memory_bytes.map_or_else(|| "memory".to_owned(), memory),
                length(session.idle_seconds)
            ),
            None => "End what is idle.".to_owned(),
        },
        Suggestion::FreeMemory { session: at, .. } => match session(*at) {
            Some(session) => format!(
                "Give back the memory of {} on card {}: somebody else works there, and it has held \
                 {} for {} without working.",
                what(session),
                place(session),
                session.peak_memory_bytes.map_or_else(|| "some".to_owned(), memory),
                length(session.idle_seconds)
            ),
            None => "Give back memory that is idle.".to_owned(),
        },
        Suggestion::EndWhenDone { sessions, idle_seconds } => {
            let count = if *sessions == 1 {
                "1 session".to_owned()
            } else {
                format!("{sessions} sessions")
            };
            let is_sure = usage.sessions.iter().flatten().all(|session| session.open.is_some());
            let now = if is_sure { " Nothing is held idle now." } else { "" };
            format!(
                "Let programs and kernels end when their work is done: {count} stayed for {} \
                 without working.{now}",
                length(*idle_seconds)
            )
        }
        Suggestion::WorkedLittle { gpu_hours } => format!(
            "Work more at a time, or share the card: for {} GPU-hours it was held for work of less \
             than {} of it, so others went without.",
            hours(*gpu_hours, *gpu_hours),
            active_line(usage)
        ),
        Suggestion::SmallerCard { peak_memory_bytes, card_memory_bytes } => format!(
            "Ask for a smaller card, or a part of one: no more than {} of {} were held.",
            memory(*peak_memory_bytes),
            memory(*card_memory_bytes)
        ),
        Suggestion::Nothing => "Nothing to suggest: the cards were used.".to_owned(),
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
