//! Polls made by hand: one card, its holders, samples and clocks.

use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{
    Basis, CardFacts, MemorySource, MemoryUse, ProcessSample, Sample, Samples, Utilization, Vitals,
};
use gua_core::classifier::Classifier;
use gua_core::poll::{CardPoll, HolderProcess};
use gua_core::process::{Holder, Holders, Kinds, ProcessId};
use gua_core::span::{Gap, HolderId, Span, Work};
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Clocks, Poll, Reading, Reason, State, Thresholds};

/// Milliseconds; all times count from the begin of a test.
pub type Millis = i64;

/// Unix time and time since boot at the begin of a test.
pub const WALL: Millis = 1_794_182_400_000;
pub const BOOT: Millis = 5_000_000_000;

/// A card with one idle holder of 8,000 MiB, polled at a time.
#[derive(Debug, Clone)]
pub struct Card {
    pub facts: Arc<CardFacts>,
    pub holders: Vec<TestHolder>,
    pub reading: Vitals,
    pub used: Option<u64>,
    pub source: MemorySource,
    /// Samples of the card since the poll before: end and percent.
    pub samples: Option<Vec<(Millis, u32)>>,
    pub is_full: bool,
    pub process_samples: Vec<(u32, Millis, u32)>,
}

/// A process on the card.
#[derive(Debug, Clone, Copy)]
pub struct TestHolder {
    pub id: ProcessId,
    pub mib: Option<u64>,
    pub kinds: Kinds,
    pub cpu: f64,
}

pub const fn holder(pid: u32, mib: u64) -> TestHolder {
    let id = ProcessId { pid, start_ticks: Some(7), uid: Some(1000) };
    TestHolder { id, mib: Some(mib), kinds: Kinds::COMPUTE, cpu: 0.0 }
}

/// Returns a card that was idle since the poll before, five seconds ago.
pub fn idle(at: Millis) -> Card {
    busy(at, 0)
}

/// Returns a card with one utilization since the poll before.
pub fn busy(at: Millis, percent: u32) -> Card {
    Card {
        facts: card("GPU-1"),
        holders: vec![holder(1, 8000)],
        reading: Vitals::unknown(Reason::NotAsked),
        used: None,
        source: MemorySource::Card,
        samples: Some(sampled(at - 5000, at, percent)),
        is_full: false,
        process_samples: Vec::new(),
    }
}

/// Returns samples of a sixth of a second between two times.
pub fn sampled(from: Millis, to: Millis, percent: u32) -> Vec<(Millis, u32)> {
    let number = |at: Millis| (at * 6).div_euclid(1000);
    (number(from) + 1..=number(to)).map(|number| (number * 1000 / 6, percent)).collect()
}

pub fn card(uuid: &str) -> Arc<CardFacts> {
    let uuid = Reading::Known(uuid.to_owned());
    Arc::new(CardFacts { uuid, ..CardFacts::unread(0, Reason::NotAsked) })
}

impl Card {
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns a card that cannot be read.
    pub fn unread(reason: Reason) -> CardPoll {
        CardPoll { card: card("GPU-1"), reading: Vitals::unknown(reason), processes: Vec::new() }
    }

    pub fn poll(self) -> CardPoll {
        let seen: Vec<Holder> = self.holders.iter().map(listed).collect();
        let listed: u64 = self.holders.iter().filter_map(|holder| holder.mib).sum();
        let used = self.used.unwrap_or(listed);
        let unread = self.reading.holders.unread.filter(|reason| *reason != Reason::NotAsked);
        let utilization = self.reading.utilization;
        let reading = Vitals {
            samples: match &self.samples {
                Some(samples) => Reading::Known(self.answer(samples)),
                None => Reading::Unknown(Reason::NotSupported),
            },
            utilization: match utilization {
                Reading::Unknown(Reason::NotAsked) => Reading::Known(Utilization {
                    percent: Percent(0.0),
                    basis: Basis::Samples { count: 1, covers: Duration::from_secs(5) },
                }),
                set => set,
            },
            memory: Reading::Known(MemoryUse {
                total: Bytes::from_mib(80_000),
                used: Bytes::from_mib(used),
                free: Bytes::from_mib(80_000 - used),
                reserved: Reading::Known(Bytes::from_mib(600)),
                source: self.source,
            }),
            holders: Holders { seen, unread },
            process_samples: Reading::Known(self.process_answer()),
            ..self.reading.clone()
        };
        let process = |holder: &TestHolder| HolderProcess {
            id: holder.id,
            started: None,
            cpu: Reading::Known(Percent(holder.cpu)),
        };
        let processes = self.holders.iter().map(process).collect();
        CardPoll { card: self.facts, reading, processes }
    }

