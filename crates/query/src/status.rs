//! Whether a recorder runs, and how it does.

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_store::{Database, Event, StoreError, StoredRun};
use jiff::Timestamp;
use serde::Serialize;

use crate::snapshot::newest_run;

/// Ticks that may be missing before a recorder counts as stalled, and the time that a driver which does
/// not answer may take on top.
const MISSING_TICKS: i64 = 3;
const DRIVER_MS: i64 = 15_000;

/// Interval of a run that does not say it.
const DEFAULT_INTERVAL_MS: i64 = 30_000;

/// Kinds of events that are no trouble.
const PLAIN_EVENTS: [&str; 2] = ["driver", "import"];

/// A recorder and its record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    pub schema: &'static str,
    pub state: RecorderState,
    pub pid: Option<u32>,
    /// Null where others may read the answer.
    pub pid_file: Option<String>,
    /// Why nothing is known of the process or of the record.
    pub doubt: Option<String>,
    /// Begin of the run, while it goes on.
    pub since: Option<Timestamp>,
    #[serde(flatten)]
    pub record: RecordStatus,
    pub last_tick_age_seconds: Option<f64>,
    pub database: Option<DatabaseStatus>,
    /// Last line of the log, for a recorder that stores nothing.
    pub last_log_line: Option<String>,
    /// Why the log could not be read.
    pub log_doubt: Option<String>,
}

/// State of a recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecorderState {
    Recording,
    /// Its process lives, but stores no ticks any more.
    Stalled,
    NotRunning,
    /// There is a process, and it is not known whether it is a recorder.
    Unsure,
}

/// What the record says of its newest run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RecordStatus {
    #[serde(skip)]
    started: Option<Timestamp>,
    pub host: Option<String>,
    pub driver_version: Option<String>,
    /// Program and version.
    pub recorder: Option<String>,
    pub interval_seconds: Option<f64>,
    pub last_tick: Option<Timestamp>,
    /// Time up to which the record is final.
    pub final_until: Option<Timestamp>,
    /// Polls and calls of the driver since the run began.
    pub polls: Option<i64>,
    pub driver_calls: Option<i64>,
    pub cards: Option<u64>,
    /// Observed part of the time since the run began.
    pub coverage: Option<f64>,
    /// Observed part of the last hour.
    pub last_hour_coverage: Option<f64>,
    /// Why the run ended; null while it goes on, and after a crash.
    pub ending: Option<String>,
    pub last_trouble: Option<RecorderTrouble>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecorderTrouble {
    pub time: Timestamp,
    pub kind: String,
    pub detail: String,
}

/// A database file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatabaseStatus {
    /// Null where others may read the answer.
    pub path: Option<String>,
    pub size_bytes: Option<u64>,
}

/// What the process list says of a recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecorderProcess {
    Here(u32),
    None,
    /// The database is locked, and no pid file says by whom.
    Unnamed,
    Unsure(Option<u32>),
}

/// Returns the status of a recorder, from its process and what its record says.
#[must_use]
pub fn status(
    process: RecorderProcess,
    pid_file: Option<String>,
    database: Option<DatabaseStatus>,
    record: Result<RecordStatus, String>,
    now: UnixMillis,
) -> Status {
    let (record, doubt) = match record {
        Ok(record) => (record, None),
        Err(why) => (RecordStatus::default(), Some(why)),
    };
    let age = record.last_tick.map(|at| Timestamp::from(now).duration_since(at).as_secs_f64());
    let is_running = matches!(process, RecorderProcess::Here(_) | RecorderProcess::Unnamed);
    let is_late = age
        .zip(record.interval_seconds)
        .is_some_and(|(age, interval)| age * 1000.0 > latest_tick_age(interval * 1000.0));
    Status {
        schema: "gua.status/2",
        state: state(process, is_late),
        pid: match process {
            RecorderProcess::Here(pid) => Some(pid),
            RecorderProcess::Unsure(pid) => pid,
            RecorderProcess::None | RecorderProcess::Unnamed => None,
        },
        pid_file,
        doubt,
        since: record.started.filter(|_| is_running),
        record,
        last_tick_age_seconds: age,
        database,
        last_log_line: None,
        log_doubt: None,
    }
}

