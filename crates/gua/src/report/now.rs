//! What is each card doing now, and who holds it?

use jiff::Timestamp;
use probe::card::{self, CardFacts, MemoryUse, Utilization, Vitals};
use probe::nvml::OpenError;
use probe::process::{self, ProcessFacts};
use probe::units::{Bytes, Milliwatts};
use probe::{Reading, Why};
use serde::Serialize;

use super::identity;
use super::reservation::Reservation;
use super::unknowns::{Reason, Unknowns};
use crate::calendar;
use crate::classify::{self, Holds, State, Thresholds, Workers};
use crate::ledger::ProcessKey;
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

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    #[serde(flatten)]
    pub identity: Identity,
    pub state: State,
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
    /// Somebody who is not listed, where there is or may be one.
    #[serde(skip)]
    pub unseen: Option<Unseen>,
    /// Who was given it and may not hold it yet.
    pub reservations: Vec<Reservation>,
    pub unknown: Unknowns,
}

/// Somebody on a card who is not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen {
    /// Unknown where that cannot be told.
    pub memory: Reading<Bytes>,
    /// Why the list is not complete, where it is not.
    pub unread: Option<Why>,
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

impl Identity {
    /// Its number as it is shown.
    #[must_use]
    pub fn label(&self) -> String {
        card::label(self.index, self.mig_slot)
    }
}

/// What a utilization rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    Samples,
    Counters,
    Instant,
}

impl From<card::Basis> for Basis {
    fn from(basis: card::Basis) -> Self {
        match basis {
            card::Basis::Samples { .. } => Self::Samples,
            card::Basis::Counters { .. } => Self::Counters,
            card::Basis::Instant => Self::Instant,
        }
    }
}

/// How busy it was, and over what time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Work {
    pub utilization_percent: Option<f64>,
    pub utilization_basis: Option<Basis>,
    /// Null for an instant.
    pub utilization_covers_seconds: Option<f64>,
}

/// Whose memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    Card,
    System,
}

