//! What is each card doing now, and who holds it?

use std::collections::BTreeMap;

use jiff::Timestamp;
use probe::card::{Basis, CardFacts, MemorySource, MemoryUse, Utilization, Vitals};
use probe::nvml::OpenError;
use probe::process::Presence;
use probe::units::{Bytes, Milliwatts};
use probe::{Reading, Why};
use serde::{Serialize, Serializer};

use crate::classify::{self, State, Thresholds};
use crate::sampler::{CardTick, HolderTick, Tick};

/// How far ahead of now a process may seem to have started.
const JITTER_SECONDS: f64 = 2.0;

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
    pub unknown: Unknowns,
}

/// Reasons by field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unknowns(BTreeMap<&'static str, Why>);

impl Unknowns {
    /// Why a field is not known.
    #[must_use]
    pub fn why(&self, field: &str) -> Option<Why> {
        self.0.get(field).copied()
    }

    /// Takes the value out of a reading, and keeps the reason where there is none.
    fn take<T>(&mut self, field: &'static str, reading: Reading<T>) -> Option<T> {
        if let Some(why) = reading.why() {
            self.note(field, why);
        }
        reading.known()
    }

    fn note(&mut self, field: &'static str, why: Why) {
        self.0.insert(field, why);
    }
}

impl Serialize for Unknowns {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(field, why)| (field, why.slug())))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    #[serde(flatten)]
    pub identity: Identity,
    pub state: &'static str,
    /// In words, for a state that is unknown.
    pub state_reason: Option<String>,
    #[serde(flatten)]
    pub work: Work,
    #[serde(flatten)]
    pub memory: Memory,
    #[serde(flatten)]
    pub sensors: Sensors,
    /// False when a process list could not be read: there may be more holders.
    pub holders_complete: bool,
    pub holders: Vec<Holder>,
    pub unknown: Unknowns,
}

/// Which card it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    pub index: u32,
    /// The MIG slot; null for a whole GPU.
    pub mig_slot: Option<u32>,
    pub uuid: Option<String>,
    /// Of a MIG instance, that of its GPU.
    pub parent_uuid: Option<String>,
    pub name: Option<String>,
    pub bus_id: Option<String>,
    pub minor: Option<u32>,
}

/// How busy it was, and over what time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Work {
    pub utilization_percent: Option<f64>,
    pub utilization_basis: Option<&'static str>,
    /// Null for an instant.
    pub utilization_covers_seconds: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    pub memory_used_bytes: Option<u64>,
    pub memory_free_bytes: Option<u64>,
    pub memory_total_bytes: Option<u64>,
    /// Null where the driver counts its reserve as used.
    pub memory_reserved_bytes: Option<u64>,
    pub memory_source: Option<&'static str>,
    pub memory_unattributed_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sensors {
    pub power_watts: Option<f64>,
    pub power_limit_watts: Option<f64>,
    pub energy_joules: Option<f64>,
    pub temperature_celsius: Option<u32>,
    pub sm_clock_mhz: Option<u32>,
    pub memory_clock_mhz: Option<u32>,
    pub encoder_percent: Option<f64>,
    pub decoder_percent: Option<f64>,
    pub fan_percent: Option<f64>,
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
    let mut unknown = Unknowns::default();
    let (version, cuda) = match &tick.driver {
        Ok(driver) => (driver.version.clone(), driver.cuda_version),
        Err(error) => (Reading::Unknown(error.why()), Reading::Unknown(error.why())),
    };
    Now {
        schema: "gua.stat/1",
        time,
        host: host.map(str::to_owned),
        driver_version: unknown.take("driver_version", version),
        cuda_version: unknown
            .take("cuda_version", cuda)
            .map(|(major, minor)| format!("{major}.{minor}")),
        driver_error: tick.driver.as_ref().err().map(OpenError::to_string),
        cards: tick.cards.iter().map(|tick| card(tick, time, thresholds)).collect(),
        unknown,
    }
}

fn card(tick: &CardTick, now: Timestamp, thresholds: &Thresholds) -> Card {
    let CardTick { facts, vitals, unattributed, holders } = tick;
    let mut unknown = Unknowns::default();
    let state = classify::state(vitals, thresholds);
    if let Some(why) = vitals.holders.unread {
        unknown.note("holders", why);
    }
    Card {
        identity: identity(facts, &mut unknown),
        state: state.word(),
        state_reason: match state {
            State::Unknown(why) => Some(why.to_string()),
            _ => None,
        },
        work: work(vitals.utilization, &mut unknown),
        memory: memory(vitals.memory, *unattributed, &mut unknown),
        sensors: sensors(vitals, facts.power_limit(), &mut unknown),
        holders_complete: vitals.holders.unread.is_none(),
        holders: holders.iter().map(|tick| holder(tick, now)).collect(),
        unknown,
    }
}

fn identity(facts: &CardFacts, unknown: &mut Unknowns) -> Identity {
    let instance = facts.instance.as_ref();
    Identity {
        index: facts.index,
        mig_slot: instance.map(|instance| instance.slot),
        uuid: unknown.take("uuid", facts.uuid.clone()),
        parent_uuid: instance
            .and_then(|instance| unknown.take("parent_uuid", instance.parent_uuid.clone())),
        name: unknown.take("name", facts.name.clone()),
        bus_id: unknown.take("bus_id", facts.bus_id.clone()),
        minor: unknown.take("minor", facts.minor),
    }
}

