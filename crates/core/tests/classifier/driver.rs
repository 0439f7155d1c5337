//! A driver that plays a workload: its sample buffer, its process lists and process samples.

use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{
    Basis, CardFacts, MemorySource, MemoryUse, ProcessSample, Sample, Samples, Utilization, Vitals,
};
use gua_core::poll::{CardPoll, HolderProcess};
use gua_core::process::{Holder, Holders, Kinds, ProcessId};
use gua_core::units::{Bytes, Millijoules, Milliwatts, Percent, UnixMillis};
use gua_core::{Clocks, Reading, Reason};

use crate::workload::{HOUR, Random, SECOND, Slots, Workload};

/// How a driver samples.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    /// Microseconds between samples; 0: no sample buffer.
    pub period: u64,
    pub processes: ProcessKind,
    /// The buffer gets no samples while the card idles.
    pub runs_dry: bool,
    pub stamps: Stamps,
    /// Percent of samples that are lost.
    pub lost_percent: f64,
    /// The card has no energy counter: its power is read.
    pub power_only: bool,
}

/// What the driver says of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessKind {
    /// Only the newest period.
    Newest,
    /// Every period.
    Complete,
    /// The mean since the last query, with stamps that are up to 9 s old.
    LateMean,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    Boot,
    Unix,
}

pub const SIXTH: u64 = 166_667;

/// The usual driver.
pub const USUAL: Kind = Kind {
    name: "1/6 s, newest",
    period: SIXTH,
    processes: ProcessKind::Newest,
    runs_dry: false,
    stamps: Stamps::Unix,
    lost_percent: 0.0,
    power_only: false,
};

/// Power without work, and for each percent of utilization, in watts.
pub const POWER: [f64; 2] = [60.0, 3.4];

/// Samples that the buffer holds.
const CAPACITY: u64 = 100;

/// Time since boot at the begin of a workload, in microseconds. It is not in step with the samples.
pub const BOOT: u64 = 86_400_123_456;
/// Unix time at the begin of a workload, in milliseconds.
pub const WALL: i64 = 1_794_182_400_250;

/// A driver, and what has been read from it.
pub struct Driver {
    workload: Workload,
    kind: Kind,
    card: Arc<CardFacts>,
    card_load: Load,
    process_loads: Vec<Load>,
    last_query: u64,
    random: Random,
}

impl Driver {
    pub fn new(workload: &Workload, kind: Kind) -> Self {
        Self {
            card_load: Load::new(steps(&workload.utilization())),
            process_loads: workload
                .processes
                .iter()
                .map(|it| Load::new(it.bursts.clone()))
                .collect(),
            workload: workload.clone(),
            kind,
            card: Arc::new(CardFacts {
                uuid: Reading::Known("GPU-1".to_owned()),
                ..CardFacts::unread(0, Reason::NotAsked)
            }),
            last_query: 0,
            random: Random::new(99),
        }
    }

    pub const fn card(&self) -> &Arc<CardFacts> {
        &self.card
    }

