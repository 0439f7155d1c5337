//! The fields of a holder: nvidia-smi's names, and some of our own.

use gua_core::Reason;
use gua_core::process;
use gua_core::snapshot::HolderNow;
use gua_core::unknowns::NullReason;

use super::cards::{CardAt, slot};
use super::field::{Field, fields};
use super::value::{Cell, NoValue, Value, percent};

/// Which holders are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinds {
    All,
    /// Those that compute, themselves or through MPS.
    Compute,
}

/// A row of holders at one moment.
#[derive(Debug, Clone, Copy)]
pub struct HolderAt<'a> {
    at: CardAt<'a>,
    subject: Subject<'a>,
}

/// Whom a row is about.
#[derive(Debug, Clone, Copy)]
enum Subject<'a> {
    Seen(&'a HolderNow),
    /// A list could not be read: there may be more.
    Unread(NoValue),
    Nobody,
}

pub type HolderField = Field<fn(&HolderAt<'_>) -> Cell>;

pub const FIELDS: &[HolderField] = fields! {
    ["timestamp"] None Nothing |row| Ok(Value::Moment(row.at.snapshot.time)),
        "When the card was read.";
    ["gpu_index"] None Nothing |row| Ok(Value::Whole(row.at.card.card.index.into())),
        "The number of the GPU that is held.";
    ["card"] None Nothing |row| Ok(Value::Text(row.at.card.card.label())),
        "The card as gua shows it: its number, and the slot of a MIG instance.";
    ["mig.slot"] None Nothing |row| slot(&row.at),
        "The slot of the MIG instance that is held; a whole GPU has none.";
    ["gpu_name"] None Nothing |row| row.at.name("name", row.at.card.card.name.as_ref()),
        "The product name of the card.";
    ["gpu_bus_id"] None Nothing |row| row.at.name("bus_id", row.at.card.card.bus_id.as_ref()),
        "The card's place on the bus.";
    ["gpu_uuid"] None Nothing |row| row.at.name("uuid", row.at.card.card.uuid.as_ref()),
        "What the card is known by.";
    ["pid"] None Nothing |row| row.seen(|holder| Ok(Value::Whole(holder.pid.into()))),
        "The process.";
    ["process_name" | "name"] None Commands |row| row.seen(process_name),
        "The first word of its command line.";
    ["used_gpu_memory" | "used_memory"] Memory Nothing |row| {
        row.cell("memory_bytes", |holder| holder.memory_bytes.map(Value::Whole))
    }, "What it holds of the card's memory.";
    ["user"] None Nothing |row| row.seen(user),
        "Whose it is.";
    ["uid"] None Nothing |row| {
        row.cell("uid", |holder| holder.uid.map(|uid| Value::Whole(uid.into())))
    }, "The number of whose it is.";
    ["program"] None Nothing |row| row.cell("program", |holder| holder.program.clone().map(Value::Name)),
        "The kernel's short name of it.";
    ["kind"] None Nothing |row| row.seen(|holder| Ok(Value::Text(names(holder.kinds)))),
        "How it uses the card: compute, graphics, mps, or several of them.";
    ["type"] None Nothing |row| row.seen(|holder| Ok(Value::Text(letters(holder.kinds)))),
        "The same in letters: C, G, M.";
    ["sm"] Percent Shares |row| row.percent("sm_percent", |holder| holder.sm_percent),
        "Its share of the card's SMs since the last look, as far as the driver samples it.";
    ["mem"] Percent Shares |row| row.percent("memory_busy_percent", |holder| holder.memory_busy_percent),
        "How much of that time it read or wrote the card's memory.";
    ["enc"] Percent Shares |row| row.percent("encoder_percent", |holder| holder.encoder_percent),
        "Its share of the video encoder.";
    ["dec"] Percent Shares |row| row.percent("decoder_percent", |holder| holder.decoder_percent),
        "Its share of the video decoder.";
    ["started"] None Nothing |row| {
        row.cell("started", |holder| holder.started.map(Value::Moment))
    }, "When it began.";
    ["running"] Seconds Nothing |row| {
        row.cell("running_seconds", |holder| holder.running_seconds.map(Value::Real))
    }, "How long it runs.";
};

/// Returns the rows of one card.
pub(super) fn on(at: CardAt<'_>, kinds: Kinds, with_free_cards: bool) -> Vec<HolderAt<'_>> {
    let is_asked = |holder: &&HolderNow| match kinds {
        Kinds::All => true,
        Kinds::Compute => holder.kinds.compute || holder.kinds.mps,
    };
    let unknown = &at.card.unknown;
    let unread = (!at.card.holders_complete).then(|| NoValue::of_field(unknown, "holders"));
    let seen = at.card.holders.iter().filter(is_asked).map(Subject::Seen);
    let mut subjects: Vec<_> = seen.chain(unread.map(Subject::Unread)).collect();
    if subjects.is_empty() && with_free_cards {
        subjects.push(Subject::Nobody);
    }
    subjects.into_iter().map(|subject| HolderAt { at, subject }).collect()
}

impl HolderAt<'_> {
    /// Reads a holder that is there.
    fn seen(&self, read: impl FnOnce(&HolderNow) -> Cell) -> Cell {
        match self.subject {
            Subject::Seen(holder) => read(holder),
            Subject::Unread(reason) => Err(reason),
            Subject::Nobody => Err(NoValue::NoHolder),
        }
    }

    /// Returns a value of the holder, or why there is none.
    fn cell(&self, field: &str, value: impl FnOnce(&HolderNow) -> Option<Value>) -> Cell {
        self.seen(|holder| value(holder).ok_or_else(|| NoValue::of_field(&holder.unknown, field)))
    }

    fn percent(&self, field: &str, value: impl FnOnce(&HolderNow) -> Option<f64>) -> Cell {
        self.cell(field, |holder| value(holder).map(percent))
    }
}

/// Returns the person behind a holder. A process that has ended is unattributed, as in all views.
fn user(holder: &HolderNow) -> Cell {
    let why = || match NoValue::of_field(&holder.unknown, "user") {
        NoValue::Null(NullReason::Unread(Reason::Gone)) => NoValue::Null(NullReason::Unattributed),
        why => why,
    };
    holder.user.clone().map(Value::Name).ok_or_else(why)
}

/// Returns the first word of the command line: the words after it may hold secrets.
fn process_name(holder: &HolderNow) -> Cell {
    match holder.command.as_ref().map(|words| words.first()) {
        Some(Some(first)) if !first.is_empty() => Ok(Value::Name(first.clone())),
        // A process may take its command line back.
        Some(_) => Err(Reason::NotTold.into()),
        None => Err(NoValue::of_field(&holder.unknown, "command")),
    }
}

fn names(kinds: process::Kinds) -> String {
    kinds.names().collect::<Vec<_>>().join("+")
}

fn letters(kinds: process::Kinds) -> String {
    let letter = |kind: &'static str| kind.get(..1).unwrap_or_default().to_uppercase();
    kinds.names().map(letter).collect::<Vec<_>>().join("+")
}
