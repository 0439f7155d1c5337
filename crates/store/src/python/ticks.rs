//! Rows of both tables of samples, joined to ticks: the rows of one run and one time.

use std::cmp::Ordering;
use std::collections::HashMap;

use gua_core::process::Kinds;
use gua_core::units::UnixMillis;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Rows};

use super::import::Unusable;
use crate::error::Problem;

/// More memory than any card has: 1 PiB.
const MOST_MIB: i64 = 1 << 30;

/// Number of a text that repeats in millions of rows.
pub(super) type Text = u32;

/// Texts that repeat, each kept once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: HashMap<Box<str>, Text>,
    texts: Vec<Box<str>>,
}

impl Texts {
    fn number(&mut self, text: &str) -> Text {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = Text::try_from(self.texts.len()).unwrap_or(Text::MAX);
        self.numbers.insert(text.into(), number);
        self.texts.push(text.into());
        number
    }

    pub fn text(&self, number: Text) -> Option<&str> {
        self.texts.get(usize::try_from(number).ok()?).map(|text| &**text)
    }
}

pub(super) const CARD_COLUMNS: [&str; 6] =
    ["gpu_uuid", "util_pct", "gpu_index", "memory_used_mb", "temperature_c", "power_w"];

/// One card at one tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct CardReading {
    pub uuid: Text,
    pub percent: Option<f64>,
    pub index: Option<i64>,
    pub used_mib: Option<i64>,
    pub temperature_c: Option<i64>,
    pub power_w: Option<i64>,
}

pub(super) const PROCESS_COLUMNS: [&str; 7] = [
    "gpu_uuid",
    "pid",
    "mem_used_mb",
    "loginuid_user",
    "owner_user",
    "process_name",
    "process_type",
];

/// One process on one card at one tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessReading {
    pub uuid: Text,
    pub pid: i64,
    /// `None` if it could not be read.
    pub mib: Option<i64>,
    pub user: Option<Text>,
    pub program: Option<Text>,
    pub kinds: Kinds,
}

impl CardReading {
    fn read(row: &Row<'_>, texts: &mut Texts) -> rusqlite::Result<Option<Self>> {
        let Some(uuid) = name(row.get_ref(2)?) else { return Ok(None) };
        let percent = number(row.get_ref(3)?);
        if row.get_ref(3)? != ValueRef::Null && !percent.is_some_and(|it| it <= 100.0) {
            return Ok(None);
        }
        Ok(Some(Self {
            uuid: texts.number(uuid),
            percent,
            index: whole(row.get_ref(4)?),
            used_mib: whole(row.get_ref(5)?).filter(|mib| *mib <= MOST_MIB),
            temperature_c: whole(row.get_ref(6)?),
            power_w: whole(row.get_ref(7)?),
        }))
    }
}

impl ProcessReading {
    fn read(row: &Row<'_>, texts: &mut Texts) -> rusqlite::Result<Option<Self>> {
        let Some(uuid) = name(row.get_ref(2)?) else { return Ok(None) };
        let Some(pid) = whole(row.get_ref(3)?) else { return Ok(None) };
        let mib = whole(row.get_ref(4)?).filter(|mib| *mib <= MOST_MIB);
        if row.get_ref(4)? != ValueRef::Null && mib.is_none() {
            return Ok(None);
        }
        let user = name(row.get_ref(5)?).or(name(row.get_ref(6)?));
        let user = user.map(|user| texts.number(user));
        let is_graphics = name(row.get_ref(8)?) == Some("graphics");
        Ok(Some(Self {
            uuid: texts.number(uuid),
            pid,
            mib,
            user,
            program: name(row.get_ref(7)?).map(|program| texts.number(program)),
            // Versions without kinds list compute processes only.
            kinds: if is_graphics { Kinds::GRAPHICS } else { Kinds::COMPUTE },
        }))
    }
}

fn name(value: ValueRef<'_>) -> Option<&str> {
    value.as_str().ok().filter(|text| !text.is_empty())
}

/// Returns a number that is not negative.
fn number(value: ValueRef<'_>) -> Option<f64> {
    let number = match value {
        #[expect(clippy::cast_precision_loss, reason = "large ones are absurd anyway")]
        ValueRef::Integer(number) => number as f64,
        ValueRef::Real(number) => number,
        _ => return None,
    };
    (0.0..=4e9).contains(&number).then_some(number)
}

#[expect(clippy::cast_possible_truncation, reason = "in range")]
fn whole(value: ValueRef<'_>) -> Option<i64> {
    number(value).map(|number| number.round() as i64)
}

/// Returns a time in milliseconds. A time without an offset is none: it could be anywhere in a day.
pub(super) fn parse_time(text: &str) -> Option<UnixMillis> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(UnixMillis(time.as_millisecond()))
}

/// What rows of one tick have in common. The text is part of it, as two ticks may differ by less than a
/// millisecond.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TickKey {
    at: UnixMillis,
    text: String,
    run: Option<i64>,
}

/// Reads the values of a row; `None` if one is absurd.
type ReadRow<R> = fn(&Row<'_>, &mut Texts) -> rusqlite::Result<Option<R>>;

/// Rows of one table, one ahead.
struct Cursor<'s, R> {
    rows: Rows<'s>,
    read_row: ReadRow<R>,
    key: TickKey,
    /// The row of `key`; `None` at the end.
    head: Option<R>,
    read: u64,
    is_disordered: bool,
}

