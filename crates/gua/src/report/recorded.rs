//! What each card was doing at the newest tick of a record, as a look would tell it.

use jiff::Timestamp;
use probe::{Reading, Why};

use super::identity;
use super::now::{
    Card, Holder, Identity, Memory, MemorySource, Now, Owner, Presence, Sensors, Unseen, Work,
};
use super::unknowns::{Reason, Unknowns};
use crate::calendar::nearest;
use crate::classify::{Kib, State};
use crate::ledger::{CardEntry, HolderEntry};
use crate::store::Replayed;

/// What a record does not keep of a card.
const CARD: [&str; 15] = [
    "parent_uuid",
    "bus_id",
    "minor",
    "utilization_basis",
    "utilization_covers_seconds",
    "memory_free_bytes",
    "memory_reserved_bytes",
    "memory_source",
    "power_limit_watts",
    "energy_joules",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "encoder_percent",
    "decoder_percent",
    "fan_percent",
];

/// Answers from a tick that was recorded on a host. Above `held` somebody unseen counts.
#[must_use]
pub fn now(tick: &Replayed, host: Option<&str>, held: Kib) -> Now {
    let time = nearest(tick.entry.at);
    let mut unknown = Unknowns::default();
    unknown.note("cuda_version", Reason::NotRecorded);
    for (field, is_missing) in [("host", host.is_none()), ("driver_version", tick.driver.is_none())]
    {
        if is_missing {
            unknown.note(field, Reason::NotRecorded);
        }
    }
    Now {
        schema: "gua.stat/1",
        time,
        host: host.map(str::to_owned),
        driver_version: tick.driver.clone(),
        cuda_version: None,
        driver_error: None,
        cards: tick.entry.cards.iter().map(|entry| card(entry, time, held)).collect(),
        unknown,
    }
}

fn card(entry: &CardEntry, now: Timestamp, held: Kib) -> Card {
    let CardEntry { facts, state, evidence, crew, .. } = entry;
    let mut unknown = Unknowns::default();
    CARD.iter().for_each(|field| unknown.note(field, Reason::NotRecorded));
    if let Some(why) = hidden(entry) {
        unknown.note("holders", why);
    }
    let utilization = evidence.work.map(|work| f64::from(work.0) / 100.0);
    Card {
        identity: Identity {
            index: facts.index,
            mig_slot: facts.instance.as_ref().map(|instance| instance.slot),
            uuid: unknown.take("uuid", facts.uuid.clone()),
            parent_uuid: None,
            name: unknown.take("name", facts.name.clone()),
            bus_id: None,
            minor: None,
        },
        state: *state,
        state_reason: match state {
            State::Unknown(why) => Some(why.to_string()),
            _ => None,
        },
        work: Work {
            utilization_percent: unknown.take("utilization_percent", utilization),
            utilization_basis: None,
            utilization_covers_seconds: None,
        },
        memory: memory(entry, &mut unknown),
        sensors: sensors(entry, &mut unknown),
        holders_complete: hidden(entry).is_none() && !are_untold(entry),
        holders: crew.holders.iter().map(|holder| self::holder(holder, *state, now)).collect(),
        unseen: unseen(entry, held),
        reservations: Vec::new(),
        unknown,
    }
}

/// The first tick of a run speaks for no time, and nobody is told of it.
fn are_untold(entry: &CardEntry) -> bool {
    entry.evidence.has_holders && entry.crew.holders.is_empty()
}

/// Whether a listed holder does not tell its memory.
fn is_memory_untold(entry: &CardEntry) -> bool {
    entry.crew.holders.iter().any(|holder| holder.memory.is_none())
}

/// Why holders may be missing from the list. What is written down is also why a listed one does
/// not tell its memory: then nobody is missing.
fn hidden(entry: &CardEntry) -> Option<Why> {
    let is_of_memory = |why: &Why| *why == Why::NotTold && is_memory_untold(entry);
    entry.evidence.hidden.filter(|why| !is_of_memory(why))
}

