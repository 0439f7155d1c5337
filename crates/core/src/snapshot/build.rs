//! Builds what is shown of a card from what was read of it.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    CardIdentity, CardNow, HolderNow, IdleNow, IdleSource, PresenceNow, RequestedNow, SeenProcess,
    UnlistedNow, UtilizationBasis,
};
use crate::card::{Basis, CardFacts, MemoryUse, Utilization, Vitals};
use crate::classifier::CardActivity;
use crate::identity::{Person, Who};
use crate::now::holder_state;
use crate::process::{Engines, Holder, Presence, ProcessFacts};
use crate::reading::{Reading, Reason};
use crate::span::Work;
use crate::state::{State, Thresholds};
use crate::units::{Bytes, Milliwatts, Percent};
use crate::unknowns::{NullReason, Unknowns};

/// Time in seconds that the start of a process may lie ahead of now. Starts are counted in clock
/// ticks since boot, and the time of the boot is known in whole seconds.
const START_TOLERANCE: f64 = 2.0;

impl CardNow {
    /// Returns a card as it was read at a time. `processes` are those of the listed holders; `activity`
    /// is what the card and its holders do, by the classifier or by one look.
    #[must_use]
    pub fn new(
        activity: &CardActivity,
        vitals: &Vitals,
        processes: &[SeenProcess],
        at: Timestamp,
        thresholds: &Thresholds,
    ) -> Self {
        let facts = &*activity.card;
        let mut unknown = Unknowns::default();
        if let Some(reason) = vitals.holders.unread {
            unknown.note("holders", reason);
        }
        let (percent, basis, covers) = utilization(vitals.utilization, &mut unknown);
        let mut memory = |field, part: fn(MemoryUse) -> Bytes| {
            unknown.take(field, vitals.memory.map(part)).map(|bytes| bytes.0)
        };
        Self {
            memory_used_bytes: memory("memory_used_bytes", |memory| memory.used),
            memory_free_bytes: memory("memory_free_bytes", |memory| memory.free),
            memory_total_bytes: memory("memory_total_bytes", |memory| memory.total),
            memory_reserved_bytes: match vitals.memory {
                Reading::Known(memory) => unknown.take("memory_reserved_bytes", memory.reserved),
                Reading::Unknown(reason) => {
                    unknown.take("memory_reserved_bytes", Reading::Unknown(reason))
                }
            }
            .map(|bytes| bytes.0),
            memory_source: unknown.take("memory_source", vitals.memory.map(|memory| memory.source)),
            memory_unattributed_bytes: unknown
                .take("memory_unattributed_bytes", vitals.unattributed())
                .map(|bytes| bytes.0),
            card: CardIdentity::new(facts, &mut unknown),
            state: activity.state,
            utilization_percent: percent,
            utilization_basis: basis,
            utilization_covers_seconds: covers,
            power_watts: unknown.take("power_watts", vitals.power.map(watts)),
            power_limit_watts: unknown.take("power_limit_watts", facts.power_limit().map(watts)),
            energy_joules: unknown.take("energy_joules", vitals.energy.map(|it| joules(it.0))),
            temperature_celsius: unknown
                .take("temperature_celsius", vitals.temperature.map(|t| t.0)),
            sm_clock_mhz: unknown.take("sm_clock_mhz", vitals.sm_clock.map(|clock| clock.0)),
            memory_clock_mhz: unknown.take("memory_clock_mhz", vitals.memory_clock.map(|c| c.0)),
            encoder_percent: unknown.take("encoder_percent", vitals.encoder.map(|it| it.0)),
            decoder_percent: unknown.take("decoder_percent", vitals.decoder.map(|it| it.0)),
            fan_percent: unknown.take("fan_percent", vitals.fan.map(|it| it.0)),
            requested: RequestedNow::new(vitals, &mut unknown),
            holders_complete: vitals.holders.unread.is_none(),
            holders: holders(activity, vitals, processes, at, thresholds),
            unlisted: UnlistedNow::new(vitals, activity.state, thresholds.held),
            reservations: Vec::new(),
            unknown,
        }
    }
}