    fn answer(&self, samples: &[(Millis, u32)]) -> Samples {
        let sample =
            |(at, percent): &(Millis, u32)| Sample { stamp: stamp(*at), percent: *percent };
        Samples { samples: samples.iter().map(sample).collect(), is_full: self.is_full }
    }

    fn process_answer(&self) -> Vec<ProcessSample> {
        let sample = |(pid, at, percent): &(u32, Millis, u32)| ProcessSample {
            pid: *pid,
            stamp: stamp(*at),
            percent: *percent,
        };
        self.process_samples.iter().map(sample).collect()
    }
}

/// Drivers stamp with the time since boot here.
pub fn stamp(at: Millis) -> u64 {
    (BOOT + at).unsigned_abs() * 1000
}

fn listed(holder: &TestHolder) -> Holder {
    Holder {
        pid: holder.id.pid,
        kinds: holder.kinds,
        memory: holder
            .mib
            .map_or(Reading::Unknown(Reason::NotTold), |mib| Reading::Known(Bytes::from_mib(mib))),
        sm: Reading::Unknown(Reason::NotAsked),
        engines: Reading::Unknown(Reason::NotAsked),
    }
}

pub fn clocks(at: Millis) -> Clocks {
    let since_boot = Duration::from_millis((BOOT + at).unsigned_abs());
    Clocks { wall: UnixMillis(WALL + at), since_boot, awake: since_boot }
}

/// A classifier and what it has handed out.
pub struct Run {
    pub classifier: Classifier,
    pub spans: Vec<Span>,
    pub gaps: Vec<Gap>,
}

impl Run {
    pub fn new() -> Self {
        let classifier = Classifier::new(Thresholds::default());
        Self { classifier, spans: Vec::new(), gaps: Vec::new() }
    }

    pub fn add(&mut self, clocks: Clocks, cards: Result<Vec<CardPoll>, Reason>) {
        self.classifier.add(&Poll { clocks, cards, exits: Vec::new() });
        self.spans.extend(self.classifier.take_spans());
        self.gaps.extend(self.classifier.take_gaps());
    }

    /// Adds a poll of one card every 5 s from one time to another, both included.
    pub fn every_5_s(&mut self, from: Millis, to: Millis, card: impl Fn(Millis) -> Card) {
        for at in (from..=to).step_by(5000) {
            self.add(clocks(at), Ok(vec![card(at).poll()]));
        }
    }

    pub fn finish(mut self) -> Self {
        self.classifier.finish();
        self.spans.extend(self.classifier.take_spans());
        self.gaps.extend(self.classifier.take_gaps());
        self
    }

    /// Returns the spans as begin, end and state, in milliseconds.
    pub fn states(&self) -> Vec<(Millis, Millis, State)> {
        let time = |at: UnixMillis| at.0 - WALL;
        let state = |span: &Span| (time(span.period.from), time(span.period.to), span.state);
        self.spans.iter().map(state).collect()
    }

    /// Returns the total time, the working time and the share of each holder in a state.
    pub fn of_holder(&self, pid: Option<u32>, state: State) -> (Millis, Millis, Millis) {
        let is_it = |holder: &HolderId| match (holder, pid) {
            (HolderId::Process(id), Some(pid)) => id.pid == pid,
            (HolderId::Unlisted, None) => true,
            _ => false,
        };
        let mut found = (0, 0, 0);
        for span in self.spans.iter().filter(|span| span.state == state) {
            for holder in span.holders.iter().filter(|holder| is_it(&holder.holder)) {
                found.0 += span.period.millis();
                found.1 += if holder.work == Work::Working { span.period.millis() } else { 0 };
                found.2 += holder.share_ms;
            }
        }
        found
    }

    /// Returns the time in a state.
    pub fn time_in(&self, is_it: impl Fn(State) -> bool) -> Millis {
        let spans = self.spans.iter().filter(|span| is_it(span.state));
        spans.map(|span| span.period.millis()).sum()
    }
}
