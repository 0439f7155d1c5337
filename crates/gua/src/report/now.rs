//! What is each card doing now, and who holds it?

use std::collections::BTreeMap;

use jiff::Timestamp;
use probe::Reading;
use probe::card::{Basis, MemorySource};
use probe::nvml::OpenError;
use probe::process::Presence;
use serde::Serialize;

use crate::classify::{self, State, Thresholds};
use crate::sampler::{CardTick, HolderTick, Tick};

/// All cards at one moment. Fields that are not known are null, and `unknown` says why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Now {
    pub schema: &'static str,
    pub time: Timestamp,
    pub host: Option<String>,
    pub driver_version: Option<String>,
    pub cuda_version: Option<String>,
    /// Why the driver cannot be read, while it cannot.
    pub driver_error: Option<String>,
    pub cards: Vec<Card>,
}

/// Reasons by field.
pub type Unknowns = BTreeMap<&'static str, &'static str>;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    pub index: u32,
    /// The MIG slot; null for a whole GPU.
    pub mig_slot: Option<u32>,
    pub uuid: Option<String>,
    pub parent_uuid: Option<String>,
    pub name: Option<String>,
    pub bus_id: Option<String>,
    pub minor: Option<u32>,
    pub state: &'static str,
    /// In words, for a state that is unknown.
    pub state_reason: Option<String>,
    pub utilization_percent: Option<f64>,
    pub utilization_basis: Option<&'static str>,
    pub utilization_covers_seconds: Option<f64>,
    pub memory_used_bytes: Option<u64>,
    pub memory_free_bytes: Option<u64>,
    pub memory_total_bytes: Option<u64>,
    pub memory_reserved_bytes: Option<u64>,
    pub memory_source: Option<&'static str>,
    pub memory_unattributed_bytes: Option<u64>,
    pub power_watts: Option<f64>,
    pub power_limit_watts: Option<f64>,
    pub energy_joules: Option<f64>,
    pub temperature_celsius: Option<u32>,
    pub sm_clock_mhz: Option<u32>,
    pub memory_clock_mhz: Option<u32>,
    pub encoder_percent: Option<f64>,
    pub decoder_percent: Option<f64>,
    pub fan_percent: Option<f64>,
    /// False when a process list could not be read: there may be more holders.
    pub holders_complete: bool,
    pub holders: Vec<Holder>,
    pub unknown: Unknowns,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    pub pid: u32,
    /// here, gone, foreign or hidden.
    pub presence: &'static str,
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub program: Option<String>,
    /// Only when asked for: arguments may hold secrets.
    pub command: Option<Vec<String>>,
    pub parent_pid: Option<u32>,
    pub kinds: Vec<&'static str>,
    pub memory_bytes: Option<u64>,
    pub sm_percent: Option<f64>,
    pub started: Option<Timestamp>,
    pub running_seconds: Option<f64>,
    pub unknown: Unknowns,
}

/// Answers from one tick of this host.
#[must_use]
pub fn now(tick: &Tick, host: Option<&str>, thresholds: &Thresholds) -> Now {
    let time = Timestamp::from_millisecond(tick.at.0).unwrap_or_default();
    let driver = tick.driver.as_ref().ok();
    Now {
        schema: "gua.stat/1",
        time,
        host: host.map(str::to_owned),
        driver_version: driver.and_then(|driver| driver.version.clone().known()),
        cuda_version: driver
            .and_then(|driver| driver.cuda_version.known())
            .map(|(major, minor)| format!("{major}.{minor}")),
        driver_error: tick.driver.as_ref().err().map(OpenError::to_string),
        cards: tick.cards.iter().map(|tick| card(tick, time, thresholds)).collect(),
    }
}

/// Takes values out of readings and keeps the reasons of those that are not known.
#[derive(Default)]
struct Noting(Unknowns);

impl Noting {
    fn take<T>(&mut self, field: &'static str, reading: Reading<T>) -> Option<T> {
        if let Some(why) = reading.why() {
            self.0.insert(field, why.slug());
        }
        reading.known()
    }
}