impl CardNow {
    /// Returns a card that was seen before and cannot be read now.
    #[must_use]
    pub fn into_unread(self, reason: Reason, at: Timestamp) -> Self {
        let facts = CardFacts::unread(self.card.index, reason);
        let activity = CardActivity {
            card: Arc::new(facts),
            state: State::Unknown(reason),
            last_busy: None,
            holders: Vec::new(),
        };
        let vitals = Vitals::unknown(reason);
        let mut unread = Self::new(&activity, &vitals, &[], at, &Thresholds::default());
        const IDENTITY: [&str; 6] =
            ["gpu_instance", "uuid", "parent_uuid", "name", "bus_id", "minor"];
        unread.unknown.replace(&IDENTITY, &self.unknown);
        Self { card: self.card, ..unread }
    }
}

impl CardIdentity {
    fn new(facts: &CardFacts, unknown: &mut Unknowns) -> Self {
        let instance = facts.instance.as_ref();
        Self {
            index: facts.index,
            mig_slot: facts.slot(),
            gpu_instance: instance
                .and_then(|instance| unknown.take("gpu_instance", instance.gpu_instance)),
            uuid: unknown.take("uuid", facts.uuid.clone()),
            parent_uuid: instance
                .and_then(|instance| unknown.take("parent_uuid", instance.parent_uuid.clone())),
            name: unknown.take("name", facts.name.clone()),
            bus_id: unknown.take("bus_id", facts.bus_id.clone()),
            minor: unknown.take("minor", facts.minor),
        }
    }
}

impl RequestedNow {
    fn new(vitals: &Vitals, unknown: &mut Unknowns) -> Self {
        let setup = vitals.setup;
        Self {
            memory_busy_percent: unknown
                .take_requested("memory_busy_percent", vitals.memory_work.map(|it| it.0)),
            performance_state: unknown
                .take_requested("performance_state", vitals.performance.map(|state| state.0)),
            compute_mode: unknown.take_requested("compute_mode", setup.compute_mode),
            persistence_mode: unknown.take_requested("persistence_mode", setup.persistence),
            mig_mode: unknown.take_requested("mig_mode", setup.mig),
            set_power_limit_watts: unknown
                .take_requested("set_power_limit_watts", setup.power_limit.map(watts)),
        }
    }
}

fn utilization(
    reading: Reading<Utilization>,
    unknown: &mut Unknowns,
) -> (Option<f64>, Option<UtilizationBasis>, Option<f64>) {
    let Reading::Known(utilization) = reading else {
        for field in ["utilization_percent", "utilization_basis", "utilization_covers_seconds"] {
            unknown.take(field, reading);
        }
        return (None, None, None);
    };
    let (basis, covers) = match utilization.basis {
        Basis::Samples { covers, .. } => (UtilizationBasis::Samples, Some(covers)),
        Basis::Counters { covers } => (UtilizationBasis::Counters, Some(covers)),
        Basis::Instant => (UtilizationBasis::Instant, None),
    };
    if covers.is_none() {
        unknown.note("utilization_covers_seconds", NullReason::Instant);
    }
    (Some(utilization.percent.0), Some(basis), covers.map(|covers| covers.as_secs_f64()))
}

impl UnlistedNow {
    /// Returns the memory that no listed process holds, where there is or may be some.
    fn new(vitals: &Vitals, state: State, held: Bytes) -> Option<Self> {
        let Vitals { memory, holders, .. } = vitals;
        let is_memory_unknown = holders.seen.iter().any(|holder| holder.memory.why().is_some());
        // Memory that a listed holder does not tell is its own, as far as is known.
        let amount =
            vitals.unlisted_memory().filter(|_| holders.unread.is_some() || !is_memory_unknown);
        let is_much = amount.is_some_and(|bytes| bytes > held);
        // Where nobody is listed and nothing says that the card is free, somebody may be there.
        let may_be_held = holders.seen.is_empty() && state != State::TrulyIdle;
        if !is_much && !may_be_held && holders.unread.is_none() {
            return None;
        }
        // Where the driver counts its reserve as used, a little is the same as nothing.
        let is_exact = memory.is_known_and(|memory| memory.reserved.why().is_none());
        let why = memory.why().unwrap_or(Reason::NotTold);
        let amount = amount.filter(|_| is_exact || is_much);
        let mut unknown = Unknowns::default();
        let memory = amount.map_or(Reading::Unknown(why), |bytes| Reading::Known(bytes.0));
        Some(Self {
            memory_bytes: unknown.take("memory_bytes", memory),
            holders_reason: holders.unread,
            idle: IdleNow::default(),
            unknown,
        })
    }
}

