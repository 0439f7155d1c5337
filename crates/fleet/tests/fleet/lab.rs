//! A recorder of made-up spans with an observer.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use gua_core::card::{Basis, CardFacts, InstanceFacts, Utilization, Vitals};
use gua_core::classifier::{CardActivity, HolderActivity};
use gua_core::poll::{CardPoll, Poll};
use gua_core::process::{Holder, Holders, Kinds, Presence, ProcessFacts, ProcessId};
use gua_core::snapshot::{CardNow, HostNow, SeenProcess};
use gua_core::span::{HolderId, HolderTime, Integral, Work};
use gua_core::units::{Bytes, Milliwatts, Percent, UnixMillis};
use gua_core::{Clocks, Period, Reading, Reason, Slices, Span, State, Thresholds};
use gua_fleet::counters::Key;
use gua_fleet::{Counter, Counters, Frames, Host, OwnerLabels, Scraper, Totals};
use gua_recorder::{Log, RecordedTick, TickObserver};
use gua_store::{Database, Latest, Person, Problem, ProcessEntry, Run, Tick, Writer};
use tempfile::TempDir;

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;
/// A full day.
pub const START: i64 = 20_000 * DAY;

/// A database that is recorded.
pub struct Lab {
    dir: TempDir,
    pub writer: Option<Writer>,
    pub totals: Option<Totals>,
    pub processes: HashMap<ProcessId, ProcessEntry>,
    pub labels: OwnerLabels,
}

impl Lab {
    pub fn new() -> Self {
        let lab = Self {
            dir: tempfile::tempdir().unwrap(),
            writer: None,
            totals: None,
            processes: ["ann", "ben", "eve"]
                .iter()
                .zip(1..)
                .map(|(user, pid)| entry(pid, user))
                .collect(),
            labels: OwnerLabels::default(),
        };
        Database::create(&lab.path()).unwrap();
        lab
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("gua.db")
    }

    /// Begins a run. An earlier one ends as by a crash.
    pub fn begin(&mut self, started: i64) {
        self.totals = None;
        self.writer = None;
        let database = Database::open_to_write(&self.path()).unwrap();
        let host = Host { name: "lab".into(), driver_version: None, interval_ms: Some(30_000) };
        let mut totals = Totals::new(host, self.labels);
        totals.opened(&database).unwrap();
        self.totals = Some(totals);
        self.writer = Some(Writer::begin(database, run(started)).unwrap());
    }

    pub fn read(&self) -> Database {
        Database::open(&self.path()).unwrap()
    }

    /// Stores a tick; returns false if the transaction was rolled back.
    pub fn tick(&mut self, tick: &Tick<'_>, is_kept: bool) -> bool {
        let spans = tick.closed.iter().chain(tick.open);
        let mut cards: Vec<Arc<CardFacts>> = Vec::new();
        for span in spans {
            if !cards.iter().any(|card| card.is_same_card(&span.card)) {
                cards.push(Arc::clone(&span.card));
            }
        }
        let poll = poll(tick.at.0, &cards);
        self.tick_with(tick, &poll, is_kept)
    }

    pub fn tick_with(&mut self, tick: &Tick<'_>, poll: &Poll, is_kept: bool) -> bool {
        let processes: Vec<ProcessEntry> = self.processes.values().cloned().collect();
        let tick = Tick { processes: &processes, ..tick.clone() };
        let recorded = RecordedTick {
            tick: &tick,
            poll,
            processes: &self.processes,
            thresholds: Thresholds::default(),
        };
        let totals = self.totals.as_mut().unwrap();
        let writer = self.writer.as_mut().unwrap();
        let stored = writer.tick_with(&tick, |transaction| {
            totals.write(&recorded, transaction)?;
            if is_kept { Ok(()) } else { Err(Problem::Full) }
        });
        if stored.is_ok() {
            totals.stored(&recorded, writer, &mut log());
        }
        stored.is_ok()
    }

    pub fn close(&mut self) {
        let totals = self.totals.as_mut().unwrap();
        totals.close(self.writer.as_mut().unwrap(), &mut log());
    }

