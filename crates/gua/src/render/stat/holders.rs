//! Who holds a card: a row a holder, and a remark where something is not known.

use gua_core::card::MemorySource;
use gua_core::snapshot::{CardNow, HolderNow, PresenceNow};
use gua_core::{Reason, State};

use super::View;
use super::cards::is_dark;
use crate::render::identity;
use crate::render::paint::Ink;
use crate::render::table::{self, Align, Cell, Column, Line};
use crate::render::words::{duration, memory, memory_or_unknown, safe, width};

/// Memory of no visible process is worth a remark from here on.
const WORTH_A_REMARK: u64 = 100 << 20;

/// User, pid, program, memory, SM, run time, command.
const ALIGNS: [Align; 7] =
    [Align::Left, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];

const PROGRAM: usize = 2;
const SM: usize = 4;

/// How far holders stand in below their card.
pub(super) const INDENT: usize = 4;

/// A program's name is not cut shorter than this while there is something else to leave out.
const SHORTEST_NAME: usize = 8;

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
    pub fn new(cards: &[CardNow], view: &View) -> Self {
        let cards: Vec<Vec<Row>> = cards.iter().map(|card| rows(card, view)).collect();
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

/// Shortens programs, then leaves out the SM share, where the screen is too narrow.
fn squeeze(columns: &mut [Column], most: usize) {
    table::shorten(columns, PROGRAM, SHORTEST_NAME, most);
    if table::total(columns) > most
        && let Some(column) = columns.get_mut(SM)
    {
        column.width = 0;
    }
}

fn rows(card: &CardNow, view: &View) -> Vec<Row> {
    let holders = card.holders.iter().filter(|_| view.holders).map(|h| Row::Holder(cells(h, view)));
    let remarks = remarks(card).into_iter().map(|text| Row::Remark(Cell::new(text, Ink::Quiet)));
    holders.chain(remarks).collect()
}

fn cells(holder: &HolderNow, view: &View) -> Vec<Cell> {
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
        text(memory_or_unknown(holder.memory_bytes)),
        text(holder.sm_percent.map_or_else(String::new, |percent| format!("SM {percent:.0} %"))),
        text(holder.running_seconds.map_or_else(String::new, duration)),
        text(command),
    ]
}

/// A holder without a name is known by its pid.
fn program(holder: &HolderNow, view: &View) -> String {
    match &holder.program {
        Some(program) => safe(program),
        None if view.pid => absence(holder.presence).to_owned(),
        None => format!("pid {} {}", holder.pid, absence(holder.presence)),
    }
}

/// Formats whose it is, by name or number: the person behind it, if that was requested.
#[must_use]
pub fn user(holder: &HolderNow) -> String {
    match (&holder.identity, &holder.user, holder.uid) {
        (Some(who), ..) => identity::user(who),
        (None, Some(user), _) => safe(user),
        (None, None, Some(uid)) => format!("uid {uid}"),
        (None, None, None) => "?".to_owned(),
    }
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

/// What else is to be said of a card.
#[must_use]
pub fn remarks(card: &CardNow) -> Vec<String> {
    let unreadable = unreadable(card);
    let mut remarks = Vec::new();
    // What is said of a part of the card need not be said again of its state.
    if let State::Unknown(reason) = card.state
        && !unreadable.iter().any(|(_, why)| *why == reason)
    {
        remarks.push(format!("not judged: {reason}"));
    }
    remarks.extend(unreadable.iter().map(|(what, why)| format!("{what} not readable: {why}")));
    remarks.extend(unattributed(card));
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
