//! By which lines what was recorded is judged, and from when to when.

use jiff::Timestamp;
use serde::Serialize;

use super::times::hours;
use crate::calendar::nearest;
use crate::classify::Lines;
use crate::ledger::Period;
use crate::store::{RunRow, Span};

/// What accounts, identities and sessions rest on, where that is not what was asked for. What
/// each process did is judged when it is recorded, and cannot be judged again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AsRecorded {
    /// In the order of time.
    pub lines: Vec<JudgedBy>,
    /// The cards' idle-held time by these lines, which the accounts add up to.
    pub idle_held_gpu_hours: f64,
}

/// Lines, and the time in which they held. Null are lines that cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JudgedBy {
    pub from: Timestamp,
    pub to: Timestamp,
    pub active_percent: Option<f64>,
    /// In MB of 1024² bytes.
    pub held_mb: Option<u64>,
    pub worked_percent: Option<f64>,
}

/// A time that was recorded by certain lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    pub period: Period,
    /// `None` where they cannot be told.
    pub lines: Option<Lines>,
}

/// Which lines held when, from what was observed in order of time.
#[must_use]
pub fn recorded(observed: &[Span<i64>], runs: &[RunRow]) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for span in observed {
        let lines = runs.iter().find(|run| run.id == span.key).and_then(|run| run.lines);
        match all.last_mut() {
            Some(last) if last.lines == lines => {
                last.period = Period::new(last.period.from, span.period.to.max(last.period.to));
            }
            _ => all.push(Recorded { period: span.period, lines }),
        }
    }
    all
}

/// What accounts rest on, where any of it is judged by other lines than these.
pub(super) fn as_recorded(all: &[Recorded], asked: Lines, idle_held: i64) -> Option<AsRecorded> {
    let is_other = all.iter().any(|it| it.lines != Some(asked));
    is_other.then(|| AsRecorded {
        lines: all.iter().map(JudgedBy::from).collect(),
        idle_held_gpu_hours: hours(idle_held),
    })
}

impl From<&Recorded> for JudgedBy {
    fn from(it: &Recorded) -> Self {
        Self {
            from: nearest(it.period.from),
            to: nearest(it.period.to),
            active_percent: it.lines.map(|lines| f64::from(lines.active.0) / 100.0),
            held_mb: it.lines.map(|lines| lines.held.0 >> 10),
            worked_percent: it.lines.map(|lines| f64::from(lines.worked.0) / 100.0),
        }
    }
}
