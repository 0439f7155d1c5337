//! A simulated host: snapshots of a scenario, without a library and without a clock.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | `unit` | cards and MIG instances |
//! | `identity` | who is behind a process |
//! | `faults` | what the scenario's faults leave unread |

mod faults;
mod identity;
mod unit;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{Basis, MemorySource, MemoryUse, Utilization, Vitals};
use gua_core::classifier::CardActivity;
use gua_core::process::{Holder, Holders, Kinds, Presence, ProcessFacts};
use gua_core::snapshot::{CardNow, HostNow, SeenProcess, Snapshot};
use gua_core::units::{Bytes, Celsius, Milliwatts, Percent, UnixMillis};
use gua_core::{Reading, Reason, Thresholds};
use probe::nvml::OpenError;
use scenario::state::Place;
use scenario::{Card, Kind, Moment, Process, Scenario};

use faults::Unread;
pub use identity::identify;
pub use unit::Unit;

/// Time for which a part of the scenario is kept at hand: a whole history has too many processes to look
/// through at every snapshot.
const PART_MS: i64 = 3_600_000;

/// A host that plays a scenario.
#[derive(Debug)]
pub struct SimulatedHost {
    whole: Scenario,
    /// Time of the scenario's `t = 0`.
    origin: UnixMillis,
    thresholds: Thresholds,
    units: Vec<Unit>,
    part: Part,
}

/// What of the scenario matters for a while.
#[derive(Debug)]
struct Part {
    from: UnixMillis,
    to: UnixMillis,
    scenario: Scenario,
    presences: Presences,
}

/// What the host says of each process, by pid and begin.
type Presences = HashMap<(u32, Moment), Presence>;

impl SimulatedHost {
    /// Returns a host that plays a scenario whose `t = 0` is at this time.
    #[must_use]
    pub fn new(scenario: Scenario, origin: UnixMillis, thresholds: Thresholds) -> Self {
        Self {
            units: Unit::all(&scenario),
            part: Part::new(&scenario, origin, (origin, origin), HashMap::new()),
            whole: scenario,
            origin,
            thresholds,
        }
    }

    /// Returns a snapshot at a time, which averages over the time before it.
    pub fn snapshot(&mut self, at: UnixMillis, over: Duration) -> Snapshot {
        let from = UnixMillis(at.0.saturating_sub(millis(over)));
        if from < self.part.from || at > self.part.to {
            let to = UnixMillis(at.0.saturating_add(PART_MS));
            let known = std::mem::take(&mut self.part.presences);
            self.part = Part::new(&self.whole, self.origin, (from, to), known);
        }
        let (begin, now) = (moment(self.origin, from), moment(self.origin, at));
        let error = faults::open_error(&self.part.scenario, now);
        let away = error.as_ref().map(OpenError::why);
        let card = |unit: &Unit| {
            let (vitals, processes) = match away {
                Some(reason) => unread(reason),
                None => self.look(unit, begin, now, over),
            };
            let thresholds = &self.thresholds;
            let activity =
                CardActivity::from_look(&unit.facts, &vitals, &processes, at, thresholds);
            CardNow::new(&activity, &vitals, &processes, at.into(), thresholds)
        };
        let cards = self.units.iter().map(card).collect();
        Snapshot::live(at.into(), self.host_now(error.map(|it| (it.why(), it.to_string()))), cards)
    }

    /// Returns why the driver cannot be read at a time.
    #[must_use]
    pub fn driver_error(&self, at: UnixMillis) -> Option<OpenError> {
        faults::open_error(&self.whole, moment(self.origin, at))
    }

    /// Returns what is known of the host. An error is that of the driver, with its reason.
    fn host_now(&self, error: Option<(Reason, String)>) -> HostNow {
        let Scenario { host_name, driver, cards, .. } = &self.whole;
        let host = Some(host_name.clone());
        if let Some((reason, error)) = error {
            let (cuda, gpus) = (Reading::Unknown(reason), Reading::Unknown(reason));
            return HostNow::new(host, Reading::Unknown(reason), cuda, gpus, Some(error));
        }
        let cuda = cuda_version(driver.cuda_version);
        let gpus = u32::try_from(cards.len()).unwrap_or(u32::MAX);
        let version = Reading::Known(driver.version.clone());
        HostNow::new(host, version, Reading::Known(cuda), Reading::Known(gpus), None)
    }

    fn look(
        &self,
        unit: &Unit,
        from: Moment,
        at: Moment,
        over: Duration,
    ) -> (Vitals, Vec<SeenProcess>) {
        let Part { scenario, presences, .. } = &self.part;
        let Some(place) = unit.place(scenario) else { return unread(Reason::Gone) };
        let faults = Unread::new(scenario, place.uuid(), at);
        if let Some(reason) = faults.whole_card() {
            return unread(reason);
        }
        let percent = scenario.mean_utilization(place, from, at);
        let work = Utilization { percent: Percent(percent), basis: basis(place, over) };
        let listed = scenario.processes_at(place, at).filter(|_| faults.holders.is_none());
        let (seen, processes) = listed
            .map(|process| (holder(process, from, at), seen_process(process, presences)))
            .unzip();
        let vitals = Vitals {
            utilization: unless(faults.work, || work),
            memory: unless(faults.memory, || memory(scenario, place, at)),
            power: Reading::Known(milliwatts(place.card, percent)),
            temperature: Reading::Known(celsius(place.card, percent)),
            holders: Holders { seen, unread: faults.holders },
            ..Vitals::unknown(Reason::NotAsked)
        };
        (vitals, processes)
    }
}

