//! The fields of a holder: nvidia-smi's names, and some of our own.

use probe::Why;
use probe::process;
use probe::units::Percent;

use super::cards::{CardAt, slot, text};
use super::field::{Field, fields};
use super::value::{Cell, Value, bytes, name, percent};
use crate::report::now;
use crate::report::unknowns::Reason;

/// Which holders are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinds {
    All,
    /// Those that compute, themselves or through MPS.
    Compute,
}

/// A row of holders at one moment.
#[derive(Debug, Clone)]
pub struct HolderAt<'a> {
    at: CardAt<'a>,
    who: Who<'a>,
}

/// Whom a row is about.
#[derive(Debug, Clone)]
enum Who<'a> {
    Seen(&'a process::Holder, Box<now::Holder>),
    /// A list could not be read: there may be more.
    Unread(Why),
    Nobody,
}

pub type HolderField = Field<fn(&HolderAt<'_>) -> Cell>;

pub const FIELDS: &[HolderField] = fields! {
    ["timestamp"] None Nothing |row| Ok(Value::Moment(row.at.time)),
        "When the card was read.";
    ["gpu_index"] None Nothing |row| Ok(Value::Whole(row.at.card.facts.index.into())),
        "The number of the GPU that is held.";
    ["card"] None Nothing |row| Ok(Value::Text(row.at.card.facts.label())),
        "The card as gua shows it: its number, and the slot of a MIG instance.";
    ["mig.slot"] None Nothing |row| slot(&row.at),
        "The slot of the MIG instance that is held; a whole GPU has none.";
    ["gpu_name"] None Nothing |row| name(text(&row.at.card.facts.name)),
        "The product name of the card.";
    ["gpu_bus_id"] None Nothing |row| name(text(&row.at.card.facts.bus_id)),
        "The card's place on the bus.";
    ["gpu_uuid"] None Nothing |row| name(text(&row.at.card.facts.uuid)),
        "What the card is known by.";
    ["pid"] None Nothing |row| row.seen(|held, _| Ok(Value::Whole(held.pid.into()))),
        "The process.";
    ["process_name" | "name"] None Commands |row| row.seen(|_, who| process_name(who)),
        "The first word of its command line.";
    ["used_gpu_memory" | "used_memory"] Memory Nothing |row| {
        row.seen(|held, _| bytes(held.memory))
    }, "What it holds of the card's memory.";
    ["user"] None Nothing |row| row.owner("user", |who| who.owner.user.clone()),
        "Whose it is.";
    ["uid"] None Nothing |row| {
        row.seen(|_, who| told(who, "uid", who.owner.uid.map(|uid| Value::Whole(uid.into()))))
    }, "The number of whose it is.";
    ["program"] None Nothing |row| row.owner("program", |who| who.owner.program.clone()),
        "The kernel's short name of it.";
    ["kind"] None Nothing |row| row.seen(|_, who| Ok(Value::Text(who.kinds.join("+")))),
        "How it uses the card: compute, graphics, mps, or several of them.";
    ["type"] None Nothing |row| row.seen(|_, who| Ok(Value::Text(letters(&who.kinds)))),
        "The same in letters: C, G, M.";
    ["sm"] Percent Shares |row| row.seen(|held, _| percent(held.sm)),
        "Its share of the card's SMs since the last look, as far as the driver samples it.";
    ["mem"] Percent Shares |row| row.engine(|engines| engines.memory),
        "How much of that time it read or wrote the card's memory.";
    ["enc"] Percent Shares |row| row.engine(|engines| engines.encoder),
        "Its share of the video encoder.";
    ["dec"] Percent Shares |row| row.engine(|engines| engines.decoder),
        "Its share of the video decoder.";
    ["started"] None Nothing |row| {
        row.seen(|_, who| told(who, "started", who.owner.started.map(Value::Moment)))
    }, "When it began.";
    ["running"] Seconds Nothing |row| {
        let running = |who: &now::Holder| who.owner.running_seconds.map(Value::Real);
        row.seen(|_, who| told(who, "running_seconds", running(who)))
    }, "How long it runs.";
};

/// The rows of one card.
pub(super) fn on(
    at: CardAt<'_>,
    kinds: Kinds,
    with_free_cards: bool,
) -> impl Iterator<Item = HolderAt<'_>> {
    let is_asked = move |held: &process::Holder| match kinds {
        Kinds::All => true,
        Kinds::Compute => held.kinds.compute || held.kinds.mps,
    };
    let seen = at.card.held().filter(|(held, _)| is_asked(held));
    let seen =
        seen.map(move |(held, tick)| Who::Seen(held, Box::new(now::holder(held, tick, at.time))));
    let mut rows: Vec<_> = seen.chain(at.card.vitals.holders.unread.map(Who::Unread)).collect();
    if rows.is_empty() && with_free_cards {
        rows.push(Who::Nobody);
    }
    rows.into_iter().map(move |who| HolderAt { at, who })
}

impl HolderAt<'_> {
    /// What is known of one that is there.
    fn seen(&self, read: impl FnOnce(&process::Holder, &now::Holder) -> Cell) -> Cell {
        match &self.who {
            Who::Seen(held, who) => read(held, who),
            Who::Unread(why) => Err((*why).into()),
            Who::Nobody => Err(Reason::NoHolder),
        }
    }

    fn owner(&self, field: &str, part: impl FnOnce(&now::Holder) -> Option<String>) -> Cell {
        self.seen(|_, who| told(who, field, part(who).map(Value::Name)))
    }

    fn engine(&self, part: impl FnOnce(process::Engines) -> Percent) -> Cell {
        self.seen(|held, _| percent(held.engines.map(part)))
    }
}

/// A part of what the report on now tells, with its reason where it does not.
fn told(who: &now::Holder, field: &str, value: Option<Value>) -> Cell {
    value.ok_or_else(|| who.unknown.reason(field).unwrap_or(Why::NotTold.into()))
}

/// The words after the first may hold secrets.
fn process_name(who: &now::Holder) -> Cell {
    let first = who.command.as_ref().map(|words| words.first().cloned());
    match first {
        Some(Some(first)) if !first.is_empty() => Ok(Value::Name(first)),
        // A process may take its command line back.
        Some(_) => Err(Why::NotTold.into()),
        None => told(who, "command", None),
    }
}

fn letters(kinds: &[&str]) -> String {
    let letter = |kind: &&str| kind.get(..1).unwrap_or_default().to_uppercase();
    kinds.iter().map(letter).collect::<Vec<_>>().join("+")
}
