//! A recording of one card, in a temporary folder, and its database.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{
    Basis, CardFacts, MemorySource, MemoryUse, Sample, Samples, Utilization, Vitals,
};
use gua_core::poll::{CardPoll, HolderProcess};
use gua_core::process::{Holder, Holders, Kinds, ProcessId};
use gua_core::units::{Bytes, Celsius, Millijoules, Percent, UnixMillis};
use gua_core::{Clocks, Period, Poll, Reading, Reason, Thresholds};
use gua_recorder::{DriverNow, Log, Recording, TickObserver};
use gua_store::{Database, Retention, Run, StoreError};
use probe::nvml::DriverFacts;
use rusqlite::Connection;
use tempfile::TempDir;

pub const SECOND: i64 = 1000;
pub const MINUTE: i64 = 60 * SECOND;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;

/// Unix time and time since boot at the begin of a test, which is a full hour.
pub const WALL: i64 = 1_794_182_400_000;
const BOOT: i64 = 5_000_000_000;

/// Time between two polls.
pub const POLL: i64 = 5 * SECOND;
/// Polls from one tick to the next.
pub const POLLS_PER_TICK: i64 = 6;

/// A host with one card, and a recorder of it.
pub struct Lab {
    pub dir: TempDir,
    pub recording: Option<Recording>,
    /// Time since the begin of the test.
    pub now: i64,
    /// Time by which the wall clock is ahead.
    pub step: i64,
    /// Time for which the machine was suspended.
    pub slept: i64,
    pub polls: i64,
    pub percent: u32,
    pub holders: Vec<ProcessId>,
    /// Why the driver or the card cannot be read.
    pub away: Option<Reason>,
    pub lost: Option<Reason>,
    pub driver: DriverFacts,
    pub boot: String,
    pub retention: Retention,
}

