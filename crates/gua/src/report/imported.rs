//! What was imported from a database of the Python gua.

use std::path::Path;

use gua_store::python::{Imported, StateTimes, Unusable};
use jiff::Timestamp;
use serde::Serialize;

use crate::calendar::timestamp;

/// The answer of `gua db import`.
#[derive(Debug, Clone, Serialize)]
pub struct Import {
    pub schema: &'static str,
    pub file: String,
    pub database: String,
    /// Where the file is now, if it was replaced by its conversion.
    pub kept: Option<String>,
    pub card_rows: u64,
    pub process_rows: u64,
    pub ticks: u64,
    pub cards: usize,
    pub runs: usize,
    /// Begin of the imported time; null if nothing was recorded.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub active_gpu_hours: f64,
    pub idle_held_gpu_hours: f64,
    pub free_gpu_hours: f64,
    pub unknown_gpu_hours: f64,
    pub unusable_rows: UnusableRows,
}

/// Rows that were left out, by reason.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct UnusableRows {
    pub without_time: u64,
    pub absurd: u64,
    pub twice: u64,
    pub without_card: u64,
}

impl Import {
    #[must_use]
    pub fn new(file: &Path, database: &Path, kept: Option<&Path>, imported: &Imported) -> Self {
        let Imported { card_rows, process_rows, ticks, cards, runs, period, times, unusable } =
            *imported;
        let StateTimes { active_ms, idle_held_ms, free_ms, unknown_ms } = times;
        let Unusable { without_time, absurd, twice, without_card } = unusable;
        Self {
            schema: "gua.import/2",
            file: file.display().to_string(),
            database: database.display().to_string(),
            kept: kept.map(|kept| kept.display().to_string()),
            card_rows,
            process_rows,
            ticks,
            cards,
            runs,
            from: period.and_then(|period| timestamp(period.from)),
            to: period.and_then(|period| timestamp(period.to)),
            active_gpu_hours: hours(active_ms),
            idle_held_gpu_hours: hours(idle_held_ms),
            free_gpu_hours: hours(free_ms),
            unknown_gpu_hours: hours(unknown_ms),
            unusable_rows: UnusableRows { without_time, absurd, twice, without_card },
        }
    }

    #[must_use]
    pub fn total_gpu_hours(&self) -> f64 {
        self.active_gpu_hours
            + self.idle_held_gpu_hours
            + self.free_gpu_hours
            + self.unknown_gpu_hours
    }
}

fn hours(millis: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
    let millis = millis as f64;
    millis / 3_600_000.0
}