impl Part {
    /// What was found out of processes before still holds.
    fn new(
        whole: &Scenario,
        origin: UnixMillis,
        (from, to): (UnixMillis, UnixMillis),
        mut known: Presences,
    ) -> Self {
        let mut scenario = whole.during(moment(origin, from), moment(origin, to));
        // As a library lists them.
        scenario.processes.sort_by_key(|process| process.pid);
        let mut presences = Presences::new();
        for process in &scenario.processes {
            let key = (process.pid, process.begin);
            let found = known.remove(&key);
            let found = || found.unwrap_or_else(|| presence(process, whole, origin));
            presences.entry(key).or_insert_with(found);
        }
        Self { from, to, scenario, presences }
    }
}

fn unread(reason: Reason) -> (Vitals, Vec<SeenProcess>) {
    (Vitals::unknown(reason), Vec::new())
}

/// Returns a value that is known, unless there is a reason why not.
fn unless<T>(reason: Option<Reason>, value: impl FnOnce() -> T) -> Reading<T> {
    reason.map_or_else(|| Reading::Known(value()), Reading::Unknown)
}

fn basis(place: Place<'_>, covers: Duration) -> Basis {
    match place.instance {
        Some(_) => Basis::Counters { covers },
        None => Basis::Samples { count: 1, covers },
    }
}

fn memory(scenario: &Scenario, place: Place<'_>, at: Moment) -> MemoryUse {
    let total = place.instance.map_or(place.card.memory.total, |instance| instance.memory);
    let used = scenario.memory_used_at(place, at);
    let reserved = if place.instance.is_some() { 0 } else { place.card.memory.reserved };
    let source = if place.card.memory.unified { MemorySource::System } else { MemorySource::Card };
    MemoryUse {
        total: Bytes(total),
        used: Bytes(used),
        free: Bytes(total.saturating_sub(used).saturating_sub(reserved)),
        reserved: Reading::Known(Bytes(reserved)),
        source,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn milliwatts(card: &Card, percent: f64) -> Milliwatts {
    let power = &card.power;
    let watts = power.idle_watts + (power.full_watts - power.idle_watts) * percent / 100.0;
    Milliwatts((watts * 1000.0) as u32)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn celsius(card: &Card, percent: f64) -> Celsius {
    Celsius(card.temperature.at(percent) as u32)
}

/// Returns what the driver says of a process. Its SM use is the mean since the last look; an instance
/// tells none.
fn holder(process: &Process, from: Moment, at: Moment) -> Holder {
    let memory = process.memory.map(Bytes);
    Holder {
        pid: process.pid,
        kinds: kinds(process),
        memory: memory.map_or(Reading::Unknown(Reason::NotTold), Reading::Known),
        sm: match process.slot {
            None => Reading::Known(Percent(process.mean_sm(from, at))),
            Some(_) => Reading::Unknown(Reason::NotSupported),
        },
        engines: Reading::Unknown(Reason::NotAsked),
    }
}

fn seen_process(process: &Process, presences: &Presences) -> SeenProcess {
    let known = presences.get(&(process.pid, process.begin));
    SeenProcess {
        pid: process.pid,
        presence: known.cloned().unwrap_or(Presence::Gone),
        command: Reading::Unknown(Reason::NotAsked),
    }
}

/// Returns how a process uses its cards.
#[must_use]
pub fn kinds(process: &Process) -> Kinds {
    let kind = |kind: &Kind| match kind {
        Kind::Compute => Kinds::COMPUTE,
        Kind::Graphics => Kinds::GRAPHICS,
        Kind::Mps => Kinds::MPS,
    };
    process.kinds.iter().map(kind).fold(Kinds::default(), Kinds::and)
}

/// Returns what the host says of a process. The host was booted in 1970, so that a process has the same
/// start whatever the origin.
fn presence(process: &Process, whole: &Scenario, origin: UnixMillis) -> Presence {
    if process.owner.gone {
        return Presence::Gone;
    }
    let started = origin.0.saturating_add(process.begin.as_micros() / 1000);
    Presence::Here(Arc::new(ProcessFacts {
        pid: process.pid,
        parent: process.owner.parent,
        start_ticks: u64::try_from(started / 10).unwrap_or(0),
        started: Reading::Known(UnixMillis(started)),
        program: process.owner.program.as_str().into(),
        uid: Reading::Known(process.owner.uid),
        user: Reading::Known(process.owner.user.as_deref().map(Into::into)),
        who: Reading::Known(Arc::new(identify(process, whole))),
    }))
}

/// Returns major and minor version: 12060 is 12.6.
const fn cuda_version(version: i32) -> (i32, i32) {
    (version / 1000, version % 1000 / 10)
}

fn moment(origin: UnixMillis, at: UnixMillis) -> Moment {
    Moment::from_micros(at.0.saturating_sub(origin.0).saturating_mul(1000))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
