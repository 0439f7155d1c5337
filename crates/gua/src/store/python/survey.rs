//! A first look at a table: how many rows, and whether they are in the order of time.
//!
//! The Python gua only ever adds rows, so they lie in the order of time as they are, and
//! need no sorting. But a clock may have been set back, or the offset changed.

use probe::units::UnixMillis;
use rusqlite::types::ValueRef;

use super::super::error::StoreError;
use super::moment::{Moments, day};
use super::source::Source;
use crate::ledger::Period;

/// One of the two tables of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Gpu,
    Process,
}

/// What a table holds of a window.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub rows: u64,
    pub without_time: u64,
    in_order: bool,
}

/// How to read both tables in one order.
#[derive(Debug)]
pub(super) struct Plan {
    pub gpu: Survey,
    pub process: Survey,
    window: Option<Period>,
}

impl Table {
    const fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu_sample",
            Self::Process => "proc_sample",
        }
    }

    fn columns(self, source: &Source, names: &[&str]) -> String {
        match self {
            Self::Gpu => source.of_gpu(names),
            Self::Process => source.of_process(names),
        }
    }
}

impl Plan {
    /// Looks at both tables, around a window or whole.
    pub fn of(source: &Source, window: Option<Period>) -> Result<Self, StoreError> {
        let gpu = survey(source, Table::Gpu, window)?;
        let process = survey(source, Table::Process, window)?;
        let plan = Self { gpu, process, window };
        if !(plan.gpu.in_order && plan.process.in_order) {
            write_moments(source, window)?;
        }
        Ok(plan)
    }

    /// The query for a table's rows: time and run, then these columns, in the order of
    /// (time, text of the time, run).
    pub fn query(&self, source: &Source, table: Table, names: &[&str]) -> String {
        let columns = table.columns(source, &[&["ts", "run_id"], names].concat());
        let (name, within) = (table.name(), within(self.window));
        let survey = if table == Table::Gpu { &self.gpu } else { &self.process };
        if survey.in_order {
            return format!("SELECT {columns} FROM {name} {within} ORDER BY rowid");
        }
        let run = table.columns(source, &["run_id"]);
        format!(
            "SELECT {columns} FROM {name} JOIN temp.moment ON moment.text = {name}.ts {within}
                 ORDER BY moment.at_ms, moment.text, {run}, {name}.rowid"
        )
    }
}

fn survey(source: &Source, table: Table, window: Option<Period>) -> Result<Survey, StoreError> {
    let columns = table.columns(source, &["ts", "run_id"]);
    let query = format!("SELECT {columns} FROM {} {}", table.name(), within(window));
    let mut query = source.database.prepare(&format!("{query} ORDER BY rowid"))?;
    let mut rows = query.query([])?;
    let mut found = Survey { in_order: true, ..Survey::default() };
    let mut moments = Moments::default();
    let mut last: (Option<UnixMillis>, String, Option<i64>) = (None, String::new(), None);
    while let Some(row) = rows.next()? {
        found.rows += 1;
        let Some(at) = moments.read(row.get_ref(0)?) else {
            found.without_time += 1;
            continue;
        };
        let Some(run) = run(row.get_ref(1)?) else { continue };
        let before = (last.0, last.1.as_str(), last.2);
        found.in_order &= before <= (Some(at), moments.text(), run);
        if last.1 != moments.text() {
            moments.text().clone_into(&mut last.1);
        }
        (last.0, last.2) = (Some(at), run);
    }
    Ok(found)
}

/// The run of a row; `None` for what can be no run.
#[expect(clippy::option_option, reason = "a row may have none, and one that makes no sense")]
pub(super) fn run(value: ValueRef<'_>) -> Option<Option<i64>> {
    match value {
        ValueRef::Null => Some(None),
        ValueRef::Integer(run) => Some(Some(run)),
        _ => None,
    }
}

/// Rows around a window, by their texts. Offsets differ, hence a margin: the day of a text
/// is at most one away from the day in UTC, and the spans of a tick reach back a day at most.
fn within(window: Option<Period>) -> String {
    let Some(window) = window else { return String::new() };
    let (from, to) = (day(window.from, -3), day(window.to, 3));
    format!("WHERE ts >= '{from}' AND ts < '{to}'")
}

/// Writes down when each text was, in a table that lives as long as the connection.
fn write_moments(source: &Source, window: Option<Period>) -> Result<(), StoreError> {
    let Source { database, .. } = source;
    database.execute_batch(
        "CREATE TEMP TABLE moment (text TEXT PRIMARY KEY, at_ms INTEGER NOT NULL)
             STRICT, WITHOUT ROWID",
    )?;
    let mut insert =
        database.prepare("INSERT OR IGNORE INTO temp.moment (text, at_ms) VALUES (?1, ?2)")?;
    for table in [Table::Gpu, Table::Process] {
        let query = format!("SELECT ts FROM {} {}", table.name(), within(window));
        let mut query = database.prepare(&query)?;
        let mut rows = query.query([])?;
        let mut moments = Moments::default();
        let mut last = String::new();
        while let Some(row) = rows.next()? {
            if let Some(at) = moments.read(row.get_ref(0)?)
                && last != moments.text()
            {
                moments.text().clone_into(&mut last);
                insert.execute((&last, at.0))?;
            }
        }
    }
    Ok(())
}
