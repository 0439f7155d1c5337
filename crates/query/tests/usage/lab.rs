//! A recorder of made-up cards and holders.

use std::path::PathBuf;
use std::sync::Arc;

use gua_core::card::{CardFacts, InstanceFacts};
use gua_core::identity::{Source, Who};
use gua_core::process::{Kinds, ProcessId};
use gua_core::session::SessionBuilder;
use gua_core::span::{Gap, GapReason, HolderId, HolderTime, Integral, Work};
use gua_core::units::{Bytes, UnixMillis};
use gua_core::{Period, Reading, Reason, SessionUpdate, Slices, Span, State, Thresholds};
use gua_query::usage::{Account, Usage, UsageRequest, usage};
use gua_store::{
    CardSample, Database, Person, ProcessEntry, Retention, Run, StoreError, Tick, Writer,
};
use tempfile::TempDir;

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;
/// A full day, a Friday: 2024-10-04.
pub const START: i64 = 20_000 * DAY;

const QUARTER: i64 = 15 * MINUTE;

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

    pub fn read(&self) -> Database {
        Database::open(&self.path()).unwrap()
    }

    pub fn usage(&self, request: &UsageRequest) -> Usage {
        usage(&self.read(), request).unwrap()
    }

    /// Returns the report on a stretch after the start.
    pub fn report(&self, from: i64, to: i64) -> Usage {
        self.usage(&request(from, to))
    }

    pub fn begin(&self, started: i64) -> Recording {
        self.begin_with(started, Thresholds::default())
    }

    pub fn begin_with(&self, started: i64, thresholds: Thresholds) -> Recording {
        let run = Run {
            host: "lab".into(),
            boot: "boot-1".into(),
            driver: Some("550.54".into()),
            recorder: "gua 0.1".into(),
            rule: "5 s".into(),
            thresholds,
            interval_ms: Some(30_000),
            started: UnixMillis(START + started),
        };
        let database = Database::open_to_write(&self.path()).unwrap();
        let writer = Writer::begin(database, run).unwrap();
        let sessions = SessionBuilder::new(&thresholds);
        Recording { writer, sessions, at: START + started }
    }
}

/// A request for a stretch after the start, asked at its end.
pub fn request(from: i64, to: i64) -> UsageRequest {
    let now = UnixMillis(START + to);
    UsageRequest::new(Period::new(UnixMillis(START + from), now), now)
}

/// A recorder that runs.
pub struct Recording {
    writer: Writer,
    sessions: SessionBuilder,
    at: i64,
}

impl Recording {
    /// Records what cards do for a time.
    pub fn record(&mut self, length: i64, scenes: &[Scene]) -> &mut Self {
        let end = self.at + length;
        while self.at < end {
            let to = end.min((self.at / QUARTER + 1) * QUARTER);
            let spans: Vec<_> = scenes.iter().map(|scene| scene.span(self.at, to)).collect();
            spans.iter().for_each(|span| self.sessions.add(span));
            self.tick(to, &spans, scenes, &[]);
        }
        self
    }

    /// Observes nothing for a time.
    pub fn miss(&mut self, length: i64, reason: GapReason) -> &mut Self {
        let period = Period::new(UnixMillis(self.at), UnixMillis(self.at + length));
        self.tick(self.at + length, &[], &[], &[Gap { period, reason }]);
        self
    }

    fn tick(&mut self, to: i64, spans: &[Span], scenes: &[Scene], gaps: &[Gap]) {
        let at = UnixMillis(to);
        let updates = self.sessions.take_updates(&[], at);
        let processes: Vec<_> =
            scenes.iter().flat_map(|it| &it.holders).map(Holder::entry).collect();
        let samples: Vec<_> = scenes.iter().map(Scene::sample).collect();
        let tick = Tick {
            closed: spans,
            processes: &processes,
            sessions: &updates,
            samples: &samples,
            gaps,
            recorded_ms: to - self.at,
            ..Tick::new(at, at)
        };
        self.writer.tick(&tick).unwrap();
        self.at = to;
    }

    /// Ticks a few seconds after the begin, when nothing is final yet.
    pub fn tick_before_anything_is_final(&mut self) {
        let tick = Tick::new(UnixMillis(self.at + 5000), UnixMillis(self.at));
        self.writer.tick(&tick).unwrap();
    }

    pub fn prune(&mut self, retention: &Retention) -> Result<(), StoreError> {
        self.writer.prune(retention, usize::MAX).map(|_| ())
    }

    pub fn end(mut self, ending: &str) {
        let sessions: Vec<SessionUpdate> = self.sessions.finish();
        let at = UnixMillis(self.at);
        self.writer.tick(&Tick { sessions: &sessions, ..Tick::new(at, at) }).unwrap();
        self.writer.end(ending).unwrap();
    }
}

/// What a card does, and who holds it.
#[derive(Clone)]
pub struct Scene {
    pub index: u32,
    pub model: &'static str,
    pub state: State,
    pub holders: Vec<Holder>,
    pub unlisted_mib: u64,
    /// Slot and slices of a MIG instance, or what its GPU's instances leave.
    pub part: Option<(Option<u32>, u32)>,
    /// Mean power in watts; `None` if neither it nor the energy can be read.
    pub watts: Option<f64>,
}

/// A part of a GPU of eight memory slices.
pub fn part(index: u32, part: (Option<u32>, u32), state: State, holders: &[Holder]) -> Scene {
    Scene { model: "NVIDIA H100 MIG", part: Some(part), ..scene(index, state, holders) }
}