impl Status {
    /// Returns the status for others than those who may look at the files of this host.
    #[must_use]
    pub fn without_paths(self) -> Self {
        let path = self.database.as_ref().and_then(|database| database.path.clone());
        let without_path = |text: String| match &path {
            Some(path) => text.replace(path, "the database"),
            None => text,
        };
        let doubt = self.doubt.map(without_path);
        let database = self.database.map(|database| DatabaseStatus { path: None, ..database });
        Self { pid_file: None, doubt, database, ..self }
    }
}

impl RecordStatus {
    /// Reads what a record says of its newest run.
    pub fn read(store: &Database, now: UnixMillis) -> Result<Self, StoreError> {
        let Some(run) = newest_run(store)? else { return Ok(Self::default()) };
        // What lies after the final time is not missing while the recorder goes on.
        let end = if is_recording(&run, now) { run.until } else { now };
        let hour = Period::new(UnixMillis(now.0.saturating_sub(HOUR)), end);
        let StoredRun { run: about, until, last_tick, polls, calls, .. } = &run;
        Ok(Self {
            started: Some(about.started.into()),
            host: Some(about.host.clone()),
            driver_version: about.driver.clone(),
            recorder: Some(about.recorder.clone()),
            interval_seconds: about.interval_ms.map(seconds),
            last_tick: Some((*last_tick).into()),
            final_until: Some((*until).into()),
            polls: Some(*polls),
            driver_calls: Some(*calls),
            cards: store.last_seen()?.map(|seen| seen.cards.len() as u64),
            coverage: coverage(store, run.period())?,
            last_hour_coverage: coverage(store, hour)?,
            last_trouble: last_trouble(store, now)?,
            ending: run.ending,
        })
    }
}

/// Returns the observed part of a time; `None` of no time.
fn coverage(store: &Database, window: Period) -> Result<Option<f64>, StoreError> {
    if window.is_empty() {
        return Ok(None);
    }
    let missing: f64 = store.gaps(window)?.iter().map(|gap| gap.period.seconds()).sum();
    Ok(Some(1.0 - missing / window.seconds()))
}

fn last_trouble(store: &Database, now: UnixMillis) -> Result<Option<RecorderTrouble>, StoreError> {
    let events = store.events(Period::new(UnixMillis(0), UnixMillis(now.0.saturating_add(1))))?;
    let is_trouble = |event: &Event| !PLAIN_EVENTS.contains(&event.kind.as_str());
    let newest = events.into_iter().rfind(is_trouble);
    Ok(newest.map(|Event { at, kind, detail, .. }| RecorderTrouble {
        time: at.into(),
        kind,
        detail,
    }))
}

fn state(process: RecorderProcess, is_late: bool) -> RecorderState {
    match process {
        RecorderProcess::None => RecorderState::NotRunning,
        RecorderProcess::Here(_) if is_late => RecorderState::Stalled,
        // Somebody who prunes may have the lock, too.
        RecorderProcess::Unnamed if is_late => RecorderState::Unsure,
        RecorderProcess::Here(_) | RecorderProcess::Unnamed => RecorderState::Recording,
        RecorderProcess::Unsure(_) => RecorderState::Unsure,
    }
}

/// Returns true if a run goes on at a time, and its last tick is not too long ago.
pub(crate) fn is_recording(run: &StoredRun, now: UnixMillis) -> bool {
    let age = now.0.saturating_sub(run.last_tick.0);
    let interval = run.run.interval_ms.unwrap_or(DEFAULT_INTERVAL_MS);
    !run.is_imported && run.ending.is_none() && age as f64 <= latest_tick_age(interval as f64)
}

/// Returns the age in milliseconds up to which the last tick of a recorder is not late.
fn latest_tick_age(interval_ms: f64) -> f64 {
    MISSING_TICKS as f64 * interval_ms + DRIVER_MS as f64
}

fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::fixtures::{
        HOUR as HOUR_MS, LAST_TICK, MINUTE, NOW, Record, SECOND, UNTIL, card,
    };
    use gua_core::Reason;
    use gua_core::span::{Gap, GapReason};
    use gua_store::Tick;

    fn read(record: &Record, now: UnixMillis) -> RecordStatus {
        RecordStatus::read(&record.open(), now).unwrap()
    }

    fn status_of(process: RecorderProcess, record: RecordStatus, now: UnixMillis) -> Status {
        let path = Some("/x/gua.db".to_owned());
        let database = Some(DatabaseStatus { path, size_bytes: Some(1) });
        status(process, Some("/run/gua.pid".to_owned()), database, Ok(record), now)
    }

    #[test]
    fn recorder_that_no_longer_ticks_is_noticed() {
        let mut record = Record::begin();
        record.tick(&[], &[]);
        let state = |process, age_ms: i64| {
            let now = UnixMillis(LAST_TICK.0 + age_ms);
            status_of(process, read(&record, now), now).state
        };
        let here = RecorderProcess::Here(7);
        assert_eq!(state(here, 31 * SECOND), RecorderState::Recording);
        assert_eq!(state(here, 105 * SECOND), RecorderState::Recording, "a driver may be slow");
        assert_eq!(state(here, 105 * SECOND + 1), RecorderState::Stalled);
        assert_eq!(state(RecorderProcess::None, 0), RecorderState::NotRunning);
        assert_eq!(state(RecorderProcess::Unsure(None), 0), RecorderState::Unsure);
        assert_eq!(state(RecorderProcess::Unnamed, 0), RecorderState::Recording);
        assert_eq!(state(RecorderProcess::Unnamed, 105 * SECOND + 1), RecorderState::Unsure);
        let empty = status_of(here, RecordStatus::default(), NOW);
        assert_eq!(empty.state, RecorderState::Recording);
    }

    #[test]
    fn record_says_how_the_recorder_does() {
        let mut record = Record::begin();
        let from = UnixMillis(NOW.0 - 15 * MINUTE);
        let period = Period::new(from, UnixMillis(from.0 + 6 * MINUTE));
        let gap = Gap { period, reason: GapReason::Driver(Reason::DriverGone) };
        let event = |kind: &str, age: i64| Event {
            at: UnixMillis(NOW.0 - age),
            until: None,
            kind: kind.to_owned(),
            detail: format!("{kind} happened."),
        };
        let events =
            [event("card", HOUR_MS), event("driver-away", MINUTE), event("driver", SECOND)];
        let tick = Tick {
            gaps: &[gap],
            events: &events,
            polls: 12,
            calls: 96,
            ..Tick::new(UnixMillis(LAST_TICK.0 - 1), UNTIL)
        };
        record.writer.tick(&tick).unwrap();
        record.writer.tick(&Tick { polls: 13, calls: 99, ..Tick::new(LAST_TICK, UNTIL) }).unwrap();
        record.tick(&[], &[card(0, 0.0, &[])]);
        let found = read(&record, NOW);
        assert_eq!(
            (found.final_until, found.last_tick),
            (Some(UNTIL.into()), Some(LAST_TICK.into()))
        );
        assert_eq!((found.cards, found.interval_seconds), (Some(1), Some(30.0)));
        assert_eq!(found.host.as_deref(), Some("four"));
        assert_eq!(found.last_trouble.as_ref().map(|it| &*it.kind), Some("driver-away"));
        let hour = found.last_hour_coverage.unwrap();
        let expected = 1.0 - 360.0 / (3600.0 - 25.0);
        assert!((hour - expected).abs() < 1e-9, "{hour} is not {expected}");
        let run = found.coverage.unwrap();
        assert!((run - (1.0 - 360.0 / (40.0 * 3600.0 - 25.0))).abs() < 1e-9, "{run}");
        let later = read(&record, UnixMillis(NOW.0 + 30 * MINUTE));
        assert!(later.last_hour_coverage.unwrap() < 0.5, "nobody records any more");
    }

    #[test]
    fn others_see_no_paths() {
        let why = Err("/x/gua.db is damaged".to_owned());
        let database = DatabaseStatus { path: Some("/x/gua.db".to_owned()), size_bytes: None };
        let process = RecorderProcess::Here(7);
        let whole = status(process, Some("/run/gua.pid".to_owned()), Some(database), why, NOW);
        assert_eq!(whole.pid, Some(7));
        let public = serde_json::to_string(&whole.without_paths()).unwrap();
        assert!(!public.contains("/x") && !public.contains("/run"), "{public}");
        assert!(public.contains("the database is damaged"), "{public}");
        assert!(public.contains("\"schema\":\"gua.status/2\""), "{public}");
    }
}
