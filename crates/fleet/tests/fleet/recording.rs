//! Totals of what the recorder itself records.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{
    Basis, CardFacts, MemorySource, MemoryUse, Sample, Samples, Utilization, Vitals,
};
use gua_core::poll::{CardPoll, HolderProcess};
use gua_core::process::{Holder, Holders, Kinds};
use gua_core::units::{Bytes, Millijoules, Percent, UnixMillis};
use gua_core::{Clocks, Poll, Reading, Reason, Thresholds};
use gua_fleet::counters::Key;
use gua_fleet::{Counter, Format, Frame, Frames, Host, OwnerLabels, Scraper, Slot, Totals};
use gua_recorder::{DriverNow, Log, Recording};
use gua_store::{Database, Retention, Run};

use crate::lab::{HOUR, MINUTE, START, process, seen_process};

/// Time between two polls.
const POLL: i64 = 5000;

/// A recorder of one card that works for a minute, and then for two minutes does not.
struct RecordedHost {
    dir: tempfile::TempDir,
    recording: Option<Recording>,
    slot: Arc<Slot>,
    now: i64,
}

impl RecordedHost {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            recording: None,
            slot: Arc::default(),
            now: START,
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("gua.db")
    }

    fn start(&mut self) {
        let host = Host { name: "lab".into(), ..Host::default() };
        let totals = Totals::new(host, OwnerLabels::default());
        self.slot = totals.slot();
        let run = Run {
            host: "lab".into(),
            boot: "boot-1".into(),
            driver: None,
            recorder: "gua test".into(),
            rule: "5 s".into(),
            thresholds: Thresholds::default(),
            interval_ms: Some(30_000),
            started: UnixMillis(0),
        };
        let log = Log::to_nothing();
        let observers: Vec<Box<dyn gua_recorder::TickObserver>> = vec![Box::new(totals)];
        self.recording =
            Some(Recording::new(self.path(), run, Retention::default(), observers, log));
    }

    /// Polls for a time, with a tick after each `polls`.
    fn record(&mut self, length: i64, polls: i64) {
        let end = self.now + length;
        while self.now < end {
            self.now += POLL;
            let poll = self.poll();
            let recording = self.recording.as_mut().unwrap();
            recording.add_poll(poll, DriverNow::default());
            for id in recording.unread_processes() {
                recording.set_process(id, seen_process(id.pid));
            }
            if self.now / POLL % polls == 0 {
                recording.tick().unwrap();
            }
        }
    }

    fn poll(&self) -> Poll {
        let since_boot = Duration::from_millis(self.now.unsigned_abs());
        let uuid = Reading::Known("GPU-0".to_owned());
        let number = |at: i64| (at * 6).div_euclid(1000);
        let percent = |at: i64| if at % (3 * MINUTE) < MINUTE { 80 } else { 0 };
        let sample = |number: i64| Sample {
            stamp: (number * 1_000_000 / 6).unsigned_abs(),
            percent: percent(number * 1000 / 6),
        };
        let samples = (number(self.now - POLL) + 1..=number(self.now)).map(sample).collect();
        let (used, total) = (Bytes::from_mib(8000), Bytes::from_mib(80_000));
        let cpu = Reading::Known(Percent(0.0));
        let holder = Holder {
            pid: 1,
            kinds: Kinds::COMPUTE,
            memory: Reading::Known(used),
            sm: Reading::Unknown(Reason::NotAsked),
            engines: Reading::Unknown(Reason::NotAsked),
        };
        let reading = Vitals {
            utilization: Reading::Known(Utilization {
                percent: Percent(f64::from(percent(self.now))),
                basis: Basis::Samples { count: 30, covers: Duration::from_secs(5) },
            }),
            samples: Reading::Known(Samples { samples, is_full: false }),
            memory: Reading::Known(MemoryUse {
                total,
                used,
                free: total.saturating_sub(used),
                reserved: Reading::Known(Bytes::default()),
                source: MemorySource::Card,
            }),
            energy: Reading::Known(Millijoules(self.now.unsigned_abs() * 100)),
            holders: Holders { seen: vec![holder], unread: None },
            process_samples: Reading::Known(Vec::new()),
            ..Vitals::unknown(Reason::NotAsked)
        };
        let card = CardPoll {
            card: Arc::new(CardFacts { uuid, ..CardFacts::unread(0, Reason::NotAsked) }),
            reading,
            processes: vec![HolderProcess { id: process(1), started: None, cpu }],
        };
        Poll {
            clocks: Clocks { wall: UnixMillis(self.now), since_boot, awake: since_boot },
            cards: Ok(vec![card]),
            exits: Vec::new(),
        }
    }

    fn value(&self, counter: Counter, label: &str) -> i64 {
        let frame = self.slot.newest(&Scraper("lab".into())).unwrap().frame;
        let card = if counter == Counter::Observed { "" } else { "GPU-0" };
        frame.counters.value(&Key { counter, card: card.into(), label: label.into() })
    }

    fn row(&self, sum: &str, table: &str) -> i64 {
        let db = rusqlite::Connection::open(self.path()).unwrap();
        let select = format!("SELECT ifnull(sum({sum}), 0) FROM {table}");
        db.query_row(&select, [], |row| row.get(0)).unwrap()
    }

    fn assert_sums(&self) {
        for (counter, label, sum, table) in [
            (Counter::StateActive, "", "active_ms", "card_span"),
            (Counter::StateIdleHeld, "", "idle_held_ms", "card_span"),
            (Counter::Energy, "", "active_j + idle_held_j + other_j", "card_span"),
            (Counter::Observed, "", "length_ms", "card_span"),
            (Counter::UserActive, "ann", "active_share_ms", "holder_span"),
            (Counter::UserUnused, "ann", "unused_share_ms", "holder_span"),
            (Counter::PresentActive, "ann", "working_ms", "holder_span"),
            (Counter::UserEnergyActive, "ann", "active_j", "holder_span"),
        ] {
            assert_eq!(self.value(counter, label), self.row(sum, table), "{counter:?}");
        }
    }
}

#[test]
fn totals_follow_the_recorder() {
    let mut host = RecordedHost::new();
    for polls in [6, 1, 5] {
        host.start();
        host.record(HOUR / 2, polls);
        host.assert_sums();
        // It ends as by a crash.
        host.recording = None;
        host.now += 10 * MINUTE;
    }
    let minutes = host.value(Counter::StateActive, "") / MINUTE;
    assert!((29..=31).contains(&minutes), "a third of one and a half hours: {minutes}");
    let database = Database::open(&host.path()).unwrap();
    let stored = Frame::from_database(&database).unwrap().unwrap();
    let newest = host.slot.newest(&Scraper("lab".into())).unwrap().frame;
    let text = |frame: &Frame| gua_fleet::format_text(frame, u64::MAX, Format::Prometheus);
    assert_eq!(text(&stored), text(&Frame { host: stored.host.clone(), ..(*newest).clone() }));
    assert!(text(&stored).contains("gua_user_gpu_memory_bytes{UUID=\"GPU-0\",user=\"ann\"}"));
}

#[test]
fn moved_file_has_its_own_totals() {
    let mut host = RecordedHost::new();
    host.start();
    host.record(HOUR / 2, 6);
    let before = host.value(Counter::Observed, "");
    std::fs::rename(host.path(), host.dir.path().join("moved.db")).unwrap();
    host.record(HOUR / 2, 6);
    host.assert_sums();
    assert!(host.value(Counter::Observed, "") < before + 5 * MINUTE);
}
