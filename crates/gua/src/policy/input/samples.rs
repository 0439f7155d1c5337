//! Samples in which a process works, from polls (pure).

use std::collections::{HashMap, HashSet};

use gua_core::card::{CardFacts, ProcessSample, Vitals};
use gua_core::clocks::Clocks;
use gua_core::poll::{CardPoll, HolderProcess, Poll, ProcessPoll};
use gua_core::process::{Holder, ProcessId};
use gua_core::units::{Percent, UnixMillis};
use gua_core::{Reading, Reason, Thresholds};

use crate::policy::subject::Subject;

/// Largest age of a sample in microseconds. Older ones have the time of their poll: their clock is
/// unknown.
const LARGEST_AGE: i64 = 60_000_000;

/// Stamps that are remembered: drivers repeat samples.
const MOST_STAMPS: usize = 8192;

/// Time for which stamps are remembered, in microseconds.
const REMEMBERED: u64 = 60_000_000;

/// Sample in which a process works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkSample {
    pub subject: Subject,
    pub at: UnixMillis,
}

/// Card by index and slot, process (0 for the card's own samples), and stamp.
type SampleKey = (u32, Option<u32>, u32, u64);

/// Samples since the last tick in which a process works, and the video engines of processes.
#[derive(Debug, Clone, Default)]
pub struct WorkSamples {
    seen: HashSet<SampleKey>,
    samples: Vec<WorkSample>,
    newest: HashMap<Subject, UnixMillis>,
    engines: HashMap<Subject, VideoEngines>,
    /// Processes on each card at the last poll.
    processes: HashMap<(u32, Option<u32>), Vec<ProcessId>>,
}

/// Highest use of the video engines since the last tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VideoEngines {
    pub encoder: Reading<Percent>,
    pub decoder: Reading<Percent>,
}

impl VideoEngines {
    /// Returns the highest use that is known. What could be read once in a tick counts as read.
    fn or_higher(self, other: Self) -> Self {
        let higher = |one: Reading<Percent>, other: Reading<Percent>| match (one, other) {
            (Reading::Known(one), Reading::Known(other)) => {
                Reading::Known(Percent(one.0.max(other.0)))
            }
            (Reading::Known(_), Reading::Unknown(_)) => one,
            (Reading::Unknown(_), other) => other,
        };
        Self {
            encoder: higher(self.encoder, other.encoder),
            decoder: higher(self.decoder, other.decoder),
        }
    }
}

impl WorkSamples {
    /// Adds a poll.
    pub fn add_poll(&mut self, poll: &Poll, thresholds: &Thresholds) {
        for card in poll.cards.iter().flatten() {
            let processes = card.processes.iter().map(|process| process.id).collect();
            self.processes.insert(key(&card.card), processes);
            self.add_card(card, poll.clocks, thresholds);
        }
        self.forget_stamps();
    }

    /// Adds process samples that were read between two polls.
    pub fn add_process_poll(&mut self, poll: &ProcessPoll, thresholds: &Thresholds) {
        if let Reading::Known(samples) = &poll.samples {
            self.add_process_samples(&poll.card, samples, poll.clocks, thresholds.worked);
        }
    }

    fn add_card(&mut self, card: &CardPoll, clocks: Clocks, thresholds: &Thresholds) {
        let reading = &card.reading;
        if let [only] = card.processes.as_slice()
            && reading.unlisted_memory().is_none_or(|memory| memory <= thresholds.held)
        {
            self.add_card_samples(card, only.id, clocks, thresholds.worked);
        }
        match &reading.process_samples {
            Reading::Known(samples) => {
                self.add_process_samples(&card.card, samples, clocks, thresholds.worked);
            }
            Reading::Unknown(_) => self.add_means(card, clocks, thresholds.worked),
        }
        for (holder, process) in holders(card) {
            let engines = video_engines(holder, reading);
            let subject = Subject::from(process.id);
            let higher = self.engines.get(&subject).map_or(engines, |it| it.or_higher(engines));
            self.engines.insert(subject, higher);
        }
    }

    /// Adds the card's samples as those of its only holder.
    fn add_card_samples(&mut self, card: &CardPoll, id: ProcessId, now: Clocks, worked: Percent) {
        match (&card.reading.samples, card.reading.utilization) {
            (Reading::Known(answer), _) => {
                for sample in answer.samples.iter().filter(|it| reaches(it.percent, worked)) {
                    self.add_new(&card.card, 0, sample.stamp, id, now);
                }
            }
            (Reading::Unknown(_), Reading::Known(rate)) if rate.percent >= worked => {
                self.add(id, now.wall);
            }
            _ => {}
        }
    }

