//! What is in a database, whether it is as it must be, and what was taken out of it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use probe::units::UnixMillis;
use serde::Serialize;

use crate::calendar::timestamp;
use crate::store::{self, Check, Counts, Inventory, SpanId};

/// The answer of `gua db info`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Info {
    pub schema: &'static str,
    pub path: String,
    pub layout: u32,
    pub file_bytes: u64,
    /// What is not yet in the file itself.
    pub log_bytes: u64,
    /// Of the file, to be used again.
    pub free_bytes: u64,
    /// Null where it cannot be told.
    pub is_being_recorded: Option<bool>,
    pub hosts: Vec<String>,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    pub run_count: usize,
    pub newest_run: Option<Run>,
    pub cards: Vec<Card>,
    pub identities: Vec<Identity>,
    pub samples_kept_from: Option<Timestamp>,
    pub spans_kept_from: Option<Timestamp>,
    pub rows: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    pub recorder: String,
    pub driver: Option<String>,
    pub interval_seconds: Option<f64>,
    pub started: Option<Timestamp>,
    /// Null while it goes on, or where it was killed.
    pub ended: Option<Timestamp>,
    pub ending: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Card {
    pub uuid: Option<String>,
    pub index: u32,
    pub mig_slot: Option<u32>,
    pub name: Option<String>,
    pub memory_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    pub user: Option<String>,
    pub uid: Option<u32>,
}

/// What the file system and the lock tell of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    pub path: String,
    pub file_bytes: u64,
    pub log_bytes: u64,
    pub is_being_recorded: Option<bool>,
}

/// Puts together what is told of a database.
#[must_use]
pub fn info(outside: Outside, inside: Inventory) -> Info {
    let newest = inside.runs.last().map(run);
    let card = |card: store::CardRow| Card {
        uuid: card.uuid,
        index: card.number,
        mig_slot: card.slot,
        name: card.name,
        memory_bytes: card.memory_bytes,
    };
    Info {
        schema: "gua.db_info/1",
        path: outside.path,
        layout: inside.schema_version,
        file_bytes: outside.file_bytes,
        log_bytes: outside.log_bytes,
        free_bytes: inside.free_pages.saturating_mul(inside.page_bytes),
        is_being_recorded: outside.is_being_recorded,
        hosts: inside.hosts,
        first: inside.extent.and_then(|extent| timestamp(extent.from)),
        last: inside.extent.and_then(|extent| timestamp(extent.to)),
        run_count: inside.runs.len(),
        newest_run: newest,
        cards: inside.cards.into_iter().map(card).collect(),
        identities: inside
            .identities
            .into_iter()
            .map(|identity| Identity {
                user: identity.user.map(|user| user.to_string()),
                uid: identity.uid,
            })
            .collect(),
        samples_kept_from: inside.samples_from.and_then(timestamp),
        spans_kept_from: inside.spans_from.and_then(timestamp),
        rows: inside.rows.into_iter().collect(),
    }
}

fn run(run: &store::RunRow) -> Run {
    #[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
    let interval_seconds = run.interval_millis.map(|millis| millis as f64 / 1000.0);
    Run {
        recorder: run.recorder.clone(),
        driver: run.driver.clone(),
        interval_seconds,
        started: timestamp(run.started),
        ended: run.ended.and_then(timestamp),
        ending: run.ending.map(store::Ending::slug),
    }
}

/// The answer of `gua db check`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    pub schema: &'static str,
    pub path: String,
    pub layout: u32,
    pub ok: bool,
    pub run_count: u64,
    pub span_count: u64,
    pub tick_count: u64,
    pub sample_count: u64,
    pub finding_count: u64,
    /// The first of them.
    pub findings: Vec<Finding>,
}

/// One thing that is not as it must be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// A stable word.
    pub kind: &'static str,
    /// In words.
    pub detail: String,
}

/// Puts the outcome of a check into words.
#[must_use]
pub fn checked(path: String, check: &Check) -> Checked {
    Checked {
        schema: "gua.db_check/1",
        path,
        layout: check.layout,
        ok: check.is_ok(),
        run_count: check.runs,
        span_count: check.spans,
        tick_count: check.ticks,
        sample_count: check.samples,
        finding_count: check.finding_count,
        findings: check.findings.iter().map(finding).collect(),
    }
}

fn finding(found: &store::Finding) -> Finding {
    use store::Finding as Found;
    let (kind, detail) = match found {
        Found::Structure(words) => ("structure", words.replace('\n', " ")),
        Found::Reference { table, parent } => {
            ("reference", format!("a row of {table} names one of {parent} that is not there"))
        }
        Found::Length { span, millis } => (
            "length",
            format!(
                "{} is {millis} ms long: it must be more than 0 and end within its hour",
                of(span)
            ),
        ),
        Found::Open(span) => {
            ("open", format!("{} is open, but its run is not the last or has ended", of(span)))
        }
        Found::Overlap { span, other_from } => {
            ("overlap", format!("{} overlaps the one from {}", of(span), moment(*other_from)))
        }
        Found::OverlapOfRuns { span, other_run } => {
            ("overlap_of_runs", format!("{} overlaps one of run {other_run}", of(span)))
        }
        Found::Uncovered(span) => {
            ("uncovered", format!("{} lies outside of what it is a part of", of(span)))
        }
        Found::ObservedSum { run, ticks_millis, spans_millis } => (
            "observed_sum",
            format!("run {run} observed {spans_millis} ms, but its ticks cover {ticks_millis} ms"),
        ),
        Found::StateSum { run, card, code, samples_millis, spans_millis } => (
            "state_sum",
            format!(
                "card {card} was in state {code} for {spans_millis} ms of run {run}, but its samples count {samples_millis} ms"
            ),
        ),
        Found::TickOrder { run, tick } => {
            ("tick_order", format!("tick {tick} of run {run} is not later than the one before"))
        }
        Found::TickCovers { tick, millis } => {
            ("tick_covers", format!("tick {tick} covers {millis} ms"))
        }
        Found::UnknownState { table, code } => {
            ("unknown_state", format!("{} has the state {code}, which nobody knows", table.name()))
        }
    };
    Finding { kind, detail }
}

fn of(span: &SpanId) -> String {
    let whose = if span.id == 0 { String::new() } else { format!(" {}", span.id) };
    format!("{}{whose} of run {} from {}", span.table.name(), span.run, moment(span.from))
}

fn moment(at: UnixMillis) -> String {
    timestamp(at).map_or_else(|| at.0.to_string(), |at| format!("{at:.3}"))
}

/// The answer of `gua db prune`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pruned {
    pub schema: &'static str,
    pub path: String,
    pub deleted_rows: usize,
    pub deleted_rows_by_table: Counts,
    pub before_bytes: u64,
    pub after_bytes: u64,
    pub keep_samples_seconds: f64,
    pub keep_spans_seconds: f64,
    /// Names that nothing refers to any more are left to a recorder that is running.
    pub names_left: bool,
    /// Where it is as it was before it got our layout; null where it had it.
    pub older_kept: Option<String>,
}