    /// Reads the card at a time, in microseconds since the begin of the workload.
    pub fn poll(&mut self, micros: u64) -> CardPoll {
        let slot = slot_at(micros);
        if self.workload.lost.iter().any(|time| time.contains(&slot)) {
            return CardPoll {
                card: Arc::clone(&self.card),
                reading: Vitals::unknown(Reason::Lost),
                processes: Vec::new(),
            };
        }
        let present: Vec<usize> = (0..self.workload.processes.len())
            .filter(|place| self.workload.processes[*place].life.contains(&slot))
            .collect();
        let holders: Vec<Holder> = present.iter().map(|place| self.holder(*place, slot)).collect();
        let used: Bytes = holders.iter().filter_map(|holder| holder.memory.known()).sum();
        let used = used + Bytes::from_mib(self.workload.unlisted);
        let now = self.card_load.mean(micros.saturating_sub(10_000), micros);
        let instant = self.card_load.mean(micros.saturating_sub(self.period()), micros);
        let samples = self.samples(micros);
        let is_dry = samples.samples.is_empty() || self.kind.period == 0;
        let basis = if is_dry || self.kind.runs_dry {
            Basis::Instant
        } else {
            Basis::Samples { count: 1, covers: Duration::from_secs(1) }
        };
        let reading = Vitals {
            utilization: Reading::Known(Utilization { percent: Percent(instant.round()), basis }),
            samples: match self.kind.period {
                0 => Reading::Unknown(Reason::NotSupported),
                _ => Reading::Known(samples),
            },
            memory: Reading::Known(MemoryUse {
                total: Bytes::from_mib(80_000),
                used,
                free: Bytes::from_mib(80_000).saturating_sub(used),
                reserved: Reading::Known(Bytes::from_mib(600)),
                source: MemorySource::Card,
            }),
            energy: match self.kind.power_only {
                false => Reading::Known(Millijoules(self.millijoules(micros))),
                true => Reading::Unknown(Reason::NotSupported),
            },
            power: Reading::Known(Milliwatts((1000.0 * (POWER[0] + POWER[1] * now)) as u32)),
            holders: Holders { seen: holders, unread: None },
            process_samples: Reading::Known(self.process_samples(micros)),
            ..Vitals::unknown(Reason::NotAsked)
        };
        let processes = present.iter().map(|place| self.process(*place)).collect();
        CardPoll { card: Arc::clone(&self.card), reading, processes }
    }

    pub fn millijoules(&self, micros: u64) -> u64 {
        let busy = self.card_load.mean(0, micros) * micros as f64 / 1e6;
        (1000.0 * (POWER[0] * micros as f64 / 1e6 + POWER[1] * busy)) as u64
    }

    fn period(&self) -> u64 {
        if self.kind.period == 0 { SIXTH } else { self.kind.period }
    }

    fn holder(&self, place: usize, slot: usize) -> Holder {
        let mib = self.workload.processes[place].mib(slot);
        Holder {
            pid: pid(place),
            kinds: Kinds::COMPUTE,
            memory: Reading::Known(Bytes::from_mib(mib)),
            sm: Reading::Unknown(Reason::NotAsked),
            engines: Reading::Unknown(Reason::NotAsked),
        }
    }

    fn process(&self, place: usize) -> HolderProcess {
        // It takes some seconds before a process uses the card.
        let start = self.workload.processes[place].life.start as u64 * (1_000_000 / SECOND as u64);
        let start = start.saturating_sub(2_000_000 + place as u64 % 5 * 800_000);
        HolderProcess {
            id: process_id(place),
            started: Some(Duration::from_micros(BOOT + start)),
            cpu: Reading::Unknown(Reason::NotAsked),
        }
    }

    /// Returns the whole buffer. Samples are in step with the boot clock.
    fn samples(&self, micros: u64) -> Samples {
        if self.kind.period == 0 {
            return Samples::default();
        }
        let newest = (BOOT + micros) / self.kind.period;
        let all = (newest.saturating_sub(CAPACITY - 1)..=newest).filter_map(|number| {
            let end = number * self.kind.period;
            let percent = self.sampled(&self.card_load, end);
            let is_lost = hash(number) < self.kind.lost_percent / 100.0;
            let is_there = !(is_lost || self.kind.runs_dry && percent == 0);
            is_there.then(|| Sample { stamp: self.stamp(end), percent })
        });
        let samples: Vec<_> = all.collect();
        Samples { is_full: samples.len() as u64 >= CAPACITY, samples }
    }