fn holders(
    activity: &CardActivity,
    vitals: &Vitals,
    processes: &[SeenProcess],
    at: Timestamp,
    thresholds: &Thresholds,
) -> Vec<HolderNow> {
    let seen = vitals.holders.seen.iter().zip(processes);
    seen.map(|(holder, process)| {
        let activity_of_holder = activity.holder(holder.pid);
        let work = activity_of_holder.map_or(Work::Unknown, |it| it.work);
        let state = holder_state(work, holder.memory, activity.state, thresholds.held);
        let idle = match activity_of_holder.and_then(|it| it.last_busy) {
            Some(last) if state == State::IdleHeld && work == Work::Idle => {
                IdleNow::since(last.into(), at, IdleSource::Samples)
            }
            _ => IdleNow::default(),
        };
        HolderNow { work, state, idle, ..HolderNow::new(holder, process, at) }
    })
    .collect()
}

impl HolderNow {
    /// Returns a holder of which it is not known yet what it does.
    fn new(holder: &Holder, process: &SeenProcess, at: Timestamp) -> Self {
        let mut unknown = Unknowns::default();
        let mut engine = |field, part: fn(Engines) -> Percent| {
            unknown.take_requested(field, holder.engines.map(part)).map(|percent| percent.0)
        };
        let seen = Self {
            pid: holder.pid,
            memory_busy_percent: engine("memory_busy_percent", |engines| engines.memory),
            encoder_percent: engine("encoder_percent", |engines| engines.encoder),
            decoder_percent: engine("decoder_percent", |engines| engines.decoder),
            start_ticks: None,
            presence: PresenceNow::from(&process.presence),
            user: None,
            uid: None,
            owner: None,
            owner_uid: None,
            program: None,
            parent_pid: None,
            started: None,
            running_seconds: None,
            command: unknown.take_requested("command", command(process)),
            kinds: holder.kinds,
            memory_bytes: unknown.take("memory_bytes", holder.memory).map(|bytes| bytes.0),
            sm_percent: unknown.take("sm_percent", holder.sm).map(|percent| percent.0),
            work: Work::Unknown,
            state: State::Unknown(Reason::NotAsked),
            idle: IdleNow::default(),
            identity: unknown.take_requested("identity", identity(&process.presence)),
            unknown,
        };
        match absence(&process.presence) {
            Ok(facts) => seen.with_facts(facts, at),
            Err(reason) => seen.without_facts(reason),
        }
    }

    fn with_facts(self, facts: &ProcessFacts, at: Timestamp) -> Self {
        let mut unknown = self.unknown;
        let started = facts.started.map(Timestamp::from);
        let running = match started {
            Reading::Known(started) => running_seconds(started, at),
            Reading::Unknown(reason) => Reading::Unknown(reason),
        };
        let owner = unknown.take("owner", facts.user.clone());
        if owner == Some(None) {
            unknown.note("owner", NullReason::NoName);
        }
        let person = facts.person();
        if person.user.is_none() {
            unknown.note("user", why_nameless(facts, &person));
        }
        if person.uid.is_none() {
            let unread = facts.who.why().and(facts.uid.why());
            unknown.note("uid", unread.map_or(NullReason::Unattributed, NullReason::from));
        }
        Self {
            start_ticks: Some(facts.start_ticks),
            user: person.user.map(|user| user.to_string()),
            uid: person.uid,
            owner: owner.flatten().map(|owner| owner.to_string()),
            owner_uid: unknown.take("owner_uid", facts.uid),
            program: Some(facts.program.to_string()),
            parent_pid: Some(facts.parent),
            started: unknown.take("started", started),
            running_seconds: unknown.take("running_seconds", running),
            unknown,
            ..self
        }
    }

