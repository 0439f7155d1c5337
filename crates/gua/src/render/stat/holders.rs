//! Who holds a card: a row a holder, and a remark where something is not known.

use gua_core::card::MemorySource;
use gua_core::snapshot::{CardNow, HolderNow, IdleCertainty, IdleNow, PresenceNow, Snapshot};
use gua_core::{Reason, State};
use jiff::Timestamp;

use super::View;
use super::cards::is_dark;
use crate::cli::Zone;
use crate::render::identity;
use crate::render::paint::Ink;
use crate::render::table::{self, Align, Cell, Column, Line};
use crate::render::words::{duration, memory, memory_or_unknown, safe, width};

/// Memory of no visible process is worth a remark from here on.
const WORTH_A_REMARK: u64 = 100 << 20;

/// User, pid, program, what it runs, memory, SM, run time, idle since, command.
const ALIGNS: [Align; 9] = [
    Align::Left,
    Align::Left,
    Align::Left,
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Left,
    Align::Left,
];

const PROGRAM: usize = 2;
const WHAT: usize = 3;
const SM: usize = 5;
const RUNNING: usize = 6;
const IDLE: usize = 7;

/// How far holders stand in below their card.
pub(super) const INDENT: usize = 4;

/// A program's name is not cut shorter than this while there is something else to leave out.
const SHORTEST_NAME: usize = 8;
/// Nor is what runs: `job 12345678.0`.
const SHORTEST_WHAT: usize = 14;
/// Nor is the word for a holder that does not work: `idle` or `unknown`.
const SHORTEST_IDLE: usize = 7;

/// One row below or beside a card.
#[derive(Debug)]
pub(super) enum Row {
    Holder(Vec<Cell>),
    Remark(Cell),
}

/// The rows of all cards, in columns that fit them all.
pub(super) struct Holders {
    cards: Vec<Vec<Row>>,
    columns: Vec<Column>,
}

impl Holders {
    pub fn new(now: &Snapshot, view: &View) -> Self {
        let cards: Vec<Vec<Row>> =
            now.cards.iter().map(|card| rows(card, now.time, view)).collect();
        let holders = cards.iter().flatten().filter_map(|row| match row {
            Row::Holder(cells) => Some(cells.as_slice()),
            Row::Remark(_) => None,
        });
        let mut columns = table::fit(&ALIGNS, holders);
        squeeze(&mut columns, view.most().saturating_sub(INDENT));
        Self { cards, columns }
    }

    pub fn of_cards(&self) -> impl Iterator<Item = &Vec<Row>> {
        self.cards.iter()
    }

    /// The widest row.
    pub fn width(&self) -> usize {
        let remarks = self.cards.iter().flatten().filter_map(|row| match row {
            Row::Holder(_) => None,
            Row::Remark(cell) => Some(width(&cell.text)),
        });
        remarks.max().unwrap_or(0).max(table::total(&self.columns))
    }

    pub fn put(&self, line: &mut Line, at: usize, row: &Row, view: &View) {
        match row {
            Row::Holder(cells) => {
                table::put_row(line, at, cells, &self.columns, view.most(), view.paint);
            }
            Row::Remark(cell) => line.put(at, cell, view.most(), view.paint),
        }
    }
}

/// Shortens what runs and programs, then leaves columns out, where the screen is too narrow.
fn squeeze(columns: &mut [Column], most: usize) {
    table::shorten(columns, WHAT, SHORTEST_WHAT, most);
    table::shorten(columns, PROGRAM, SHORTEST_NAME, most);
    for dispensable in [SM, WHAT, RUNNING] {
        if table::total(columns) <= most {
            return;
        }
        if let Some(column) = columns.get_mut(dispensable) {
            column.width = 0;
        }
    }
    table::shorten(columns, IDLE, SHORTEST_IDLE, most);
    if table::total(columns) > most
        && let Some(column) = columns.get_mut(IDLE)
    {
        column.width = 0;
    }
}

fn rows(card: &CardNow, now: Timestamp, view: &View) -> Vec<Row> {
    let holders =
        card.holders.iter().filter(|_| view.holders).map(|h| Row::Holder(cells(h, now, view)));
    let unlisted = card.unlisted.as_ref().map(|unlisted| &unlisted.idle);
    let idle = unlisted.filter(|idle| idle.is_known()).map(|it| idle_since(it, now, &view.zone));
    let remarks = remarks(card, idle.as_deref());
    let remarks = remarks.into_iter().map(|text| Row::Remark(Cell::new(text, Ink::Quiet)));
    holders.chain(remarks).collect()
}