pub fn scene(index: u32, state: State, holders: &[Holder]) -> Scene {
    let model = if index == 0 { "NVIDIA A100-SXM4-80GB" } else { "NVIDIA GeForce RTX 4090" };
    let (holders, watts) = (holders.to_vec(), Some(100.0));
    Scene { index, model, state, holders, unlisted_mib: 0, part: None, watts }
}

#[derive(Clone)]
pub struct Holder {
    pub pid: u32,
    pub user: Option<&'static str>,
    pub uid: u32,
    pub mib: u64,
    pub work: Work,
    pub who: Option<Who>,
}

pub fn holder(pid: u32, user: &'static str, mib: u64) -> Holder {
    let who = Some(Who::default());
    Holder { pid, user: Some(user), uid: 1000 + pid / 100, mib, work: Work::Idle, who }
}

impl Holder {
    pub fn working(self) -> Self {
        Self { work: Work::Working, ..self }
    }

    pub fn running_for(self, who: Who) -> Self {
        Self { who: Some(who), ..self }
    }

    const fn id(&self) -> ProcessId {
        ProcessId { pid: self.pid, start_ticks: Some(self.pid as u64), uid: Some(self.uid) }
    }

    fn entry(&self) -> ProcessEntry {
        let source = Some(Source::Uid);
        ProcessEntry {
            started: Some(UnixMillis(START)),
            program: Some("python".into()),
            person: Person { user: self.user.map(Into::into), uid: Some(self.uid), source },
            kinds: Kinds::COMPUTE,
            workload: self.who.clone().map(Arc::new),
            ..ProcessEntry::unread(self.id())
        }
    }
}

impl Scene {
    pub fn with_unlisted(self, unlisted_mib: u64) -> Self {
        Self { unlisted_mib, ..self }
    }

    pub fn without_energy(self) -> Self {
        Self { watts: None, ..self }
    }

    fn facts(&self) -> Arc<CardFacts> {
        let mut card = CardFacts::unread(self.index, Reason::NotAsked);
        card.uuid = Reading::Known(format!("GPU-{}", self.index));
        card.name = Reading::Known(self.model.into());
        if let Some((slot, part)) = self.part {
            let parent = format!("GPU-{}", self.index);
            card.uuid = Reading::Known(match slot {
                Some(slot) => format!("MIG-{}-{slot}-{part}", self.index),
                None => format!("{parent}/unpartitioned/{part}"),
            });
            card.instance = Some(InstanceFacts {
                slot,
                gpu_instance: Reading::Unknown(Reason::NotAsked),
                parent_uuid: Reading::Known(parent),
                slices: Slices { part, of: 8 },
            });
        }
        card.into()
    }

    fn sample(&self) -> CardSample {
        CardSample {
            card: self.facts(),
            utilization: None,
            memory: None,
            memory_total: Some(Bytes::from_mib(80_000)),
            power: None,
            temperature: None,
        }
    }

    /// A span. Active time is split among those who work, other time by memory.
    fn span(&self, from: i64, to: i64) -> Span {
        let length = to - from;
        let seconds = length as f64 / 1000.0;
        let watts = self.watts.unwrap_or(0.0) * self.facts().slices().weight();
        let integral = |mean: f64| Integral { sum: mean * seconds, known_ms: length };
        let mut all: Vec<_> =
            self.holders.iter().map(|it| (HolderId::Process(it.id()), it.work, it.mib)).collect();
        if self.unlisted_mib > 0 {
            all.push((HolderId::Unlisted, Work::Unknown, self.unlisted_mib));
        }
        let has_workers = all.iter().any(|(_, work, _)| *work == Work::Working);
        let weight = |work: Work, mib: u64| match self.state {
            State::Active if has_workers => i64::from(work == Work::Working),
            State::TrulyIdle => 0,
            _ => i64::try_from(mib).unwrap(),
        };
        let total: i64 = all.iter().map(|(_, work, mib)| weight(*work, *mib)).sum();
        let (mut sum, mut shared) = (0, 0);
        let mut holders = Vec::new();
        for (holder, work, mib) in all {
            sum += weight(work, mib);
            let until = length * sum / total.max(1);
            let share_ms = until - std::mem::replace(&mut shared, until);
            holders.push(HolderTime {
                holder,
                work,
                share_ms,
                memory: integral(mib as f64),
                peak: Some(Bytes::from_mib(mib)),
                energy: watts * share_ms as f64 / 1000.0,
            });
        }
        let used: u64 = self.holders.iter().map(|it| it.mib).sum::<u64>() + self.unlisted_mib;
        Span {
            card: self.facts(),
            period: Period::new(UnixMillis(from), UnixMillis(to)),
            state: self.state,
            holders,
            busy: integral(if self.state == State::Active { 80.0 } else { 0.0 }),
            memory: integral(used as f64),
            energy: if self.watts.is_some() { integral(watts) } else { Integral::default() },
            energy_estimated_ms: 0,
        }
    }
}

/// Returns the account of a name; empty for one that has none.
pub fn account<'a>(usage: &'a Usage, name: &str) -> &'a Account {
    let found = usage.accounts.iter().find(|it| it.name.as_deref().unwrap_or_default() == name);
    found.unwrap_or_else(|| panic!("no account {name:?} in {:#?}", usage.accounts))
}