    fn without_facts(mut self, reason: Reason) -> Self {
        const FACTS: [&str; 9] = [
            "start_ticks",
            "user",
            "uid",
            "owner",
            "owner_uid",
            "program",
            "parent_pid",
            "started",
            "running_seconds",
        ];
        FACTS.into_iter().for_each(|field| self.unknown.note(field, reason));
        self
    }
}

impl From<&Presence> for PresenceNow {
    fn from(presence: &Presence) -> Self {
        match presence {
            Presence::Here(_) => Self::Here,
            Presence::Gone => Self::Gone,
            Presence::Foreign => Self::Foreign,
            Presence::Hidden(_) => Self::Hidden,
        }
    }
}

/// Returns the facts about a process, or why there are none.
fn absence(presence: &Presence) -> Result<&ProcessFacts, Reason> {
    match presence {
        Presence::Here(facts) => Ok(facts),
        Presence::Gone => Err(Reason::Gone),
        Presence::Foreign => Err(Reason::Foreign),
        Presence::Hidden(reason) => Err(*reason),
    }
}

/// Returns why the person behind a process has no name.
fn why_nameless(facts: &ProcessFacts, person: &Person) -> NullReason {
    match (&facts.who, &facts.user) {
        (Reading::Known(_), _) if person.uid.is_none() => NullReason::Unattributed,
        (Reading::Unknown(_), Reading::Unknown(reason)) => (*reason).into(),
        _ => NullReason::NoName,
    }
}

fn identity(presence: &Presence) -> Reading<Arc<Who>> {
    match absence(presence) {
        Ok(facts) => facts.who.clone(),
        Err(reason) => Reading::Unknown(reason),
    }
}

/// Returns the command line; outside of a container it is another process that has the pid here.
fn command(process: &SeenProcess) -> Reading<Vec<String>> {
    match (process.command.why(), &process.presence) {
        (Some(reason), Presence::Foreign) if reason != Reason::NotAsked => {
            Reading::Unknown(Reason::Foreign)
        }
        _ => process.command.clone(),
    }
}

/// Returns the run time. A start further ahead than the clocks may differ is garbage.
fn running_seconds(started: Timestamp, now: Timestamp) -> Reading<f64> {
    match now.duration_since(started).as_secs_f64() {
        seconds if seconds < -START_TOLERANCE => Reading::Unknown(Reason::Garbled),
        seconds => Reading::Known(seconds.max(0.0)),
    }
}

fn watts(power: Milliwatts) -> f64 {
    f64::from(power.0) / 1000.0
}