fn card(tick: &CardTick, now: Timestamp, thresholds: &Thresholds) -> Card {
    let CardTick { facts, vitals, unattributed, holders } = tick;
    let mut noting = Noting::default();
    let state = classify::state(vitals, thresholds);
    let utilization = noting.take("utilization_percent", vitals.utilization);
    let memory = noting.take("memory", vitals.memory);
    let milli = |value: u32| f64::from(value) / 1000.0;
    Card {
        index: facts.index,
        mig_slot: facts.instance.as_ref().map(|instance| instance.slot),
        uuid: noting.take("uuid", facts.uuid.clone()),
        parent_uuid: facts.instance.as_ref().and_then(|i| i.parent_uuid.clone().known()),
        name: noting.take("name", facts.name.clone()),
        bus_id: noting.take("bus_id", facts.bus_id.clone()),
        minor: noting.take("minor", facts.minor),
        state: state.word(),
        state_reason: match state {
            State::Unknown(why) => Some(why.to_string()),
            _ => None,
        },
        utilization_percent: utilization.map(|work| tenths(work.percent.0)),
        utilization_basis: utilization.map(|work| basis(work.basis)),
        utilization_covers_seconds: utilization.and_then(|work| covers(work.basis)),
        memory_used_bytes: memory.map(|memory| memory.used.0),
        memory_free_bytes: memory.map(|memory| memory.free.0),
        memory_total_bytes: memory.map(|memory| memory.total.0),
        memory_reserved_bytes: memory.and_then(|memory| memory.reserved.known()).map(|r| r.0),
        memory_source: memory.map(|memory| match memory.source {
            MemorySource::Card => "card",
            MemorySource::System => "system",
        }),
        memory_unattributed_bytes: noting
            .take("memory_unattributed_bytes", *unattributed)
            .map(|bytes| bytes.0),
        power_watts: noting.take("power_watts", vitals.power).map(|power| milli(power.0)),
        power_limit_watts: noting
            .take("power_limit_watts", facts.power_limit())
            .map(|limit| milli(limit.0)),
        energy_joules: noting.take("energy_joules", vitals.energy).map(|energy| joules(energy.0)),
        temperature_celsius: noting.take("temperature_celsius", vitals.temperature).map(|t| t.0),
        sm_clock_mhz: noting.take("sm_clock_mhz", vitals.sm_clock).map(|clock| clock.0),
        memory_clock_mhz: noting.take("memory_clock_mhz", vitals.memory_clock).map(|c| c.0),
        encoder_percent: noting.take("encoder_percent", vitals.encoder).map(|p| p.0),
        decoder_percent: noting.take("decoder_percent", vitals.decoder).map(|p| p.0),
        fan_percent: noting.take("fan_percent", vitals.fan).map(|p| p.0),
        holders_complete: vitals.holders.unread.is_none(),
        holders: holders.iter().map(|tick| holder(tick, now)).collect(),
        unknown: {
            if let Some(why) = vitals.holders.unread {
                noting.0.insert("holders", why.slug());
            }
            noting.0
        },
    }
}

fn holder(tick: &HolderTick, now: Timestamp) -> Holder {
    let mut noting = Noting::default();
    let process = match &tick.process {
        Presence::Here(facts) => Some(facts),
        Presence::Gone | Presence::Foreign | Presence::Hidden(_) => None,
    };
    let started = process
        .and_then(|facts| noting.take("started", facts.started))
        .and_then(|started| Timestamp::from_millisecond(started.0).ok());
    let memory = noting.take("memory_bytes", tick.holder.memory);
    let sm = noting.take("sm_percent", tick.holder.sm);
    Holder {
        pid: tick.holder.pid,
        presence: match &tick.process {
            Presence::Here(_) => "here",
            Presence::Gone => "gone",
            Presence::Foreign => "foreign",
            Presence::Hidden(_) => "hidden",
        },
        user: process.and_then(|facts| facts.user.clone()),
        uid: process.and_then(|facts| noting.take("uid", facts.uid)),
        program: process.map(|facts| facts.program.clone()),
        command: tick.command.clone(),
        parent_pid: process.map(|facts| facts.parent),
        kinds: tick.holder.kinds.names().collect(),
        memory_bytes: memory.map(|bytes| bytes.0),
        sm_percent: sm.map(|percent| tenths(percent.0)),
        started,
        running_seconds: started.map(|started| now.duration_since(started).as_secs_f64().max(0.0)),
        unknown: noting.0,
    }
}

const fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Samples { .. } => "samples",
        Basis::Counters { .. } => "counters",
        Basis::Instant => "instant",
    }
}

fn covers(basis: Basis) -> Option<f64> {
    match basis {
        Basis::Samples { covers, .. } | Basis::Counters { covers } => Some(covers.as_secs_f64()),
        Basis::Instant => None,
    }
}

/// More digits than the driver's whole percents would pretend to know.
fn tenths(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 9 · 10^15 mJ, a gigawatt for years")]
fn joules(millijoules: u64) -> f64 {
    millijoules as f64 / 1000.0
}
