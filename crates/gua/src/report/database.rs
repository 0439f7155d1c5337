//! What is in a database, whether it is as it must be, and what was deleted from it.

use std::collections::BTreeMap;
use std::time::Duration;

use gua_core::units::UnixMillis;
use gua_store::{DueRows, StoreInfo, StoredCard, StoredRun};
use jiff::Timestamp;
use serde::Serialize;

use crate::calendar::timestamp;

/// Findings that are shown.
const MOST_FINDINGS: usize = 100;

/// The answer of `gua db info`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DatabaseInfo {
    pub schema: &'static str,
    /// Null if that cannot be found out.
    pub is_being_recorded: Option<bool>,
    #[serde(flatten)]
    pub store: StoreInfo,
    /// Begin of the first run.
    pub first: Option<Timestamp>,
    /// Time up to which the record is final.
    pub last: Option<Timestamp>,
    pub newest_run: Option<NewestRun>,
    pub cards: Vec<InfoCard>,
}

/// The newest run that was recorded here, else the newest that was imported.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewestRun {
    pub recorder: String,
    pub driver: Option<String>,
    pub interval_seconds: Option<f64>,
    pub started: Option<Timestamp>,
    /// Null while it goes on, or after a crash.
    pub ended: Option<Timestamp>,
    pub ending: Option<String>,
}

/// A card that was ever seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InfoCard {
    pub uuid: Option<String>,
    pub index: u32,
    pub mig_slot: Option<u32>,
    pub name: Option<String>,
    pub memory_bytes: Option<u64>,
}

impl DatabaseInfo {
    #[must_use]
    pub fn new(
        is_being_recorded: Option<bool>,
        store: StoreInfo,
        runs: &[StoredRun],
        cards: impl IntoIterator<Item = StoredCard>,
    ) -> Self {
        let newest = runs.iter().rfind(|run| !run.is_imported).or(runs.last());
        Self {
            schema: "gua.db_info/2",
            is_being_recorded,
            store,
            first: runs.iter().map(|run| run.run.started.0).min().and_then(from_millis),
            // A run of a clock that was ahead may end later than the newest one.
            last: runs
                .iter()
                .filter(|run| run.is_imported)
                .chain(newest)
                .map(|run| run.until.0)
                .max()
                .and_then(from_millis),
            newest_run: newest.map(NewestRun::new),
            cards: cards.into_iter().map(InfoCard::new).collect(),
        }
    }
}

impl NewestRun {
    fn new(stored: &StoredRun) -> Self {
        let run = &stored.run;
        #[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
        let seconds = |millis: i64| millis as f64 / 1000.0;
        Self {
            recorder: run.recorder.clone(),
            driver: run.driver.clone(),
            interval_seconds: run.interval_ms.map(seconds),
            started: timestamp(run.started),
            ended: stored.ending.as_ref().and(timestamp(stored.until)),
            ending: stored.ending.clone(),
        }
    }
}

impl InfoCard {
    fn new(card: StoredCard) -> Self {
        let bytes = |mib: i64| u64::try_from(mib).unwrap_or(0) << 20;
        Self {
            uuid: card.uuid,
            index: card.index,
            mig_slot: card.slot,
            name: card.name,
            memory_bytes: card.memory_mib.map(bytes),
        }
    }
}

/// The answer of `gua db check`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    pub schema: &'static str,
    pub path: String,
    pub schema_version: u32,
    pub ok: bool,
    /// Number of rows by table.
    pub rows: BTreeMap<&'static str, i64>,
    pub finding_count: usize,
    /// The first of them, oldest row first.
    pub findings: Vec<FoundRow>,
}

/// A row that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundRow {
    /// Begin of the row; null if no calendar has it.
    pub from: Option<Timestamp>,
    /// A sentence.
    pub detail: String,
}

impl Checked {
    #[must_use]
    pub fn new(store: StoreInfo, findings: Vec<gua_store::Finding>) -> Self {
        let found = |finding: gua_store::Finding| FoundRow {
            from: from_millis(finding.from_ms),
            detail: finding.detail,
        };
        Self {
            schema: "gua.db_check/2",
            path: store.path,
            schema_version: store.schema_version,
            ok: findings.is_empty(),
            rows: store.rows,
            finding_count: findings.len(),
            findings: findings.into_iter().take(MOST_FINDINGS).map(found).collect(),
        }
    }
}

/// The answer of `gua db prune --dry-run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrunePlan {
    pub schema: &'static str,
    pub path: String,
    /// Rows that would be deleted, by table. `exact` are those that would be summed up.
    pub due: BTreeMap<&'static str, DueRows>,
    pub now: Timestamp,
    /// True if it is more than two days of history: `--yes` is needed.
    pub is_much: bool,
    /// Days from the newest record to now, if the clock may be wrong: `--yes` is needed.
    pub clock_days_ahead: Option<i64>,
}

/// The answer of `gua db prune`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PruneResult {
    pub schema: &'static str,
    pub path: String,
    pub deleted_rows: usize,
    /// `exact` is by how many fewer the rows are that were summed up.
    pub deleted_rows_by_table: BTreeMap<&'static str, usize>,
    pub before_bytes: u64,
    pub after_bytes: u64,
    #[serde(flatten)]
    pub kept: KeptSeconds,
    /// True if names that lost their last row are left to the recorder that is running.
    pub are_names_left: bool,
}

/// How long rows of each kind are kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeptSeconds {
    pub keep_exact_seconds: f64,
    pub keep_quarters_seconds: f64,
    pub keep_hours_seconds: f64,
    pub keep_samples_seconds: f64,
}

impl KeptSeconds {
    #[must_use]
    pub const fn new(
        exact: Duration,
        quarters: Duration,
        hours: Duration,
        samples: Duration,
    ) -> Self {
        Self {
            keep_exact_seconds: exact.as_secs_f64(),
            keep_quarters_seconds: quarters.as_secs_f64(),
            keep_hours_seconds: hours.as_secs_f64(),
            keep_samples_seconds: samples.as_secs_f64(),
        }
    }
}

fn from_millis(millis: i64) -> Option<Timestamp> {
    timestamp(UnixMillis(millis))
}