/// What nobody accounts for. What a listed holder does not tell is his own, as far as anybody
/// knows.
fn unaccounted(entry: &CardEntry) -> Option<Kib> {
    entry.unseen.filter(|_| hidden(entry).is_some() || !is_memory_untold(entry))
}

fn unseen(entry: &CardEntry, held: Kib) -> Option<Unseen> {
    let much = unaccounted(entry).filter(|amount| *amount > held);
    let may_be = entry.crew.holders.is_empty() && entry.state != State::TrulyIdle;
    let is_told = much.is_some() || may_be || hidden(entry).is_some();
    let memory = much.map_or(Reading::Unknown(Why::NotTold), |amount| {
        Reading::Known(probe::units::Bytes(amount.0.saturating_mul(1024)))
    });
    is_told.then_some(Unseen { memory, unread: hidden(entry) })
}

fn memory(entry: &CardEntry, unknown: &mut Unknowns) -> Memory {
    let mut known = |field, value: Option<u64>| {
        if value.is_none() {
            unknown.note(field, Reason::NotRecorded);
        }
        value
    };
    Memory {
        memory_used_bytes: known("memory_used_bytes", entry.measures.used.map(|used| used.0)),
        memory_free_bytes: None,
        memory_total_bytes: known("memory_total_bytes", entry.measures.total.map(|all| all.0)),
        memory_reserved_bytes: None,
        memory_source: None::<MemorySource>,
        memory_unattributed_bytes: known(
            "memory_unattributed_bytes",
            unaccounted(entry).map(|amount| amount.0.saturating_mul(1024)),
        ),
    }
}

/// Sensors are read less often than ticks are made, so they may be missing.
fn sensors(entry: &CardEntry, unknown: &mut Unknowns) -> Sensors {
    let power_watts = entry.measures.power_milliwatts.map(|power| f64::from(power) / 1000.0);
    let temperature_celsius = entry.measures.temperature_celsius;
    for (field, is_missing) in [
        ("power_watts", power_watts.is_none()),
        ("temperature_celsius", temperature_celsius.is_none()),
    ] {
        if is_missing {
            unknown.note(field, Reason::NotRecorded);
        }
    }
    Sensors {
        power_watts,
        power_limit_watts: None,
        energy_joules: None,
        temperature_celsius,
        sm_clock_mhz: None,
        memory_clock_mhz: None,
        encoder_percent: None,
        decoder_percent: None,
        fan_percent: None,
    }
}

fn holder(entry: &HolderEntry, card: State, now: Timestamp) -> Holder {
    let mut unknown = Unknowns::default();
    let started = entry.started.map(nearest);
    let owner = Owner {
        user: entry.identity.user.as_ref().map(ToString::to_string),
        uid: entry.identity.uid,
        program: entry.program.as_ref().map(ToString::to_string),
        parent_pid: None,
        started,
        running_seconds: started.map(|at| now.duration_since(at).as_secs_f64().max(0.0)),
    };
    for (field, is_missing) in [
        ("user", owner.user.is_none()),
        ("uid", owner.uid.is_none()),
        ("program", owner.program.is_none()),
        ("parent_pid", true),
        ("started", started.is_none()),
        ("running_seconds", started.is_none()),
        ("memory_bytes", entry.memory.is_none()),
        ("sm_percent", true),
    ] {
        if is_missing {
            unknown.note(field, Reason::NotRecorded);
        }
    }
    let is_seen = entry.process.start_ticks.is_some();
    Holder {
        pid: entry.process.pid,
        key: entry.process,
        state: entry.work.state(entry.holds, card),
        presence: if is_seen { Presence::Here } else { Presence::NotRecorded },
        owner,
        command: None,
        kinds: entry.kinds.names().collect(),
        memory_bytes: entry.memory.map(|memory| memory.0),
        sm_percent: None,
        identity: identity::written(&entry.identity, entry.workload.as_deref())
            .map_or(Reading::Unknown(Why::NotTold), Reading::Known),
        unknown,
    }
}
