//! Ticks of a pretend machine: what a scenario does, as if a sampler had looked at it,
//! without a library and without a clock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probe::card::{
    Basis, CardFacts, CardLook, InstanceFacts, MemorySource, MemoryUse, Utilization, Vitals,
};
use probe::nvml::{DriverFacts, OpenError};
use probe::process::{Holder, Holders, Kinds, Presence, ProcessFacts};
use probe::units::{Bytes, Celsius, Milliwatts, Percent, UnixMillis};
use probe::{Reading, Why};
use scenario::state::Place;
use scenario::{Card, Kind, Moment, Process, Scenario};

use super::faults::{self, Trouble};
use super::{CardTick, HolderTick, Tick, behind};

/// For how long a part of the scenario is kept at hand. What runs in a whole history would
/// be looked through at every tick otherwise.
const PART: i64 = 3_600_000;

/// A scenario that is looked at.
#[derive(Debug)]
pub struct Pretend {
    whole: Scenario,
    /// The wall clock at the scenario's `t = 0`.
    origin: UnixMillis,
    driver: DriverFacts,
    places: Vec<Spot>,
    part: Part,
}

/// A card or an instance that is looked at.
#[derive(Debug)]
struct Spot {
    card: usize,
    instance: Option<usize>,
    facts: Arc<CardFacts>,
}

/// What of the scenario matters for a while.
#[derive(Debug)]
struct Part {
    from: UnixMillis,
    to: UnixMillis,
    scenario: Scenario,
    presences: Presences,
}

/// What the host would say of each process, by pid and begin.
type Presences = HashMap<(u32, Moment), Presence>;

impl Pretend {
    /// Plays a scenario whose `t = 0` is at this time.
    #[must_use]
    pub fn new(scenario: Scenario, origin: UnixMillis) -> Self {
        let driver = DriverFacts {
            version: Reading::Known(scenario.driver.version.clone()),
            nvml_version: Reading::Known(scenario.driver.nvml_version.clone()),
            cuda_version: Reading::Known(cuda(scenario.driver.cuda_version)),
            gpus: u32::try_from(scenario.cards.len()).unwrap_or(u32::MAX),
        };
        Self {
            places: scenario.cards.iter().enumerate().flat_map(spots).collect(),
            part: Part::of(&scenario, origin, (origin, origin), HashMap::new()),
            whole: scenario,
            origin,
            driver,
        }
    }

    /// A look at this time, which averages over the time before it.
    pub fn tick(&mut self, at: UnixMillis, over: Duration) -> Tick {
        let from = UnixMillis(at.0.saturating_sub(millis(over)));
        if from < self.part.from || at > self.part.to {
            let to = UnixMillis(at.0.saturating_add(PART));
            let known = std::mem::take(&mut self.part.presences);
            self.part = Part::of(&self.whole, self.origin, (from, to), known);
        }
        let (begin, now) = (moment(self.origin, from), moment(self.origin, at));
        let driver = match faults::open_error(&self.part.scenario, now) {
            Some(error) => Err(error),
            None => Ok(self.driver.clone()),
        };
        let gone = driver.as_ref().err().map(OpenError::why);
        let cards = self.places.iter().map(|spot| match gone {
            Some(why) => unread(spot, why),
            None => self.card(spot, begin, now, over),
        });
        Tick { at, cards: cards.collect(), driver }
    }

    fn card(&self, spot: &Spot, from: Moment, at: Moment, over: Duration) -> CardTick {
        let Part { scenario, presences, .. } = &self.part;
        let Some(place) = spot.place(scenario) else { return unread(spot, Why::Gone) };
        let trouble = Trouble::of(scenario, place.uuid(), at);
        if let Some(why) = trouble.of_the_card() {
            return unread(spot, why);
        }
        let unless = |why: Option<Why>| why.map_or(Ok(()), Err);
        let percent = scenario.mean_utilization(place, from, at);
        let work = Utilization { percent: Percent(percent), basis: basis(place, over) };
        let listed = unless(trouble.holders).is_ok();
        let processes = scenario.processes_at(place, at).filter(|_| listed);
        let (seen, holders): (Vec<_>, Vec<_>) =
            processes.map(|process| (holder(process, from, at), named(process, presences))).unzip();
        let vitals = Vitals {
            utilization: reading(unless(trouble.work).map(|()| work)),
            memory: reading(unless(trouble.memory).map(|()| memory(scenario, place, at))),
            power: Reading::Known(milliwatts(place.card, percent)),
            temperature: Reading::Known(celsius(place.card, percent)),
            holders: Holders { seen, unread: trouble.holders },
            ..Vitals::unknown(Why::NotAsked)
        };
        let look = CardLook { facts: Arc::clone(&spot.facts), vitals };
        let unattributed = look.unattributed();
        let holders = holders.into();
        CardTick { unattributed, facts: look.facts, vitals: look.vitals, holders }
    }
}