impl From<card::MemorySource> for MemorySource {
    fn from(source: card::MemorySource) -> Self {
        match source {
            card::MemorySource::Card => Self::Card,
            card::MemorySource::System => Self::System,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    pub memory_used_bytes: Option<u64>,
    pub memory_free_bytes: Option<u64>,
    pub memory_total_bytes: Option<u64>,
    /// Null where the driver counts its reserve as used.
    pub memory_reserved_bytes: Option<u64>,
    pub memory_source: Option<MemorySource>,
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

/// Where the process behind a pid is, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    Here,
    Gone,
    Foreign,
    Hidden,
    /// The host did not show it, and why was not written down.
    NotRecorded,
}

impl From<&process::Presence> for Presence {
    fn from(presence: &process::Presence) -> Self {
        match presence {
            process::Presence::Here(_) => Self::Here,
            process::Presence::Gone => Self::Gone,
            process::Presence::Foreign => Self::Foreign,
            process::Presence::Hidden(_) => Self::Hidden,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    pub pid: u32,
    /// What it is known by in a record.
    #[serde(skip)]
    pub key: ProcessKey,
    /// What it does itself, where that is told; else what its card does.
    #[serde(skip)]
    pub state: State,
    pub presence: Presence,
    #[serde(flatten)]
    pub owner: Owner,
    /// Only when asked for: arguments may hold secrets.
    pub command: Option<Vec<String>>,
    pub kinds: Vec<&'static str>,
    pub memory_bytes: Option<u64>,
    pub sm_percent: Option<f64>,
    /// Who is behind it, where that was asked.
    #[serde(skip)]
    pub identity: Reading<identity::Identity>,
    pub unknown: Unknowns,
}

/// What the host knows of a holder.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Owner {
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub program: Option<String>,
    pub parent_pid: Option<u32>,
    pub started: Option<Timestamp>,
    pub running_seconds: Option<f64>,
}

/// Answers from one tick of this host.
#[must_use]
pub fn now(tick: &Tick, host: Option<&str>, thresholds: &Thresholds) -> Now {
    let time = calendar::nearest(tick.at);
    let mut unknown = Unknowns::default();
    let (version, cuda) = match &tick.driver {
        Ok(driver) => (driver.version.clone(), driver.cuda_version),
        Err(error) => (Reading::Unknown(error.why()), Reading::Unknown(error.why())),
    };
    if host.is_none() {
        unknown.note("host", Reason::NoName);
    }
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
    let CardTick { facts, vitals, unattributed, .. } = tick;
    let mut unknown = Unknowns::default();
    let state = classify::state(vitals, thresholds);
    if let Some(why) = vitals.holders.unread {
        unknown.note("holders", why);
    }
    Card {
        identity: identity(facts, &mut unknown),
        state,
        state_reason: match state {
            State::Unknown(why) => Some(why.to_string()),
            _ => None,
        },
        work: work(vitals.utilization, &mut unknown),
        memory: memory(vitals.memory, *unattributed, &mut unknown),
        sensors: sensors(vitals, facts.power_limit(), &mut unknown),
        holders_complete: vitals.holders.unread.is_none(),
        holders: holders(tick, state, now, thresholds),
        unseen: unseen(vitals, state, thresholds),
        reservations: Vec::new(),
        unknown,
    }
}

/// Who is on a card without being listed, where somebody is or may be.
fn unseen(vitals: &Vitals, state: State, thresholds: &Thresholds) -> Option<Unseen> {
    let Vitals { memory, holders, .. } = vitals;
    let is_untold = holders.seen.iter().any(|holder| holder.memory.why().is_some());
    // What a listed holder does not tell is his own, as far as anybody knows.
    let amount = classify::unseen(vitals).filter(|_| holders.unread.is_some() || !is_untold);
    let is_much = amount.is_some_and(|bytes| bytes > thresholds.held);
    // Where nobody is listed and nothing says that it is free, somebody may be there.
    let may_be = holders.seen.is_empty() && state != State::TrulyIdle;
    if !is_much && !may_be && holders.unread.is_none() {
        return None;
    }
    // Where the driver counts its reserve as used, a little is not told from nothing.
    let is_exact = memory.is_known_and(|memory| memory.reserved.why().is_none());
    let why = memory.why().unwrap_or(Why::NotTold);
    let amount = amount.filter(|_| is_exact || is_much);
    let memory = amount.map_or(Reading::Unknown(why), Reading::Known);
    Some(Unseen { memory, unread: holders.unread })
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
    let basis = unknown.take("utilization_basis", reading).map(|work| work.basis);
    let covers = unknown.take("utilization_covers_seconds", reading).and_then(|w| covers(w.basis));
    if basis == Some(card::Basis::Instant) {
        unknown.note("utilization_covers_seconds", Reason::Instant);
    }
    Work {
        utilization_percent: unknown
            .take("utilization_percent", reading)
            .map(|work| tenths(work.percent.0)),
        utilization_basis: basis.map(Basis::from),
        utilization_covers_seconds: covers,
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
        memory_source: unknown
            .take("memory_source", reading)
            .map(|memory| MemorySource::from(memory.source)),
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

fn holders(tick: &CardTick, card: State, now: Timestamp, thresholds: &Thresholds) -> Vec<Holder> {
    let workers = Workers::of(&tick.vitals, card, thresholds);
    let state =
        |held: &process::Holder| workers.work(held).state(Holds::of(held.memory, thresholds), card);
    tick.held().map(|(held, who)| Holder { state: state(held), ..holder(held, who, now) }).collect()
}

/// One of them, of whom it is not known yet what it does.
pub(super) fn holder(held: &process::Holder, tick: &HolderTick, now: Timestamp) -> Holder {
    let mut unknown = Unknowns::default();
    let owner = match &tick.process {
        process::Presence::Here(facts) => owner(facts, now, &mut unknown),
        process::Presence::Gone => nobody(Why::Gone.into(), &mut unknown),
        process::Presence::Foreign => nobody(Reason::Foreign, &mut unknown),
        process::Presence::Hidden(why) => nobody((*why).into(), &mut unknown),
    };
    let command = command(tick, &mut unknown);
    let memory = unknown.take("memory_bytes", held.memory);
    let sm = unknown.take("sm_percent", held.sm);
    let start_ticks = match &tick.process {
        process::Presence::Here(facts) => Some(facts.start_ticks),
        process::Presence::Gone | process::Presence::Foreign | process::Presence::Hidden(_) => None,
    };
    Holder {
        pid: held.pid,
        key: ProcessKey { pid: tick.pid, start_ticks },
        state: State::Unknown(Why::NotAsked),
        presence: Presence::from(&tick.process),
        owner,
        command,
        kinds: held.kinds.names().collect(),
        memory_bytes: memory.map(|bytes| bytes.0),
        sm_percent: sm.map(|percent| tenths(percent.0)),
        identity: behind(&tick.process),
        unknown,
    }
}

fn behind(process: &process::Presence) -> Reading<identity::Identity> {
    match process {
        process::Presence::Here(facts) => facts.who.as_ref().map(|who| (**who).clone()),
        process::Presence::Gone => Reading::Unknown(Why::Gone),
        process::Presence::Foreign => Reading::Unknown(Why::Foreign),
        process::Presence::Hidden(why) => Reading::Unknown(*why),
    }
}

/// Not asked for is no doubt, and not worth a reason.
fn command(tick: &HolderTick, unknown: &mut Unknowns) -> Option<Vec<String>> {
    match (tick.command.why(), &tick.process) {
        (None | Some(Why::NotAsked), _) => {}
        (Some(_), process::Presence::Foreign) => unknown.note("command", Reason::Foreign),
        (Some(why), _) => unknown.note("command", why),
    }
    tick.command.clone().known()
}

fn owner(facts: &ProcessFacts, now: Timestamp, unknown: &mut Unknowns) -> Owner {
    let started = match facts.started.map(calendar::timestamp) {
        Reading::Known(Some(started)) => Reading::Known(started),
        Reading::Known(None) => Reading::Unknown(Why::Garbled),
        Reading::Unknown(why) => Reading::Unknown(why),
    };
    let running = match started {
        Reading::Known(started) => running_seconds(started, now),
        Reading::Unknown(why) => Reading::Unknown(why),
    };
    let user = match &facts.user {
        Reading::Known(None) => {
            unknown.note("user", Reason::NoName);
            None
        }
        Reading::Known(name) => name.clone(),
        Reading::Unknown(why) => {
            unknown.note("user", Reason::from(*why));
            None
        }
    };
    Owner {
        user: user.map(|user| user.to_string()),
        uid: unknown.take("uid", facts.uid),
        program: Some(facts.program.to_string()),
        parent_pid: Some(facts.parent),
        started: unknown.take("started", started),
        running_seconds: unknown.take("running_seconds", running),
    }
}

/// Of a process that cannot be seen nothing is known, each part for the same reason.
fn nobody(reason: Reason, unknown: &mut Unknowns) -> Owner {
    for field in ["user", "uid", "program", "parent_pid", "started", "running_seconds"] {
        unknown.note(field, reason);
    }
    Owner::default()
}

/// Since boot is counted in ticks and boot is told in whole seconds, so a start may lie a
/// little ahead; further ahead, one of the clocks is wrong.
fn running_seconds(started: Timestamp, now: Timestamp) -> Reading<f64> {
    match now.duration_since(started).as_secs_f64() {
        seconds if seconds < -JITTER_SECONDS => Reading::Unknown(Why::Garbled),
        seconds => Reading::Known(seconds.max(0.0)),
    }
}

fn covers(basis: card::Basis) -> Option<f64> {
    match basis {
        card::Basis::Samples { covers, .. } | card::Basis::Counters { covers } => {
            Some(covers.as_secs_f64())
        }
        card::Basis::Instant => None,
    }
}

/// More digits than the driver's whole percents would pretend to know.
fn tenths(percent: f64) -> f64 {
    // A sum may come out as a zero with a sign, which would be shown.
    (percent * 10.0).round() / 10.0 + 0.0
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 9 · 10^15 mJ, a gigawatt for years")]
fn joules(millijoules: u64) -> f64 {
    millijoules as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn shown(process: process::Presence, command: Reading<Vec<String>>) -> serde_json::Value {
        let memory = Reading::Known(Bytes(1));
        let sm = Reading::Known(probe::units::Percent(0.0));
        let kinds = process::Kinds::COMPUTE;
        let engines = Reading::Unknown(Why::NotAsked);
        let holder = process::Holder { pid: 7, kinds, memory, sm, engines };
        let tick = HolderTick { pid: 7, process, command };
        serde_json::to_value(super::holder(&holder, &tick, Timestamp::UNIX_EPOCH)).unwrap()
    }

    fn nameless(uid: Reading<u32>) -> process::Presence {
        process::Presence::Here(Arc::new(ProcessFacts {
            pid: 7,
            parent: 1,
            start_ticks: 0,
            started: Reading::Unknown(Why::Garbled),
            program: "x".into(),
            uid,
            user: uid.map(|_| None),
            who: Reading::Unknown(Why::NotAsked),
        }))
    }

    #[test]
    fn each_null_of_a_holder_has_its_reason() {
        let cases = [
            (process::Presence::Gone, "gone"),
            (process::Presence::Foreign, "foreign"),
            (process::Presence::Hidden(Why::NoPermission), "no_permission"),
        ];
        for (process, slug) in cases {
            let is_gone = process == process::Presence::Gone;
            let why = if is_gone { Why::Gone } else { Why::NoPermission };
            let holder = shown(process, Reading::Unknown(why));
            let fields = ["user", "uid", "program", "parent_pid", "started", "running_seconds"];
            for field in fields.into_iter().chain(["command"]) {
                assert!(holder[field].is_null(), "{field}: {holder}");
                assert_eq!(holder["unknown"][field], slug, "{field}");
            }
        }
    }

    #[test]
    fn a_user_without_a_name_is_told_from_one_that_is_not_known() {
        let holder = shown(nameless(Reading::Known(5)), Reading::Unknown(Why::NotAsked));
        let unknown = serde_json::json!({
            "user": "no_name", "started": "garbled", "running_seconds": "garbled",
        });
        assert_eq!((&holder["uid"], &holder["unknown"]), (&5.into(), &unknown));
        let command = Reading::Unknown(Why::NoPermission);
        let holder = shown(nameless(Reading::Unknown(Why::NoPermission)), command);
        for field in ["user", "uid", "command"] {
            assert_eq!(holder["unknown"][field], "no_permission", "{field}");
        }
    }

    #[test]
    fn a_moment_covers_no_time_and_says_so() {
        let mut unknown = Unknowns::default();
        let percent = probe::units::Percent(30.0);
        let instant = Utilization { percent, basis: card::Basis::Instant };
        let work = work(Reading::Known(instant), &mut unknown);
        assert_eq!(work.utilization_basis, Some(Basis::Instant));
        let unknown = serde_json::to_value(unknown).unwrap();
        assert_eq!(unknown, serde_json::json!({"utilization_covers_seconds": "instant"}));
    }

    #[test]
    fn a_host_without_a_name_has_a_reason() {
        let at = probe::units::UnixMillis(0);
        let driver = Err(OpenError::DriverNotLoaded);
        let tick = Tick { at, driver, cards: Vec::new() };
        let now = serde_json::to_value(now(&tick, None, &Thresholds::default())).unwrap();
        assert_eq!((&now["host"], &now["unknown"]["host"]), (&().into(), &"no_name".into()));
    }

    #[test]
    fn a_start_in_the_future_is_not_just_now() {
        let now = Timestamp::from_second(1_000).unwrap();
        let running = |second| running_seconds(Timestamp::from_second(second).unwrap(), now);
        assert_eq!(running(940), Reading::Known(60.0));
        assert_eq!(running(1_002), Reading::Known(0.0));
        assert_eq!(running(1_003), Reading::Unknown(Why::Garbled));
    }
}