impl Lab {
    /// Returns a host whose recorder has not started.
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            recording: None,
            now: 0,
            step: 0,
            slept: 0,
            polls: 0,
            percent: 0,
            holders: vec![process(1)],
            away: None,
            lost: None,
            driver: DriverFacts {
                version: Reading::Known("550.54".into()),
                nvml_version: Reading::Known("12.550".into()),
                cuda_version: Reading::Known((12, 4)),
                gpus: 1,
            },
            boot: "boot-1".into(),
            retention: Retention::default(),
        }
    }

    pub fn started() -> Self {
        let mut lab = Self::new();
        lab.start(vec![]);
        lab
    }

    pub fn start(&mut self, observers: Vec<Box<dyn TickObserver>>) {
        let log = Log::to_file(&self.dir.path().join("gua.log")).unwrap();
        let run = Run {
            host: "lab".into(),
            boot: self.boot.clone(),
            driver: None,
            recorder: "gua test".into(),
            rule: "5 s".into(),
            thresholds: Thresholds::default(),
            interval_ms: Some(POLLS_PER_TICK * POLL),
            started: UnixMillis(0),
        };
        let recording = Recording::new(self.path(), run, self.retention, observers, log);
        self.recording = Some(recording);
        self.polls = 0;
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("data/gua.db")
    }

    pub fn recording(&mut self) -> &mut Recording {
        self.recording.as_mut().unwrap()
    }

    pub fn clocks(&self) -> Clocks {
        let since = |millis: i64| Duration::from_millis(millis.unsigned_abs());
        Clocks {
            wall: UnixMillis(WALL + self.now + self.step),
            since_boot: since(BOOT + self.now),
            awake: since(BOOT + self.now - self.slept),
        }
    }

    /// Polls now.
    pub fn poll(&mut self) {
        let cards = match self.away {
            Some(reason) => Err(reason),
            None => Ok(vec![self.card()]),
        };
        let poll = Poll { clocks: self.clocks(), cards, exits: Vec::new() };
        let driver = self.driver.clone();
        let facts = self.away.is_none().then_some(&driver);
        self.polls += 1;
        let driver = DriverNow { facts, calls: 100 + 5 * self.polls.unsigned_abs() };
        self.recording().add_poll(poll, driver);
    }

    /// Polls now, and stores a tick with each sixth poll. Then time passes.
    pub fn poll_and_tick(&mut self) -> Result<(), StoreError> {
        let is_tick = self.polls % POLLS_PER_TICK == 0;
        self.poll();
        self.now += POLL;
        if is_tick { self.recording().tick() } else { Ok(()) }
    }

    /// Records for a time; each tick must be stored.
    pub fn record(&mut self, length: i64) {
        let end = self.now + length;
        while self.now < end {
            self.poll_and_tick().unwrap();
        }
    }

    /// Records for a time in which nothing can be stored.
    pub fn record_in_vain(&mut self, length: i64) -> Vec<StoreError> {
        let end = self.now + length;
        let mut errors = Vec::new();
        while self.now < end {
            errors.extend(self.poll_and_tick().err());
        }
        errors
    }

    /// Stops the recorder in order, with a last poll.
    pub fn stop(&mut self) {
        self.poll();
        self.recording.take().unwrap().end("stopped").unwrap();
    }

    /// Ends the recorder as a crash does.
    pub fn crash(&mut self) {
        self.recording = None;
    }

    fn card(&self) -> CardPoll {
        let uuid = Reading::Known("GPU-1".to_owned());
        let card = Arc::new(CardFacts { uuid, ..CardFacts::unread(0, Reason::NotAsked) });
        if let Some(reason) = self.lost {
            let reading = Vitals::unknown(reason);
            return CardPoll { card, reading, processes: Vec::new() };
        }
        let used = Bytes::from_mib(8000 * self.holders.len() as u64);
        let percent = Percent(f64::from(self.percent));
        let covers = Duration::from_secs(5);
        let reading = Vitals {
            utilization: Reading::Known(Utilization {
                percent,
                basis: Basis::Samples { count: 30, covers },
            }),
            samples: Reading::Known(self.samples()),
            memory: Reading::Known(MemoryUse {
                total: Bytes::from_mib(80_000),
                used,
                free: Bytes::from_mib(80_000).saturating_sub(used),
                reserved: Reading::Known(Bytes::from_mib(600)),
                source: MemorySource::Card,
            }),
            energy: Reading::Known(Millijoules(self.now.unsigned_abs() * 100)),
            temperature: Reading::Known(Celsius(40)),
            holders: Holders { seen: self.holders.iter().map(holder).collect(), unread: None },
            process_samples: Reading::Known(Vec::new()),
            ..Vitals::unknown(Reason::NotAsked)
        };
        let process = |id: &ProcessId| HolderProcess {
            id: *id,
            started: None,
            cpu: Reading::Known(Percent(0.0)),
        };
        CardPoll { card, reading, processes: self.holders.iter().map(process).collect() }
    }

    /// Returns the samples since the poll before, of a sixth of a second.
    fn samples(&self) -> Samples {
        let number = |at: i64| (at * 6).div_euclid(1000);
        let sample = |number: i64| Sample {
            stamp: (BOOT + number * 1000 / 6).unsigned_abs() * 1000,
            percent: self.percent,
        };
        let numbers = number(self.now - POLL) + 1..=number(self.now);
        Samples { samples: numbers.map(sample).collect(), is_full: false }
    }

    pub fn read(&self) -> Database {
        Database::open(&self.path()).unwrap()
    }

    /// Opens the database as another program.
    pub fn other_program(&self) -> Connection {
        let connection = Connection::open(self.path()).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection
    }

    pub fn number(&self, sql: &str) -> i64 {
        let number = |row: &rusqlite::Row<'_>| row.get::<_, Option<i64>>(0);
        self.other_program().query_row(sql, [], number).unwrap().unwrap_or(-1)
    }

    pub fn texts(&self, sql: &str) -> Vec<String> {
        let connection = self.other_program();
        let mut query = connection.prepare(sql).unwrap();
        let rows = query.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// Returns the details of all events of a kind.
    pub fn events(&self, kind: &str) -> Vec<String> {
        self.texts(&format!("SELECT detail FROM event WHERE kind = '{kind}' ORDER BY id"))
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("gua.log")).unwrap()
    }

    /// Returns observed and unobserved time, with the reasons, in seconds since the begin of the test.
    pub fn gaps(&self) -> Vec<(i64, i64, String)> {
        let sums = self.read().usage(Period::new(UnixMillis(0), UnixMillis(i64::MAX))).unwrap();
        let second = |at: UnixMillis| (at.0 - WALL).div_euclid(SECOND);
        let gap = |gap: &gua_store::usage::WindowGap| {
            let reason = gap.reason.map_or("none".to_owned(), |reason| format!("{reason:?}"));
            (second(gap.period.from), second(gap.period.to), reason)
        };
        sums.gaps.iter().skip(1).map(gap).collect()
    }

    /// Returns the classified time of the card, in seconds: active, idle-held, unknown.
    pub fn card_seconds(&self) -> [i64; 3] {
        ["active_ms", "idle_held_ms", "unknown_ms"]
            .map(|column| self.number(&format!("SELECT ifnull(sum({column}), 0) FROM card_span")))
            .map(|millis| millis / SECOND)
    }

    pub fn assert_sound(&self) {
        assert_eq!(self.read().check().unwrap(), []);
    }
}

pub fn process(pid: u32) -> ProcessId {
    ProcessId { pid, start_ticks: Some(u64::from(pid)), uid: Some(1000) }
}

fn holder(id: &ProcessId) -> Holder {
    Holder {
        pid: id.pid,
        kinds: Kinds::COMPUTE,
        memory: Reading::Known(Bytes::from_mib(8000)),
        sm: Reading::Unknown(Reason::NotAsked),
        engines: Reading::Unknown(Reason::NotAsked),
    }
}
