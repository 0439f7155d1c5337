//! What was taken over from another program's database.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::calendar::timestamp;
use crate::store::python::{ByState, Imported, Refused};

/// The answer of `gua db import`.
#[derive(Debug, Serialize)]
pub struct Import {
    pub schema: &'static str,
    pub file: String,
    pub database: String,
    /// Where the file is now, if it had to make place.
    pub kept: Option<String>,
    /// Where the database is kept as it was, if it had an older layout.
    pub older_kept: Option<String>,
    pub gpu_rows: u64,
    pub process_rows: u64,
    pub ticks: u64,
    pub cards: usize,
    pub runs: usize,
    /// The time that it brought; null where nothing was recorded.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Seconds of cards.
    pub seconds: Seconds,
    pub refused_rows: RefusedRows,
}

/// By what the cards were doing.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Seconds {
    pub active: f64,
    pub idle_held: f64,
    pub truly_idle: f64,
    pub unknown: f64,
}

/// Rows that were left behind, and why.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct RefusedRows {
    pub without_time: u64,
    pub senseless: u64,
    pub twice: u64,
    pub without_card: u64,
}

impl Import {
    #[must_use]
    pub fn new(file: &Path, database: &Path, kept: Option<&Path>, imported: &Imported) -> Self {
        let Imported { gpu_rows, process_rows, ticks, cards, runs, .. } = *imported;
        Self {
            schema: "gua.import/1",
            file: file.display().to_string(),
            database: database.display().to_string(),
            kept: kept.map(|kept| kept.display().to_string()),
            older_kept: None,
            gpu_rows,
            process_rows,
            ticks,
            cards,
            runs,
            from: imported.extent.and_then(|extent| timestamp(extent.from)),
            to: imported.extent.and_then(|extent| timestamp(extent.to)),
            seconds: imported.millis.into(),
            refused_rows: imported.refused.into(),
        }
    }
}

impl Seconds {
    #[must_use]
    pub fn all(&self) -> f64 {
        self.active + self.idle_held + self.truly_idle + self.unknown
    }
}

impl From<ByState> for Seconds {
    fn from(millis: ByState) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
        let seconds = |millis: i64| millis as f64 / 1000.0;
        Self {
            active: seconds(millis.active),
            idle_held: seconds(millis.idle_held),
            truly_idle: seconds(millis.truly_idle),
            unknown: seconds(millis.unknown),
        }
    }
}

impl From<Refused> for RefusedRows {
    fn from(refused: Refused) -> Self {
        let Refused { without_time, senseless, twice, without_card } = refused;
        Self { without_time, senseless, twice, without_card }
    }
}