fn work(reading: Reading<Utilization>, unknown: &mut Unknowns) -> Work {
    Work {
        utilization_percent: unknown
            .take("utilization_percent", reading)
            .map(|work| tenths(work.percent.0)),
        utilization_basis: unknown.take("utilization_basis", reading).map(|work| basis(work.basis)),
        utilization_covers_seconds: unknown
            .take("utilization_covers_seconds", reading)
            .and_then(|work| covers(work.basis)),
    }
}

fn memory(
    reading: Reading<MemoryUse>,
    unattributed: Reading<Bytes>,
    unknown: &mut Unknowns,
) -> Memory {
    let reserved = match reading {
        Reading::Known(memory) => memory.reserved,
        Reading::Unknown(why) => Reading::Unknown(why),
    };
    let mut bytes = |field, reading: Reading<Bytes>| unknown.take(field, reading).map(|b| b.0);
    Memory {
        memory_used_bytes: bytes("memory_used_bytes", reading.map(|memory| memory.used)),
        memory_free_bytes: bytes("memory_free_bytes", reading.map(|memory| memory.free)),
        memory_total_bytes: bytes("memory_total_bytes", reading.map(|memory| memory.total)),
        memory_reserved_bytes: bytes("memory_reserved_bytes", reserved),
        memory_unattributed_bytes: bytes("memory_unattributed_bytes", unattributed),
        memory_source: unknown.take("memory_source", reading).map(|memory| match memory.source {
            MemorySource::Card => "card",
            MemorySource::System => "system",
        }),
    }
}

fn sensors(vitals: &Vitals, limit: Reading<Milliwatts>, unknown: &mut Unknowns) -> Sensors {
    let milli = |value: u32| f64::from(value) / 1000.0;
    Sensors {
        power_watts: unknown.take("power_watts", vitals.power).map(|power| milli(power.0)),
        power_limit_watts: unknown.take("power_limit_watts", limit).map(|limit| milli(limit.0)),
        energy_joules: unknown.take("energy_joules", vitals.energy).map(|energy| joules(energy.0)),
        temperature_celsius: unknown.take("temperature_celsius", vitals.temperature).map(|t| t.0),
        sm_clock_mhz: unknown.take("sm_clock_mhz", vitals.sm_clock).map(|clock| clock.0),
        memory_clock_mhz: unknown.take("memory_clock_mhz", vitals.memory_clock).map(|c| c.0),
        encoder_percent: unknown.take("encoder_percent", vitals.encoder).map(|p| p.0),
        decoder_percent: unknown.take("decoder_percent", vitals.decoder).map(|p| p.0),
        fan_percent: unknown.take("fan_percent", vitals.fan).map(|p| p.0),
    }
}

fn holder(tick: &HolderTick, now: Timestamp) -> Holder {
    let mut unknown = Unknowns::default();
    let process = match &tick.process {
        Presence::Here(facts) => Some(facts),
        Presence::Gone | Presence::Foreign | Presence::Hidden(_) => None,
    };
    let started = process
        .and_then(|facts| unknown.take("started", facts.started))
        .and_then(|started| Timestamp::from_millisecond(started.0).ok());
    let running = started.map(|started| running_seconds(started, now));
    let memory = unknown.take("memory_bytes", tick.holder.memory);
    let sm = unknown.take("sm_percent", tick.holder.sm);
    Holder {
        pid: tick.holder.pid,
        presence: match &tick.process {
            Presence::Here(_) => "here",
            Presence::Gone => "gone",
            Presence::Foreign => "foreign",
            Presence::Hidden(_) => "hidden",
        },
        user: process.and_then(|facts| facts.user.clone()),
        uid: process.and_then(|facts| unknown.take("uid", facts.uid)),
        program: process.map(|facts| facts.program.clone()),
        command: tick.command.clone(),
        parent_pid: process.map(|facts| facts.parent),
        kinds: tick.holder.kinds.names().collect(),
        memory_bytes: memory.map(|bytes| bytes.0),
        sm_percent: sm.map(|percent| tenths(percent.0)),
        started,
        running_seconds: running.and_then(|running| unknown.take("running_seconds", running)),
        unknown,
    }
}

/// Since boot is counted in ticks and boot is told in whole seconds, so a start may lie a
/// little ahead; further ahead, one of the clocks is wrong.
fn running_seconds(started: Timestamp, now: Timestamp) -> Reading<f64> {
    match now.duration_since(started).as_secs_f64() {
        seconds if seconds < -JITTER_SECONDS => Reading::Unknown(Why::Garbled),
        seconds => Reading::Known(seconds.max(0.0)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_in_the_future_is_not_just_now() {
        let now = Timestamp::from_second(1_000).unwrap();
        let running = |second| running_seconds(Timestamp::from_second(second).unwrap(), now);
        assert_eq!(running(940), Reading::Known(60.0));
        assert_eq!(running(1_002), Reading::Known(0.0));
        assert_eq!(running(1_003), Reading::Unknown(Why::Garbled));
    }
}