    /// Returns the process samples since the last query.
    pub fn process_samples(&mut self, micros: u64) -> Vec<ProcessSample> {
        let period = self.period();
        let newest = (BOOT + micros) / period;
        let since = std::mem::replace(&mut self.last_query, micros);
        let first = (BOOT + since) / period + 1;
        let mut found = Vec::new();
        for place in 0..self.workload.processes.len() {
            let load = &self.process_loads[place];
            let mut push = |stamp: u64, percent: u32| {
                if percent > 0 {
                    found.push(ProcessSample { pid: pid(place), stamp, percent });
                }
            };
            match self.kind.processes {
                ProcessKind::Newest if newest >= first => {
                    let end = newest * period;
                    push(self.stamp(end), self.sampled(load, end));
                }
                ProcessKind::Newest => {}
                ProcessKind::Complete => {
                    for end in (first..=newest).map(|number| number * period) {
                        push(self.stamp(end), self.sampled(load, end));
                    }
                }
                ProcessKind::LateMean => {
                    let mean = load.mean(since, micros).round() as u32;
                    let age = (self.random.unit() * 9e6) as u64;
                    push(self.stamp((BOOT + micros).saturating_sub(age)), mean);
                }
            }
        }
        found
    }

    /// Returns the mean utilization over the period that ends at a time since boot.
    fn sampled(&self, load: &Load, end: u64) -> u32 {
        let to = end.saturating_sub(BOOT);
        let from = (end - self.period()).saturating_sub(BOOT);
        let part = (to - from) as f64 / self.period() as f64;
        (load.mean(from, to) * part).round() as u32
    }

    fn stamp(&self, boot_micros: u64) -> u64 {
        match self.kind.stamps {
            Stamps::Boot => boot_micros,
            Stamps::Unix => boot_micros + WALL.unsigned_abs() * 1000 - BOOT,
        }
    }
}

pub fn clocks(micros: u64) -> Clocks {
    let since_boot = Duration::from_micros(BOOT + micros);
    let wall = UnixMillis(WALL + i64::try_from(micros / 1000).unwrap());
    Clocks { wall, since_boot, awake: since_boot }
}

pub fn pid(place: usize) -> u32 {
    u32::try_from(place).unwrap() + 100
}

pub fn process_id(place: usize) -> ProcessId {
    ProcessId { pid: pid(place), start_ticks: Some(place as u64), uid: Some(1000) }
}

fn slot_at(micros: u64) -> usize {
    (micros as usize / (1_000_000 / SECOND)).min(HOUR - 1)
}

/// Utilization over time, for means over any time.
struct Load {
    bursts: Vec<(Slots, u32)>,
    /// Integral up to the begin of each burst, in percent × slots.
    before: Vec<f64>,
}

impl Load {
    fn new(bursts: Vec<(Slots, u32)>) -> Self {
        let mut sum = 0.0;
        let before = bursts.iter().map(|(slots, percent)| {
            let before = sum;
            sum += slots.len() as f64 * f64::from(*percent);
            before
        });
        Self { before: before.collect(), bursts }
    }

    /// Returns the mean between two times in microseconds.
    fn mean(&self, from: u64, to: u64) -> f64 {
        let slot_micros = 1_000_000.0 / SECOND as f64;
        let up_to = |micros: u64| {
            let at = micros as f64 / slot_micros;
            let begun = self.bursts.partition_point(|(slots, _)| (slots.start as f64) < at);
            let Some(last) = begun.checked_sub(1) else { return 0.0 };
            let (slots, percent) = &self.bursts[last];
            self.before[last]
                + (at.min(slots.end as f64) - slots.start as f64) * f64::from(*percent)
        };
        if from >= to { 0.0 } else { (up_to(to) - up_to(from)) * slot_micros / (to - from) as f64 }
    }
}

/// Returns the times with one utilization.
fn steps(utilization: &[u32]) -> Vec<(Slots, u32)> {
    let mut steps: Vec<(Slots, u32)> = Vec::new();
    for (slot, percent) in utilization.iter().enumerate() {
        match steps.last_mut() {
            Some((slots, last)) if last == percent => slots.end = slot + 1,
            _ => steps.push((slot..slot + 1, *percent)),
        }
    }
    steps
}

/// Returns a number from 0 to 1 that depends on another.
fn hash(number: u64) -> f64 {
    Random::new(number ^ 0x5DEE_CE66_D1CE).unit()
}
