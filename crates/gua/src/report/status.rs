//! Is a recorder running, and how does it do?

use jiff::Timestamp;
use probe::units::UnixMillis;
use serde::Serialize;

use crate::calendar::timestamp;
use crate::ledger::{Event, HOUR, Kind, Period};
use crate::store::{History, RunRow, StoreError};

/// Ticks that may be missing before a recorder is said to have stopped ticking, and the time
/// that a driver which does not answer may take on top.
const MISSING_TICKS: i64 = 3;
const DRIVER_MILLIS: i64 = 15_000;

/// A recorder and its history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    pub schema: &'static str,
    pub state: Recorder,
    pub pid: Option<u32>,
    /// Null where others may read the answer.
    pub pid_file: Option<String>,
    /// Why nothing is known of the process or of the history, where that is so.
    pub doubt: Option<String>,
    pub since: Option<Timestamp>,
    pub interval_seconds: Option<f64>,
    pub last_tick: Option<Timestamp>,
    pub last_tick_age_seconds: Option<f64>,
    pub cards: Option<u64>,
    /// The observed share of the last hour.
    pub last_hour_coverage: Option<f64>,
    pub database: Option<Database>,
    pub last_trouble: Option<Told>,
    /// The last line of its log, for a recorder that stores nothing.
    pub last_log_line: Option<String>,
    /// Why its log could not be read, where that is so.
    pub log_doubt: Option<String>,
}

impl Status {
    /// For others than who may look at this host: where its files are is not their matter.
    #[must_use]
    pub fn without_paths(self) -> Self {
        let path = self.database.as_ref().and_then(|database| database.path.clone());
        let unnamed = |text: String| match &path {
            Some(path) => text.replace(path, "the database"),
            None => text,
        };
        let doubt = self.doubt.map(unnamed);
        let database = self.database.map(|database| Database { path: None, ..database });
        Self { pid_file: None, doubt, database, ..self }
    }
}

/// What a recorder does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorder {
    Recording,
    /// Its process lives, but it stores no ticks any more.
    Stalled,
    NotRunning,
    /// There is a process, but whether it is a recorder is not known.
    Unsure,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Database {
    /// Null where others may read the answer.
    pub path: Option<String>,
    pub size_bytes: Option<u64>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    pub time: Timestamp,
    pub kind: &'static str,
    pub detail: String,
}

/// What the process list says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    Here(u32),
    None,
    /// One that nothing names has the database's lock.
    Unnamed,
    Unsure(Option<u32>),
}

/// What the history says.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub run: Option<RunRow>,
    pub last_tick: Option<UnixMillis>,
    pub cards: Option<u64>,
    pub last_hour_coverage: f64,
    pub last_trouble: Option<Event>,
}

impl Recorded {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(history: &History, now: UnixMillis) -> Result<Self, StoreError> {
        let hour = Period::new(UnixMillis(now.0 - HOUR), now);
        let observed = history.observed(hour)?;
        let observed = observed.iter().map(|span| span.period.seconds()).fold(0.0, |a, b| a + b);
        Ok(Self {
            run: history.newest_run().cloned(),
            last_tick: history.newest_tick()?,
            cards: history.cards_at_newest_tick()?,
            last_hour_coverage: (observed / hour.seconds()).min(1.0),
            last_trouble: history.newest_event(is_trouble)?,
        })
    }
}

const fn is_trouble(kind: Kind) -> bool {
    matches!(kind, Kind::Gap(_) | Kind::Card)
}

/// Puts both together.
#[must_use]
pub fn status(
    process: Process,
    pid_file: impl Into<Option<String>>,
    database: Option<Database>,
    recorded: Result<Recorded, String>,
    now: UnixMillis,
) -> Status {
    let (recorded, doubt) = match recorded {
        Ok(recorded) => (Some(recorded), None),
        Err(why) => (None, Some(why)),
    };
    let run = recorded.as_ref().and_then(|recorded| recorded.run.clone());
    let last_tick = recorded.as_ref().and_then(|recorded| recorded.last_tick);
    let age = last_tick.map(|at| now.0.saturating_sub(at.0));
    let interval = run.as_ref().and_then(|run| run.interval_millis);
    let is_running = matches!(process, Process::Here(_) | Process::Unnamed);
    Status {
        schema: "gua.status/1",
        state: state(process, age, interval),
        pid: match process {
            Process::Here(pid) => Some(pid),
            Process::Unsure(pid) => pid,
            Process::None | Process::Unnamed => None,
        },
        pid_file: pid_file.into(),
        doubt,
        since: run.as_ref().filter(|_| is_running).and_then(|run| timestamp(run.started)),
        interval_seconds: interval.map(seconds),
        last_tick: last_tick.and_then(timestamp),
        last_tick_age_seconds: age.map(seconds),
        cards: recorded.as_ref().and_then(|recorded| recorded.cards),
        last_hour_coverage: recorded.as_ref().map(|recorded| recorded.last_hour_coverage),
        database,
        last_trouble: recorded.and_then(|recorded| told(recorded.last_trouble?)),
        last_log_line: None,
        log_doubt: None,
    }
}

fn state(process: Process, age: Option<i64>, interval: Option<i64>) -> Recorder {
    let is_late = age.is_some_and(|age| is_late(age, interval));
    match process {
        Process::None => Recorder::NotRunning,
        Process::Here(_) if is_late => Recorder::Stalled,
        // The lock may also be had by somebody who takes out what is too old.
        Process::Unnamed if is_late => Recorder::Unsure,
        Process::Here(_) | Process::Unnamed => Recorder::Recording,
        Process::Unsure(_) => Recorder::Unsure,
    }
}

/// Whether the last tick of a recorder is so long ago that another should have come.
fn is_late(age_millis: i64, interval_millis: Option<i64>) -> bool {
    interval_millis.is_some_and(|interval| age_millis > MISSING_TICKS * interval + DRIVER_MILLIS)
}

/// Whether a record reaches up to a moment: its newest run goes on, and is not late.
#[must_use]
pub fn is_live(run: Option<&RunRow>, until: Option<UnixMillis>, now: UnixMillis) -> bool {
    let age = until.map_or(i64::MAX, |until| now.0.saturating_sub(until.0));
    run.is_some_and(|run| run.ended.is_none() && !is_late(age, run.interval_millis))
}

fn told(event: Event) -> Option<Told> {
    Some(Told { time: timestamp(event.at)?, kind: event.kind.slug(), detail: event.detail })
}

#[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_that_no_longer_ticks_is_noticed() {
        let of = |age| state(Process::Here(7), Some(age), Some(30_000));
        assert_eq!(of(31_000), Recorder::Recording);
        assert_eq!(of(105_000), Recorder::Recording, "a driver may be slow");
        assert_eq!(of(105_001), Recorder::Stalled);
        assert_eq!(state(Process::Here(7), None, None), Recorder::Recording);
        assert_eq!(state(Process::None, Some(0), Some(30_000)), Recorder::NotRunning);
        assert_eq!(state(Process::Unsure(None), Some(0), Some(1)), Recorder::Unsure);
        assert_eq!(state(Process::Unnamed, Some(0), Some(1)), Recorder::Recording);
        assert_eq!(state(Process::Unnamed, Some(105_001), Some(30_000)), Recorder::Unsure);
    }
}
