//! Reads samples of cards, for plots.

use gua_core::Period;
use gua_core::units::{Percent, UnixMillis};
use rusqlite::Connection;

use crate::database::Database;
use crate::error::{Problem, StoreError};

/// A sample of a card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredSample {
    pub at: UnixMillis,
    /// Id of the card.
    pub card: i64,
    pub utilization: Option<Percent>,
    pub memory_mib: Option<i64>,
}

impl Database {
    /// Reads the samples of all cards in a window, in order of time.
    pub fn samples(&self, window: Period) -> Result<Vec<StoredSample>, StoreError> {
        self.result(read(&self.connection, window))
    }
}

fn read(db: &Connection, window: Period) -> Result<Vec<StoredSample>, Problem> {
    let mut query = db.prepare_cached(
        "SELECT at_ms, card, utilization, memory_mib FROM sample
         WHERE at_ms > ?1 AND at_ms <= ?2 ORDER BY at_ms, card",
    )?;
    let samples = query.query_map((window.from.0, window.to.0), |row| {
        Ok(StoredSample {
            at: UnixMillis(row.get(0)?),
            card: row.get(1)?,
            utilization: row.get::<_, Option<f64>>(2)?.map(Percent),
            memory_mib: row.get(3)?,
        })
    })?;
    Ok(samples.collect::<Result<_, _>>()?)
}