impl<'s, R: Copy> Cursor<'s, R> {
    fn new(rows: Rows<'s>, read_row: ReadRow<R>) -> Self {
        let key = TickKey { at: UnixMillis(i64::MIN), text: String::new(), run: None };
        Self { rows, read_row, key, head: None, read: 0, is_disordered: false }
    }

    /// Goes to the next row that can be used.
    fn advance(&mut self, texts: &mut Texts, unusable: &mut Unusable) -> Result<(), Problem> {
        self.head = None;
        while let Some(row) = self.rows.next()? {
            self.read += 1;
            let Ok(text) = row.get_ref(0)?.as_str() else {
                unusable.without_time += 1;
                continue;
            };
            let is_new = self.key.text != text;
            let at = if is_new || text.is_empty() { parse_time(text) } else { Some(self.key.at) };
            let Some(at) = at else {
                unusable.without_time += 1;
                continue;
            };
            let run = match row.get_ref(1)? {
                ValueRef::Null => Some(None),
                ValueRef::Integer(run) => Some(Some(run)),
                _ => None,
            };
            let (Some(run), Some(values)) = (run, (self.read_row)(row, texts)?) else {
                unusable.absurd += 1;
                continue;
            };
            self.is_disordered |= (at, text, run) < (self.key.at, &*self.key.text, self.key.run);
            (self.key.at, self.key.run) = (at, run);
            if is_new {
                text.clone_into(&mut self.key.text);
            }
            self.head = Some(values);
            return Ok(());
        }
        Ok(())
    }

    /// Returns the next row if it is of the tick.
    fn row_of(&self, tick: &TickKey) -> Option<R> {
        self.head.filter(|_| self.key == *tick)
    }
}

/// Ticks of a file, in the order of its queries.
pub(super) struct Ticks<'s> {
    card_rows: Cursor<'s, CardReading>,
    process_rows: Cursor<'s, ProcessReading>,
    key: TickKey,
    pub cards: Vec<CardReading>,
    /// Each is of one of the cards.
    pub processes: Vec<ProcessReading>,
    pub texts: Texts,
    pub unusable: Unusable,
    /// True if rows of processes name their runs. Otherwise they are joined by their times alone.
    joins_runs: bool,
}

impl<'s> Ticks<'s> {
    pub fn new(cards: Rows<'s>, processes: Rows<'s>, joins_runs: bool) -> Result<Self, Problem> {
        let (mut card_rows, mut process_rows) =
            (Cursor::new(cards, CardReading::read), Cursor::new(processes, ProcessReading::read));
        let (mut texts, mut unusable) = (Texts::default(), Unusable::default());
        card_rows.advance(&mut texts, &mut unusable)?;
        process_rows.advance(&mut texts, &mut unusable)?;
        let key = card_rows.key.clone();
        let (cards, processes) = (Vec::new(), Vec::new());
        Ok(Self { card_rows, process_rows, key, cards, processes, texts, unusable, joins_runs })
    }

    pub const fn at(&self) -> UnixMillis {
        self.key.at
    }

    pub const fn run(&self) -> Option<i64> {
        self.key.run
    }

    /// Returns the number of rows that were read.
    pub const fn rows_read(&self) -> u64 {
        self.card_rows.read + self.process_rows.read
    }

    /// Returns true if rows were not in the order of time.
    pub const fn is_disordered(&self) -> bool {
        self.card_rows.is_disordered || self.process_rows.is_disordered
    }

    /// Goes to the next tick. Returns false at the end.
    pub fn advance(&mut self) -> Result<bool, Problem> {
        self.cards.clear();
        self.processes.clear();
        let has_tick = self.card_rows.head.is_some();
        if has_tick {
            self.key.clone_from(&self.card_rows.key);
        }
        while let Some(card) = self.card_rows.row_of(&self.key) {
            if self.cards.iter().any(|other| other.uuid == card.uuid) {
                self.unusable.twice += 1;
            } else {
                self.cards.push(card);
            }
            self.card_rows.advance(&mut self.texts, &mut self.unusable)?;
        }
        // The Python gua does not report a process whose card has no sample then either.
        while let Some(process) = self.process_rows.head {
            let order = self.process_order();
            if has_tick && order == Ordering::Greater {
                break;
            }
            let is_of_tick = has_tick && order == Ordering::Equal;
            if is_of_tick && self.cards.iter().any(|card| card.uuid == process.uuid) {
                self.processes.push(process);
            } else {
                self.unusable.without_card += 1;
            }
            self.process_rows.advance(&mut self.texts, &mut self.unusable)?;
        }
        Ok(has_tick)
    }

    /// Compares the next row of a process with the tick.
    fn process_order(&self) -> Ordering {
        let (row, tick) = (&self.process_rows.key, &self.key);
        let run = if self.joins_runs { row.run } else { tick.run };
        (row.at, &row.text, run).cmp(&(tick.at, &tick.text, tick.run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_offset() {
        for text in [
            "2026-11-15T20:00:00+00:00",
            "2026-11-15T20:00:00Z",
            "2026-11-15 20:00:00.000000+00:00",
            "2026-11-16T05:00:00+09:00",
            "2026-11-15T14:30:00-05:30",
        ] {
            assert_eq!(parse_time(text), Some(UnixMillis(1_794_772_800_000)), "{text}");
        }
        for text in ["", "2026-11-15T20:00:00", "2026-02-30T20:00:00Z", "now", "1794772800"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