impl Part {
    /// What was found out of processes before still holds.
    fn of(
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
        Self { from, to, presences, scenario }
    }
}

impl Spot {
    fn place<'a>(&self, scenario: &'a Scenario) -> Option<Place<'a>> {
        let card = scenario.cards.get(self.card)?;
        let Some(instance) = self.instance else { return Some(Place::card(card)) };
        Some(Place { card, instance: Some(card.mig.as_ref()?.instances.get(instance)?) })
    }
}

/// A divided card is its instances, any other is itself.
fn spots((card, described): (usize, &Card)) -> Vec<Spot> {
    let instances = described.mig.as_ref().map_or(&[][..], |mig| &mig.instances);
    if instances.is_empty() {
        let facts = Arc::new(facts(described));
        return vec![Spot { card, instance: None, facts }];
    }
    let spot = |(place, instance): (usize, &scenario::Instance)| Spot {
        card,
        instance: Some(place),
        facts: Arc::new(CardFacts {
            uuid: Reading::Known(instance.uuid.clone()),
            name: Reading::Known(format!("{} MIG {}", described.name, instance.profile)),
            instance: Some(InstanceFacts {
                slot: instance.slot,
                gpu_instance: Reading::Known(instance.gpu_instance),
                parent_uuid: Reading::Known(described.uuid.clone()),
            }),
            ..facts(described)
        }),
    };
    instances.iter().enumerate().map(spot).collect()
}

fn facts(card: &Card) -> CardFacts {
    CardFacts {
        uuid: Reading::Known(card.uuid.clone()),
        name: Reading::Known(card.name.clone()),
        minor: Reading::Known(card.minor),
        ..CardFacts::unread(card.index, Why::NotAsked)
    }
}

fn unread(spot: &Spot, why: Why) -> CardTick {
    CardTick {
        facts: Arc::clone(&spot.facts),
        vitals: Vitals::unknown(why),
        unattributed: Reading::Unknown(why),
        holders: Arc::default(),
    }
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

/// What the driver says of a process. Its share of the work is the mean since the last look,
/// of the time in which it was there; an instance has none to tell.
fn holder(process: &Process, from: Moment, at: Moment) -> Holder {
    Holder {
        pid: process.pid,
        kinds: process.kinds.iter().fold(Kinds::default(), |kinds, kind| kinds.and(of(*kind))),
        memory: process
            .memory
            .map_or(Reading::Unknown(Why::NotTold), |bytes| Reading::Known(Bytes(bytes))),
        sm: match process.slot {
            None => Reading::Known(Percent(process.mean_sm(from, at))),
            Some(_) => Reading::Unknown(Why::NotSupported),
        },
        engines: Reading::Unknown(Why::NotAsked),
    }
}

fn named(process: &Process, presences: &Presences) -> HolderTick {
    let known = presences.get(&(process.pid, process.begin));
    HolderTick {
        pid: process.pid,
        process: known.cloned().unwrap_or(Presence::Gone),
        command: Reading::Unknown(Why::NotAsked),
    }
}

const fn of(kind: Kind) -> Kinds {
    match kind {
        Kind::Compute => Kinds::COMPUTE,
        Kind::Graphics => Kinds::GRAPHICS,
        Kind::Mps => Kinds::MPS,
    }
}

/// The pretend host was booted in 1970, so that a process has one start whatever the origin.
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
        who: Reading::Known(Arc::new(behind::who(process, whole))),
    }))
}

fn reading<T>(read: Result<T, Why>) -> Reading<T> {
    read.map_or_else(Reading::Unknown, Reading::Known)
}

/// 12060 is 12.6.
const fn cuda(version: i32) -> (i32, i32) {
    (version / 1000, version % 1000 / 10)
}

fn moment(origin: UnixMillis, at: UnixMillis) -> Moment {
    Moment::from_micros(at.0.saturating_sub(origin.0).saturating_mul(1000))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
