//! A recorder of made-up spans.

use std::path::PathBuf;
use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::process::ProcessId;
use gua_core::span::{HolderId, HolderTime, Integral, Work};
use gua_core::units::{Bytes, UnixMillis};
use gua_core::{Period, Reading, Reason, Span, State, Thresholds};
use gua_store::{Database, Run, Tick, Writer};
use tempfile::TempDir;

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;
/// A full day.
pub const START: i64 = 20_000 * DAY;

pub struct Lab {
    dir: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        let lab = Self { dir: tempfile::tempdir().unwrap() };
        Database::create(&lab.path()).unwrap();
        lab
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("gua.db")
    }

    pub fn begin(&self, started: i64) -> Writer {
        Writer::begin(Database::open_to_write(&self.path()).unwrap(), run(started)).unwrap()
    }

    pub fn read(&self) -> Database {
        Database::open(&self.path()).unwrap()
    }

    /// Runs statements as another program.
    pub fn execute(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    pub fn number(&self, sql: &str) -> i64 {
        let db = rusqlite::Connection::open(self.path()).unwrap();
        db.query_row(sql, [], |row| row.get::<_, Option<i64>>(0)).unwrap().unwrap_or(-1)
    }

    pub fn assert_sound(&self) {
        assert_eq!(self.read().check().unwrap(), []);
    }
}

pub fn run(started: i64) -> Run {
    Run {
        host: "lab".into(),
        boot: "boot-1".into(),
        driver: Some("550.54".into()),
        recorder: "gua 0.1".into(),
        rule: "5 s".into(),
        thresholds: Thresholds::default(),
        interval_ms: Some(30_000),
        started: UnixMillis(started),
    }
}

pub fn card(index: u32) -> Arc<CardFacts> {
    let mut card = CardFacts::unread(index, Reason::NotAsked);
    card.uuid = Reading::Known(format!("GPU-{index}"));
    Arc::new(card)
}

pub fn period(from: i64, to: i64) -> Period {
    Period::new(UnixMillis(from), UnixMillis(to))
}

pub fn process(pid: u32) -> ProcessId {
    ProcessId { pid, start_ticks: Some(u64::from(pid)), uid: Some(1000) }
}

/// A span in which two processes share the card: the first has a third of it and works if the card is
/// active.
pub fn span(card: &Arc<CardFacts>, from: i64, to: i64, state: State) -> Span {
    let length = to - from;
    let seconds = length as f64 / 1000.0;
    let integral = |mean: f64| Integral { sum: mean * seconds, known_ms: length };
    let holder = |pid, work, share_ms: i64| HolderTime {
        holder: HolderId::Process(process(pid)),
        work,
        share_ms,
        memory: integral(8000.0),
        peak: Some(Bytes::from_mib(8000 + u64::from(pid))),
        energy: 100.0 * share_ms as f64 / 1000.0,
    };
    let first = if state == State::Active { Work::Working } else { Work::Idle };
    let holders = match state {
        State::TrulyIdle => vec![],
        _ => vec![holder(1, first, length / 3), holder(2, Work::Idle, length - length / 3)],
    };
    Span {
        card: Arc::clone(card),
        period: period(from, to),
        state,
        holders,
        busy: integral(50.0),
        memory: integral(16_000.0),
        energy: integral(100.0),
        energy_estimated_ms: 0,
    }
}

/// Spans from a time on, cut at quarter hours. States are numbered.
pub fn spans(card: &Arc<CardFacts>, from: i64, stretches: &[(i64, usize)]) -> Vec<Span> {
    const STATES: [State; 4] =
        [State::Active, State::IdleHeld, State::TrulyIdle, State::Unknown(Reason::Lost)];
    let (mut spans, mut at) = (Vec::new(), from);
    for (length, state) in stretches {
        let end = at + length;
        while at < end {
            let to = end.min((at / (15 * MINUTE) + 1) * 15 * MINUTE);
            spans.push(span(card, at, to, STATES[*state]));
            at = to;
        }
    }
    spans
}

/// Stores spans, which are in order of time, with ticks at an interval: each has those that ended since
/// the last one, and what there is so far of those that go on.
pub fn record(writer: &mut Writer, spans: &[Span], interval: i64) {
    let Some(begin) = spans.iter().map(|span| span.period.from.0).min() else { return };
    let end = spans.iter().map(|span| span.period.to.0).max().unwrap();
    let mut last = begin;
    while last < end {
        let now = (last + interval).min(end);
        let closed: Vec<_> = spans
            .iter()
            .filter(|span| span.period.to.0 > last && span.period.to.0 <= now)
            .cloned()
            .collect();
        let open: Vec<_> = spans
            .iter()
            .filter(|span| span.period.from.0 < now && span.period.to.0 > now)
            .map(|it| span(&it.card, it.period.from.0, now, it.state))
            .collect();
        let at = UnixMillis(now);
        let tick =
            Tick { closed: &closed, open: &open, recorded_ms: now - last, ..Tick::new(at, at) };
        writer.tick(&tick).unwrap();
        last = now;
    }
}