fn joules(millijoules: u64) -> f64 {
    millijoules as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{ComputeMode, MemorySource, PerformanceState};
    use crate::identity::{Job, Source, Told, User};
    use crate::process::{Holders, Kinds, ProcessId};
    use crate::units::{Celsius, Megahertz, Millijoules, UnixMillis};

    const NOW: UnixMillis = UnixMillis(1_794_182_400_000);

    fn facts() -> CardFacts {
        CardFacts {
            uuid: Reading::Known("GPU-1".into()),
            name: Reading::Known("A100".into()),
            minor: Reading::Known(0),
            bus_id: Reading::Known("00:01".into()),
            power_limit: Reading::Known(300_000),
            ..CardFacts::unread(0, Reason::NotAsked)
        }
    }

    fn holder(pid: u32) -> Holder {
        Holder {
            pid,
            kinds: Kinds::COMPUTE.and(Kinds::GRAPHICS),
            memory: Reading::Known(Bytes::from_mib(4000)),
            sm: Reading::Known(Percent(60.0)),
            engines: Reading::Known(Engines { memory: Percent(5.0), ..Engines::default() }),
        }
    }

    fn process(pid: u32) -> SeenProcess {
        let job = Told { value: Job { id: "42".into(), step: None }, source: Source::Cgroup };
        let user = User { uid: 1001, name: Some("ann".into()) };
        let user = Told { value: user, source: Source::UserSlice };
        let facts = ProcessFacts {
            pid,
            parent: 1,
            start_ticks: 99,
            started: Reading::Known(UnixMillis(NOW.0 - 60_000)),
            program: "python".into(),
            uid: Reading::Known(0),
            user: Reading::Known(Some("root".into())),
            who: Reading::Known(Arc::new(Who {
                user: Some(user),
                job: Some(job),
                ..Who::default()
            })),
        };
        SeenProcess {
            pid,
            presence: Presence::Here(Arc::new(facts)),
            command: Reading::Known(vec!["python".into(), "train.py".into()]),
        }
    }

    fn known() -> Vitals {
        Vitals {
            utilization: Reading::Known(Utilization {
                percent: Percent(60.0),
                basis: Basis::Samples { count: 30, covers: std::time::Duration::from_secs(5) },
            }),
            memory: Reading::Known(MemoryUse {
                total: Bytes::from_mib(80_000),
                used: Bytes::from_mib(4500),
                free: Bytes::from_mib(75_000),
                reserved: Reading::Known(Bytes::from_mib(500)),
                source: MemorySource::Card,
            }),
            power: Reading::Known(Milliwatts(250_500)),
            energy: Reading::Known(Millijoules(1_500)),
            temperature: Reading::Known(Celsius(60)),
            sm_clock: Reading::Known(Megahertz(1410)),
            memory_clock: Reading::Known(Megahertz(1215)),
            encoder: Reading::Known(Percent(0.0)),
            decoder: Reading::Known(Percent(0.0)),
            fan: Reading::Known(Percent(30.0)),
            performance: Reading::Known(PerformanceState(0)),
            setup: crate::card::Setup {
                compute_mode: Reading::Known(ComputeMode::ExclusiveProcess),
                mig: Reading::Known(false),
                ..crate::card::Setup::unknown(Reason::NotAsked)
            },
            holders: Holders { seen: vec![holder(7)], unread: None },
            ..Vitals::unknown(Reason::NotAsked)
        }
    }

    fn card_now(facts: CardFacts, vitals: &Vitals, processes: &[SeenProcess]) -> CardNow {
        let (card, thresholds) = (Arc::new(facts), Thresholds::default());
        let activity = CardActivity::from_look(&card, vitals, processes, NOW, &thresholds);
        CardNow::new(&activity, vitals, processes, NOW.into(), &thresholds)
    }

    fn json(card: &CardNow) -> serde_json::Value {
        serde_json::to_value(card).unwrap()
    }

    fn from_json(card: &CardNow) -> CardNow {
        serde_json::from_str(&serde_json::to_string(card).unwrap()).unwrap()
    }

    #[test]
    fn known_card_has_flat_fields_with_units() {
        let card = card_now(facts(), &known(), &[process(7)]);
        assert_eq!(from_json(&card), card);
        let json = json(&card);
        assert_eq!(json["unknown"], serde_json::json!({}));
        for (field, value) in [
            ("state", serde_json::json!("active")),
            ("state_reason", serde_json::json!(null)),
            ("utilization_basis", serde_json::json!("samples")),
            ("utilization_covers_seconds", serde_json::json!(5.0)),
            ("memory_free_bytes", serde_json::json!(75_000_u64 << 20)),
            ("memory_source", serde_json::json!("card")),
            ("power_watts", serde_json::json!(250.5)),
            ("energy_joules", serde_json::json!(1.5)),
            ("compute_mode", serde_json::json!("exclusive_process")),
            ("performance_state", serde_json::json!(0)),
            (
                "unlisted",
                serde_json::json!({
                    "memory_bytes": 500 << 20, "holders_reason": null, "idle_since": null,
                    "idle_seconds": null, "idle_certainty": null, "idle_source": null,
                    "idle_doubt": null, "idle_recorded_until": null, "unknown": {},
                }),
            ),
        ] {
            assert_eq!(json[field], value, "{field}");
        }
        assert!(json.get("persistence_mode").is_none(), "not requested");
        let holder = &json["holders"][0];
        for (field, value) in [
            ("pid", serde_json::json!(7)),
            ("start_ticks", serde_json::json!(99)),
            ("user", serde_json::json!("ann")),
            ("uid", serde_json::json!(1001)),
            ("owner", serde_json::json!("root")),
            ("owner_uid", serde_json::json!(0)),
            ("running_seconds", serde_json::json!(60.0)),
            ("kinds", serde_json::json!(["compute", "graphics"])),
            ("work", serde_json::json!("working")),
            ("state", serde_json::json!("active")),
            ("sm_percent", serde_json::json!(60.0)),
            ("memory_busy_percent", serde_json::json!(5.0)),
        ] {
            assert_eq!(holder[field], value, "{field}");
        }
        assert_eq!(holder["identity"]["job"]["source"], "cgroup");
    }

    /// Trap: unknown is null with its reason, never zero. It comes back from the record as such.
    #[test]
    fn every_unknown_reason_comes_back() {
        let codes = [Reason::Code(7), Reason::Code(4_000_000_000)];
        for reason in Reason::NAMED.into_iter().chain(codes) {
            let unread = CardFacts::unread(3, reason);
            let vitals = Vitals::unknown(reason);
            let card = card_now(unread, &vitals, &[]);
            assert_eq!(from_json(&card), card, "{reason}");
            assert_eq!(card.state, State::Unknown(reason));
            assert!(!card.holders_complete && card.unlisted.is_some());
            for (field, value) in json(&card).as_object().unwrap() {
                assert_ne!(*value, serde_json::json!(0), "{field} for {reason}");
            }
            let fields = ["uuid", "memory_used_bytes", "power_watts", "fan_percent", "holders"];
            for field in fields {
                assert_eq!(card.unknown.unread(field), Some(reason), "{field}");
            }
        }
    }

    #[test]
    fn each_null_of_a_holder_has_its_reason() {
        let cases = [
            (Presence::Gone, Reason::Gone, PresenceNow::Gone),
            (Presence::Foreign, Reason::Foreign, PresenceNow::Foreign),
            (Presence::Hidden(Reason::NoPermission), Reason::NoPermission, PresenceNow::Hidden),
        ];
        for (presence, reason, word) in cases {
            let command = Reading::Unknown(reason);
            let process = SeenProcess { pid: 7, presence, command };
            let card = card_now(facts(), &known(), &[process]);
            assert_eq!(from_json(&card), card);
            let holder = &card.holders[0];
            assert_eq!((holder.presence, holder.process()), (word, ProcessId::unread(7)));
            let shown = serde_json::to_value(holder).unwrap();
            for field in [
                "user",
                "uid",
                "owner",
                "owner_uid",
                "program",
                "parent_pid",
                "started",
                "start_ticks",
                "running_seconds",
                "command",
                "identity",
            ] {
                assert!(shown[field].is_null(), "{field}");
                assert_eq!(holder.unknown.unread(field), Some(reason), "{field}");
            }
        }
    }

    #[test]
    fn card_that_cannot_be_read_any_more_keeps_its_identity() {
        let facts = CardFacts { minor: Reading::Unknown(Reason::NoPermission), ..facts() };
        let card = card_now(facts, &known(), &[process(7)]);
        let unread = card.clone().into_unread(Reason::Gone, NOW.into());
        assert_eq!((&unread.card, unread.state), (&card.card, State::Unknown(Reason::Gone)));
        assert_eq!(unread.power_watts, None);
        let reasons = ["uuid", "minor", "power_watts"].map(|field| unread.unknown.unread(field));
        assert_eq!(reasons, [None, Some(Reason::NoPermission), Some(Reason::Gone)]);
    }

    /// The classifier knows the newest sample in which a holder worked.
    #[test]
    fn holder_is_idle_since_its_last_work() {
        let (vitals, processes) = (known(), [process(7)]);
        let thresholds = Thresholds::default();
        let card = Arc::new(facts());
        let look = CardActivity::from_look(&card, &vitals, &processes, NOW, &thresholds);
        let mut activity = CardActivity { state: State::IdleHeld, ..look };
        activity.holders[0].last_busy = Some(UnixMillis(NOW.0 - 8_000));
        let shown = |activity: &CardActivity| {
            CardNow::new(activity, &vitals, &processes, NOW.into(), &thresholds).holders[0].idle
        };
        assert_eq!(shown(&activity), IdleNow::default(), "it works");
        activity.holders[0].work = Work::Idle;
        assert_eq!(shown(&activity).idle_seconds, Some(8.0));
    }

    fn with_facts(change: impl FnOnce(&mut ProcessFacts)) -> HolderNow {
        let mut process = process(7);
        let Presence::Here(facts) = &mut process.presence else { unreachable!() };
        change(Arc::make_mut(facts));
        HolderNow::new(&holder(7), &process, NOW.into())
    }

    /// Trap: the owner of a process in a container may be anybody's root.
    #[test]
    fn user_is_the_person_and_not_the_owner() {
        let behind = |who| with_facts(|facts| facts.who = who);
        let ann = with_facts(|_| ());
        assert_eq!((ann.format_user().as_str(), ann.process().uid), ("ann", Some(0)));
        let nobody = behind(Reading::Known(Arc::new(Who::default())));
        assert_eq!((&*nobody.format_user(), nobody.uid), ("unattributed", None));
        for field in ["user", "uid"] {
            assert_eq!(nobody.unknown.reason(field), Some(NullReason::Unattributed));
        }
        let unread = behind(Reading::Unknown(Reason::NotAsked));
        assert_eq!((&*unread.format_user(), unread.uid), ("root", Some(0)));
    }

    #[test]
    fn user_without_a_name_differs_from_an_unknown_one() {
        let owned = |user| {
            with_facts(|facts| {
                facts.who = Reading::Unknown(Reason::NotAsked);
                facts.user = user;
            })
        };
        let nameless = owned(Reading::Known(None));
        assert_eq!((&*nameless.format_user(), nameless.uid), ("uid 0", Some(0)));
        assert_eq!(nameless.unknown.reason("user"), Some(NullReason::NoName));
        let unread = owned(Reading::Unknown(Reason::NoPermission));
        assert_eq!(unread.unknown.unread("user"), Some(Reason::NoPermission));
    }

    #[test]
    fn start_in_the_future_is_not_just_now() {
        let running = |ahead: i64| {
            with_facts(|facts| facts.started = Reading::Known(UnixMillis(NOW.0 + ahead)))
        };
        assert_eq!(running(-60_000).running_seconds, Some(60.0));
        assert_eq!(running(2_000).running_seconds, Some(0.0));
        let wrong = running(3_000);
        assert_eq!(wrong.running_seconds, None);
        assert_eq!(wrong.unknown.unread("running_seconds"), Some(Reason::Garbled));
    }

    #[test]
    fn value_of_a_moment_covers_no_time() {
        let percent = Percent(30.04);
        let instant = Reading::Known(Utilization { percent, basis: Basis::Instant });
        let card = card_now(facts(), &Vitals { utilization: instant, ..known() }, &[process(7)]);
        assert_eq!(card.utilization_basis, Some(UtilizationBasis::Instant));
        assert_eq!(card.unknown.reason("utilization_covers_seconds"), Some(NullReason::Instant));
        assert_eq!(json(&card)["utilization_percent"], 30.0, "rounded when it is shown");
    }

    /// Memory of a holder that is not told is its own, and no unlisted one.
    #[test]
    fn unlisted_memory_is_shown_where_it_may_be() {
        let unlisted = |change: &dyn Fn(&mut Vitals)| {
            let mut vitals = known();
            change(&mut vitals);
            card_now(facts(), &vitals, &[process(7)]).unlisted
        };
        assert_eq!(unlisted(&|_| ()).and_then(|it| it.memory_bytes), Some(500 << 20));
        let memory = Reading::Unknown(Reason::NotTold);
        assert_eq!(unlisted(&|vitals| vitals.holders.seen[0].memory = memory), None);
        let little = |vitals: &mut Vitals| {
            vitals.memory = vitals.memory.map(|it| MemoryUse { used: Bytes::from_mib(4050), ..it });
        };
        assert_eq!(unlisted(&little), None);
        let denied = unlisted(&|vitals| {
            little(vitals);
            vitals.holders.unread = Some(Reason::NoPermission);
        })
        .unwrap();
        assert_eq!(denied.holders_reason, Some(Reason::NoPermission));
        assert_eq!(denied.memory_bytes, Some(50 << 20));
        let unread = unlisted(&|vitals| {
            vitals.holders = Holders::unread(Reason::Lost);
            vitals.memory = Reading::Unknown(Reason::Lost);
        })
        .unwrap();
        assert_eq!(unread.unknown.unread("memory_bytes"), Some(Reason::Lost));
    }
}
