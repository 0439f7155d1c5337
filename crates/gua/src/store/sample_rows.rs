//! The samples of one tick as rows, written all at once.

use rusqlite::{Connection, params_from_iter};

use super::error::StoreError;
use super::span_rows::kib;
use super::{codes, sample_key};
use crate::ledger::CardEntry;

const COLUMNS: usize = 12;

/// More rows than that in one statement have more values than SQLite takes.
const MOST_ROWS: usize = 1000;

/// A row for each card.
#[derive(Debug)]
pub(super) struct SampleRows(Vec<[Option<i64>; COLUMNS]>);

impl SampleRows {
    pub fn with_capacity(rows: usize) -> Self {
        Self(Vec::with_capacity(rows))
    }

    pub fn add(&mut self, tick: i64, card: i64, entry: &CardEntry) -> Result<(), StoreError> {
        let CardEntry { evidence, measures, .. } = entry;
        let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.0.push([
            Some(sample_key::number(tick, card)?),
            Some(codes::of_state(entry.state)),
            evidence.work.known().map(|work| work.0.into()),
            evidence.work.why().map(codes::of_why),
            measures.basis.map(codes::of_basis),
            Some(whole(evidence.held.0)),
            evidence.unseen.map(|kib| whole(kib.0)),
            evidence.hidden.map(codes::of_why),
            i64::try_from(entry.crew.holders.len()).ok(),
            measures.used.and_then(|used| kib(used.into())),
            measures.power_milliwatts.map(i64::from),
            measures.temperature_celsius.map(i64::from),
        ]);
        Ok(())
    }

    /// One statement for all: that they are many must not cost as much as if each came alone.
    pub fn write(&self, database: &Connection) -> Result<(), StoreError> {
        for rows in self.0.chunks(MOST_ROWS) {
            let mut insert = database.prepare_cached(&insert(rows.len()))?;
            insert.execute(params_from_iter(rows.iter().flatten()))?;
        }
        Ok(())
    }
}

fn insert(rows: usize) -> String {
    const ROW: &str = "(?,?,?,?,?,?,?,?,?,?,?,?)";
    const INTO: &str = "INSERT INTO sample (id, state, utilization, utilization_why, basis, held_kib, \
         unseen_kib, hidden_why, holders, used_kib, power_mw, temperature_c) VALUES ";
    let mut insert = String::with_capacity(INTO.len() + rows * (ROW.len() + 1));
    insert.push_str(INTO);
    for row in 0..rows {
        if row > 0 {
            insert.push(',');
        }
        insert.push_str(ROW);
    }
    insert
}