    fn add_process_samples(
        &mut self,
        card: &CardFacts,
        samples: &[ProcessSample],
        now: Clocks,
        worked: Percent,
    ) {
        let processes = self.processes.get(&key(card)).cloned().unwrap_or_default();
        for sample in samples.iter().filter(|it| reaches(it.percent, worked)) {
            if let Some(id) = processes.iter().find(|id| id.pid == sample.pid) {
                self.add_new(card, sample.pid, sample.stamp, *id, now);
            }
        }
    }

    /// Adds what the driver says of each holder since the last poll.
    fn add_means(&mut self, card: &CardPoll, now: Clocks, worked: Percent) {
        for (holder, process) in holders(card) {
            if holder.sm.is_known_and(|sm| sm >= worked) {
                self.add(process.id, now.wall);
            }
        }
    }

    fn add_new(&mut self, card: &CardFacts, pid: u32, stamp: u64, id: ProcessId, now: Clocks) {
        let (index, slot) = key(card);
        if self.seen.insert((index, slot, pid, stamp)) {
            self.add(id, time_of(stamp, now));
        }
    }

    fn add(&mut self, id: ProcessId, at: UnixMillis) {
        let subject = Subject::from(id);
        self.samples.push(WorkSample { subject, at });
        let newest = self.newest.entry(subject).or_insert(at);
        *newest = at.max(*newest);
    }

    fn forget_stamps(&mut self) {
        if self.seen.len() > MOST_STAMPS {
            let newest = self.seen.iter().map(|key| key.3).max().unwrap_or(0);
            self.seen.retain(|key| key.3 > newest.saturating_sub(REMEMBERED));
        }
    }

    /// Takes the samples before a time, in order of time, and begins the next tick.
    pub fn take_before(&mut self, until: UnixMillis) -> Vec<WorkSample> {
        self.engines.clear();
        let mut taken: Vec<_> = self.samples.extract_if(.., |sample| sample.at < until).collect();
        taken.sort_by_key(|sample| (sample.at, sample.subject));
        taken
    }

    /// Returns the processes with a sample from a time on.
    pub fn working_since(&self, from: UnixMillis) -> impl Iterator<Item = Subject> {
        let newer = self.newest.iter().filter(move |(_, at)| **at >= from);
        newer.map(|(subject, _)| *subject)
    }

    /// Returns the video engines of a process since the last tick.
    pub fn engines(&self, subject: Subject) -> VideoEngines {
        let unknown = Reading::Unknown(Reason::NotAsked);
        let none = VideoEngines { encoder: unknown, decoder: unknown };
        self.engines.get(&subject).copied().unwrap_or(none)
    }

    /// Forgets the samples of all other processes.
    pub fn keep(&mut self, is_wanted: impl Fn(Subject) -> bool) {
        self.newest.retain(|subject, _| is_wanted(*subject));
    }

    /// Forgets times: the clock was set.
    pub fn forget_times(&mut self) {
        self.samples.clear();
        self.newest.clear();
    }
}

fn key(card: &CardFacts) -> (u32, Option<u32>) {
    (card.index, card.slot())
}

fn holders(card: &CardPoll) -> impl Iterator<Item = (&Holder, &HolderProcess)> {
    card.reading.holders.seen.iter().zip(&card.processes)
}

fn reaches(percent: u32, worked: Percent) -> bool {
    // Values over 100 % are garbage.
    percent <= 100 && f64::from(percent) >= worked.0
}

/// Returns the use of the video engines by a holder, or else by its card.
fn video_engines(holder: &Holder, reading: &Vitals) -> VideoEngines {
    match holder.engines {
        Reading::Known(engines) => VideoEngines {
            encoder: Reading::Known(engines.encoder),
            decoder: Reading::Known(engines.decoder),
        },
        Reading::Unknown(why) => {
            let of_card = |reading: Reading<Percent>| match reading {
                Reading::Unknown(Reason::NotAsked) => Reading::Unknown(why),
                reading => reading,
            };
            VideoEngines { encoder: of_card(reading.encoder), decoder: of_card(reading.decoder) }
        }
    }
}

/// Returns the wall time of a stamp.
fn time_of(stamp: u64, now: Clocks) -> UnixMillis {
    let age = i128::from(now.nearest(stamp)) - i128::from(stamp);
    match i64::try_from(age) {
        Ok(age) if (0..LARGEST_AGE).contains(&age) => UnixMillis(now.wall.0 - age / 1000),
        _ => now.wall,
    }
}