    /// Returns the newest totals in memory.
    pub fn counters(&self) -> Counters {
        let slot = self.totals.as_ref().unwrap().slot();
        slot.newest(&Scraper("lab".into())).unwrap().frame.counters.clone()
    }

    /// Returns the totals of a counter in the database: by card and label, what is exported.
    pub fn stored(&self, counter: Counter) -> BTreeMap<(String, String), i64> {
        let totals = self.read().totals().unwrap().into_iter();
        let totals = totals.filter(|total| total.counter == counter.number());
        totals.map(|it| ((it.card.to_string(), it.label.to_string()), it.exported)).collect()
    }

    pub fn value(&self, counter: Counter, card: &str, label: &str) -> i64 {
        let key = Key { counter, card: card.into(), label: label.into() };
        self.counters().value(&key)
    }

    /// Returns rows of text and numbers.
    pub fn rows(&self, sql: &str) -> BTreeMap<(String, String), Vec<i64>> {
        let db = rusqlite::Connection::open(self.path()).unwrap();
        let mut query = db.prepare(sql).unwrap();
        let columns = query.column_count();
        let rows = query.query_map([], |row| {
            let values = (2..columns).map(|column| row.get(column)).collect::<Result<_, _>>()?;
            Ok(((row.get(0)?, row.get(1)?), values))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }
}

pub fn log() -> Log {
    Log::to_nothing()
}

fn run(started: i64) -> Run {
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

pub fn process(pid: u32) -> ProcessId {
    ProcessId { pid, start_ticks: Some(u64::from(pid)), uid: Some(1000 + pid) }
}

pub fn entry(pid: u32, user: &str) -> (ProcessId, ProcessEntry) {
    let mut entry = ProcessEntry::unread(process(pid));
    entry.person = Person { user: Some(user.into()), uid: Some(1000 + pid), source: None };
    (process(pid), entry)
}

pub fn card(index: u32) -> Arc<CardFacts> {
    let mut card = CardFacts::unread(index, Reason::NotAsked);
    card.uuid = Reading::Known(format!("GPU-{index}"));
    card.name = Reading::Known("A100".into());
    Arc::new(card)
}

/// A part of a GPU of eight memory slices: a MIG instance, or without a slot what its GPU's leave.
pub fn part(index: u32, slot: Option<u32>, part: u32) -> Arc<CardFacts> {
    let mut facts = CardFacts::clone(&card(index));
    let uuid = match slot {
        Some(slot) => format!("MIG-{index}-{slot}"),
        None => format!("GPU-{index}/unpartitioned/{part}"),
    };
    facts.uuid = Reading::Known(uuid);
    facts.instance = Some(InstanceFacts {
        slot,
        gpu_instance: Reading::Unknown(Reason::NotAsked),
        parent_uuid: Reading::Known(format!("GPU-{index}")),
        slices: Slices { part, of: 8 },
    });
    Arc::new(facts)
}

pub fn period(from: i64, to: i64) -> Period {
    Period::new(UnixMillis(from), UnixMillis(to))
}

pub fn poll(at: i64, cards: &[Arc<CardFacts>]) -> Poll {
    let since_boot = std::time::Duration::from_millis(at.unsigned_abs());
    let reading = |card: &Arc<CardFacts>| CardPoll {
        card: Arc::clone(card),
        reading: Vitals::unknown(Reason::NotAsked),
        processes: Vec::new(),
    };
    Poll {
        clocks: Clocks { wall: UnixMillis(at), since_boot, awake: since_boot },
        cards: Ok(cards.iter().map(reading).collect()),
        exits: Vec::new(),
    }
}

/// A span of a holder: its pid (0: unlisted), weight and what it does.
pub type Part = (u32, u32, Work);

/// A span of which each holder has a part by its weight; parts are rounded together, as those of the
/// classifier are.
pub fn span(card: &Arc<CardFacts>, from: i64, to: i64, state: State, parts: &[Part]) -> Span {
    let length = to - from;
    let seconds = length as f64 / 1000.0;
    let integral = |mean: f64| Integral { sum: mean * seconds, known_ms: length };
    let total: f64 = parts.iter().map(|(_, weight, _)| f64::from(*weight)).sum();
    let (mut sum, mut rounded) = (0.0, 0);
    let holder = |(pid, weight, work): &Part| {
        sum += f64::from(*weight) / total * length as f64;
        let until = sum.round() as i64;
        let share = until - std::mem::replace(&mut rounded, until);
        let share_ms = if state == State::TrulyIdle { 0 } else { share };
        HolderTime {
            holder: match pid {
                0 => HolderId::Unlisted,
                pid => HolderId::Process(process(*pid)),
            },
            work: *work,
            share_ms,
            memory: integral(8000.0),
            peak: None,
            energy: 97.0 * f64::from(*weight) / total * seconds,
        }
    };
    Span {
        card: Arc::clone(card),
        period: period(from, to),
        state,
        holders: parts.iter().map(holder).collect(),
        busy: integral(37.0),
        memory: integral(16_000.0),
        energy: integral(97.0),
        energy_estimated_ms: length / 3,
    }
}

/// A span in full; a tick may see only its begin.
#[derive(Debug, Clone)]
pub struct Stretch {
    pub card: u32,
    pub from: i64,
    pub to: i64,
    pub state: State,
    pub parts: Vec<Part>,
}

impl Stretch {
    /// Returns the span as it is at a time.
    pub fn at(&self, until: i64) -> Span {
        span(&card(self.card), self.from, self.to.min(until), self.state, &self.parts)
    }
}

/// Spans and times of one tick: those that ended since the last one, and those that go on.
pub fn due(stretches: &[Stretch], last: i64, now: i64) -> (Vec<Span>, Vec<Span>) {
    let mut closed: Vec<_> =
        stretches.iter().filter(|it| it.to > last && it.to <= now).map(|it| it.at(now)).collect();
    closed.sort_by_key(|span| span.period);
    let open = stretches.iter().filter(|it| it.from < now && it.to > now);
    (closed, open.map(|it| it.at(now)).collect())
}

/// What was last seen of the host.
pub fn host_latest() -> Latest {
    let host = HostNow { driver_version: Some("550.54".into()), ..HostNow::default() };
    Latest { card: None, body: serde_json::to_string(&host).unwrap() }
}

/// A card that two processes hold: of one, the memory is unknown.
pub fn card_latest(card: &Arc<CardFacts>) -> Latest {
    let mut vitals = Vitals::unknown(Reason::NotAsked);
    let holder = |pid, memory| Holder {
        pid,
        kinds: Kinds::COMPUTE,
        memory,
        sm: Reading::Unknown(Reason::NotAsked),
        engines: Reading::Unknown(Reason::NotAsked),
    };
    let unknown = Reading::Unknown(Reason::NotSupported);
    let seen = vec![holder(1, Reading::Known(Bytes(70))), holder(2, unknown)];
    vitals.holders = Holders { seen, unread: None };
    vitals.power = Reading::Known(Milliwatts(97_500));
    let percent = Percent(37.0);
    vitals.utilization = Reading::Known(Utilization { percent, basis: Basis::Instant });
    let activity = |pid| HolderActivity {
        holder: HolderId::Process(process(pid)),
        work: Work::Idle,
        last_busy: None,
    };
    let activity = CardActivity {
        card: Arc::clone(card),
        state: State::IdleHeld,
        last_busy: None,
        holders: vec![activity(1), activity(2)],
    };
    let at = UnixMillis(START + MINUTE).into();
    let seen = [1, 2].map(seen_process);
    let now = CardNow::new(&activity, &vitals, &seen, at, &Thresholds::default());
    Latest { card: Some(Arc::clone(card)), body: serde_json::to_string(&now).unwrap() }
}

/// A process as the host has it: ann's, or ben's.
pub fn seen_process(pid: u32) -> SeenProcess {
    let facts = ProcessFacts {
        pid,
        parent: 1,
        start_ticks: u64::from(pid),
        started: Reading::Unknown(Reason::NotAsked),
        program: "python".into(),
        uid: Reading::Known(1000 + pid),
        user: Reading::Known(Some(if pid == 1 { "ann" } else { "ben" }.into())),
        who: Reading::Unknown(Reason::NotAsked),
    };
    let command = Reading::Unknown(Reason::NotAsked);
    SeenProcess { pid, presence: Presence::Here(facts.into()), command }
}
