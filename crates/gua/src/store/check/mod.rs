//! Verifies a database: SQLite's own rules and ours. It only reads, and goes on after what
//! it finds.
//!
//! | module | what it verifies |
//! |---|---|
//! | `finding` | what can be wrong |
//! | `hours` | the spans, one hour after the other: lengths, overlaps, parts within wholes |
//! | `sums` | the ticks, and that the spans hold what they counted |

mod finding;
mod hours;
mod sums;

use std::collections::HashMap;
use std::path::Path;

use probe::units::UnixMillis;
use rusqlite::Connection;

pub use self::finding::{Finding, SpanId, Table};
use super::database;
use super::error::StoreError;
use super::run::last_tick;

/// Findings beyond these are only counted.
const MOST_FINDINGS: usize = 100;

/// What was verified, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Check {
    pub layout: u32,
    /// The first ones.
    pub findings: Vec<Finding>,
    /// How many there are in all.
    pub finding_count: u64,
    pub spans: u64,
    pub ticks: u64,
    pub samples: u64,
    pub runs: u64,
}

impl Check {
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        self.finding_count == 0
    }

    fn found(&mut self, finding: Finding) {
        self.finding_count += 1;
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        }
    }

    /// What cannot be read is a finding too, and no reason not to look at the rest.
    fn part(&mut self, outcome: Result<(), StoreError>) -> Result<(), StoreError> {
        match outcome {
            Ok(()) => {}
            Err(StoreError::Damaged(words)) => self.found(Finding::Structure(words)),
            Err(StoreError::Sqlite(error)) => self.found(Finding::Structure(error.to_string())),
            Err(other) => return Err(other),
        }
        Ok(())
    }
}

/// A run, as far as the checks need it.
#[derive(Debug, Clone, Copy)]
struct Run {
    goes_back: bool,
}

/// What all checks need to know.
#[derive(Debug)]
struct Known {
    runs: HashMap<i64, Run>,
    /// The only run that may have open spans.
    open_run: Option<i64>,
    /// Where these end.
    open_end: UnixMillis,
}

/// Verifies the database at a path.
///
/// # Errors
/// When it is not ours or cannot be opened.
pub fn check(path: &Path) -> Result<Check, StoreError> {
    of(&database::open_to_read(path)?)
}

fn of(database: &Connection) -> Result<Check, StoreError> {
    // All parts look at the same moment, however much is recorded meanwhile.
    database.execute_batch("BEGIN")?;
    let layout = database.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let mut check = Check { layout, ..Check::default() };
    let structure = structure(database, &mut check);
    check.part(structure)?;
    let references = references(database, &mut check);
    check.part(references)?;
    let known = match Known::read(database) {
        Ok(known) => known,
        Err(error) => {
            check.part(Err(error))?;
            return Ok(check);
        }
    };
    check.runs = known.runs.len() as u64;
    let hours = hours::verify(database, &known, &mut check);
    check.part(hours)?;
    let sums = sums::verify(database, &known, &mut check);
    check.part(sums)?;
    database.execute_batch("COMMIT")?;
    Ok(check)
}

impl Known {
    fn read(database: &Connection) -> Result<Self, StoreError> {
        let mut runs = database.prepare("SELECT id, goes_back FROM run")?;
        let runs = runs
            .query_map([], |row| Ok((row.get(0)?, Run { goes_back: row.get(1)? })))?
            .collect::<Result<HashMap<_, _>, _>>()?;
        let open_run = database.query_row(
            "SELECT max(id) FILTER (WHERE ended_ms IS NULL AND id = (SELECT max(id) FROM run))
                 FROM run",
            [],
            |row| row.get::<_, Option<i64>>(0),
        )?;
        let open_end = open_run.map(|run| last_tick(database, run)).transpose()?.flatten();
        Ok(Self { runs, open_run, open_end: open_end.unwrap_or(UnixMillis(i64::MIN)) })
    }

    fn goes_back(&self, run: i64) -> bool {
        self.runs.get(&run).is_some_and(|run| run.goes_back)
    }
}

fn structure(database: &Connection, check: &mut Check) -> Result<(), StoreError> {
    let mut pragma = database.prepare(&format!("PRAGMA integrity_check({MOST_FINDINGS})"))?;
    let mut rows = pragma.query([])?;
    while let Some(row) = rows.next()? {
        let words: String = row.get(0)?;
        if words != "ok" {
            check.found(Finding::Structure(words));
        }
    }
    Ok(())
}

fn references(database: &Connection, check: &mut Check) -> Result<(), StoreError> {
    let mut pragma = database.prepare("PRAGMA foreign_key_check")?;
    let mut rows = pragma.query([])?;
    while let Some(row) = rows.next()? {
        check.found(Finding::Reference { table: row.get(0)?, parent: row.get(2)? });
    }
    Ok(())
}