fn cells(holder: &HolderNow, now: Timestamp, view: &View) -> Vec<Cell> {
    let is_here = holder.presence == PresenceNow::Here;
    let ink = if is_here { Ink::Plain } else { Ink::Quiet };
    let text = |text: String| Cell::new(text, ink);
    let program = program(holder, view);
    let command = match &holder.command {
        Some(command) => safe(&command.join(" ")),
        None => program.clone(),
    };
    let (program, command) =
        if view.full_command { (String::new(), command) } else { (program, String::new()) };
    vec![
        text(user(holder)),
        text(if view.pid { holder.pid.to_string() } else { String::new() }),
        text(program),
        text(if view.full_command { String::new() } else { what(holder) }),
        text(memory_or_unknown(holder.memory_bytes)),
        text(holder.sm_percent.map_or_else(String::new, |percent| format!("SM {percent:.0} %"))),
        text(holder.running_seconds.map_or_else(String::new, duration)),
        idle(holder, now, &view.zone),
        text(command),
    ]
}

/// Formats since when a holder has held the card without working; empty while it works.
fn idle(holder: &HolderNow, now: Timestamp, zone: &Zone) -> Cell {
    let text = match holder.state {
        State::IdleHeld => idle_since(&holder.idle, now, zone),
        State::Unknown(_) => "unknown".to_owned(),
        State::Active | State::TrulyIdle => String::new(),
    };
    Cell::new(text, Ink::Notice)
}

fn idle_since(idle: &IdleNow, now: Timestamp, zone: &Zone) -> String {
    match (idle.idle_since, idle.idle_certainty) {
        (Some(since), Some(IdleCertainty::Exact)) => {
            format!("idle since {}", zone.moment(since, now))
        }
        (Some(since), _) => format!("idle since before {}", zone.moment(since, now)),
        (None, _) => "idle".to_owned(),
    }
}

/// A holder without a name is known by its pid.
fn program(holder: &HolderNow, view: &View) -> String {
    match &holder.program {
        Some(program) => safe(program),
        None if view.pid => absence(holder.presence).to_owned(),
        None => format!("pid {} {}", holder.pid, absence(holder.presence)),
    }
}

/// Formats the person behind a holder, by name or number.
#[must_use]
pub fn user(holder: &HolderNow) -> String {
    safe(&holder.format_user())
}

/// Formats the job, container or notebook of a holder and its script; empty if none is known.
#[must_use]
pub fn what(holder: &HolderNow) -> String {
    holder.identity.as_deref().map(identity::brief).unwrap_or_default()
}

/// What is said in the place of a program that cannot be seen.
#[must_use]
pub const fn absence(presence: PresenceNow) -> &'static str {
    match presence {
        PresenceNow::Gone => "(gone)",
        PresenceNow::Foreign => "(outside this container)",
        PresenceNow::Here | PresenceNow::Hidden | PresenceNow::NotRecorded => "(not readable)",
    }
}

/// Returns what else is to be said of a card; `unlisted_idle` since when its unlisted memory is idle.
#[must_use]
pub fn remarks(card: &CardNow, unlisted_idle: Option<&str>) -> Vec<String> {
    let unreadable = unreadable(card);
    let mut remarks = Vec::new();
    // What is said of a part of the card need not be said again of its state.
    if let State::Unknown(reason) = card.state
        && !unreadable.iter().any(|(_, why)| *why == reason)
    {
        remarks.push(format!("not judged: {reason}"));
    }
    remarks.extend(unreadable.iter().map(|(what, why)| format!("{what} not readable: {why}")));
    remarks.extend(unattributed(card).map(|text| match unlisted_idle {
        Some(idle) => format!("{text}, {idle}"),
        None => text,
    }));
    remarks.extend(
        card.reservations.iter().map(|by| format!("reserved {}", safe(&by.format_terms()))),
    );
    if card.memory_source == Some(MemorySource::System) {
        remarks.push("shares the host's memory".to_owned());
    }
    remarks
}

/// What a card does not tell that it should; of one that tells nothing, the state says it.
fn unreadable(card: &CardNow) -> Vec<(&'static str, Reason)> {
    if is_dark(card) {
        return Vec::new();
    }
    let fields = [("memory_used_bytes", "memory"), ("holders", "holders")];
    let why = |(field, what)| Some((what, card.unknown.unread(field)?));
    fields.into_iter().filter_map(why).collect()
}

/// Memory of nobody visible, as far as it can be told from the driver's own reserve.
fn unattributed(card: &CardNow) -> Option<String> {
    let bytes = card.memory_unattributed_bytes.filter(|bytes| *bytes > WORTH_A_REMARK)?;
    match (card.memory_reserved_bytes, card.state) {
        (Some(_), _) => Some(format!("{} held by no visible process", memory(bytes))),
        (None, State::TrulyIdle) => None,
        (None, _) => Some(format!(
            "{} of no visible process, the driver's reserve among them",
            memory(bytes)
        )),
    }
}
