//! One tick, judged: what the history keeps of it.

use std::sync::Arc;
use std::time::Duration;

use probe::card::{Basis, CardFacts, Vitals};
use probe::process::{Kinds, Presence};
use probe::units::{Bytes, UnixMillis};
use probe::{Reading, Why};

use super::period::Period;
use crate::classify::{self, Evidence, Holds, State, Thresholds};
use crate::sampler::{CardTick, HolderTick, Tick};

/// All cards over the time that one tick speaks for.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: UnixMillis,
    /// Ends at `at`; empty where the tick speaks for no time.
    pub covers: Period,
    /// How long after its time it came.
    pub late: Option<Duration>,
    pub cards: Vec<CardEntry>,
}

#[derive(Debug, Clone)]
pub struct CardEntry {
    pub facts: Arc<CardFacts>,
    pub state: State,
    pub evidence: Evidence,
    pub measures: Measures,
    pub holders: Vec<HolderEntry>,
    pub owners: Vec<OwnerEntry>,
}

/// What else is kept of a card, for plots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// What the utilization rests on, where there is one.
    pub basis: Option<Basis>,
    pub used: Option<Bytes>,
    pub total: Option<Bytes>,
    pub power_milliwatts: Option<u32>,
    /// Since the driver was loaded.
    pub energy_millijoules: Option<u64>,
    pub temperature_celsius: Option<u32>,
}

/// One process on the card.
#[derive(Debug, Clone)]
pub struct HolderEntry {
    pub process: ProcessKey,
    pub identity: Identity,
    pub program: Option<Arc<str>>,
    pub started: Option<UnixMillis>,
    pub kinds: Kinds,
    pub memory: Option<Bytes>,
    pub holds: Holds,
}

/// What a process is known by during one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessKey {
    pub pid: u32,
    /// `None` where the host does not show the process.
    pub start_ticks: Option<u64>,
}

/// Who is behind a process; nobody known where both are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    pub user: Option<Arc<str>>,
    pub uid: Option<u32>,
}

/// One identity on the card, with all of its processes there.
#[derive(Debug, Clone)]
pub struct OwnerEntry {
    pub identity: Identity,
    pub holds: Holds,
}

impl Entry {
    /// Judges a tick.
    #[must_use]
    pub fn new(
        tick: &Tick,
        covers: Period,
        late: Option<Duration>,
        thresholds: &Thresholds,
    ) -> Self {
        let cards = tick.cards.iter().map(|card| CardEntry::new(card, thresholds)).collect();
        Self { at: covers.to, covers, late, cards }
    }
}

impl CardEntry {
    fn new(tick: &CardTick, thresholds: &Thresholds) -> Self {
        let evidence = Evidence::of(&tick.vitals);
        let holders: Vec<_> =
            tick.holders.iter().map(|holder| holder_entry(holder, thresholds)).collect();
        Self {
            facts: Arc::clone(&tick.facts),
            state: evidence.state(thresholds),
            owners: owners(&holders, &tick.vitals, thresholds),
            measures: measures(&tick.vitals),
            evidence,
            holders,
        }
    }
}

fn measures(vitals: &Vitals) -> Measures {
    let memory = vitals.memory.known();
    Measures {
        basis: vitals.utilization.known().map(|work| work.basis),
        used: memory.map(|memory| memory.used),
        total: memory.map(|memory| memory.total),
        power_milliwatts: vitals.power.known().map(|power| power.0),
        energy_millijoules: vitals.energy.known().map(|energy| energy.0),
        temperature_celsius: vitals.temperature.known().map(|temperature| temperature.0),
    }
}

fn holder_entry(tick: &HolderTick, thresholds: &Thresholds) -> HolderEntry {
    let facts = match &tick.process {
        Presence::Here(facts) => Some(facts),
        Presence::Gone | Presence::Foreign | Presence::Hidden(_) => None,
    };
    let identity = facts.map_or_else(Identity::default, |facts| Identity {
        user: facts.user.as_ref().known().and_then(Clone::clone),
        uid: facts.uid.known(),
    });
    HolderEntry {
        process: ProcessKey {
            pid: tick.holder.pid,
            start_ticks: facts.map(|facts| facts.start_ticks),
        },
        identity,
        program: facts.map(|facts| Arc::clone(&facts.program)),
        started: facts.and_then(|facts| facts.started.known()),
        kinds: tick.holder.kinds,
        memory: tick.holder.memory.known(),
        holds: Holds::of(tick.holder.memory, thresholds),
    }
}

/// Everybody who holds the card, once each, by all that they hold of it.
fn owners(holders: &[HolderEntry], vitals: &Vitals, thresholds: &Thresholds) -> Vec<OwnerEntry> {
    let mut owners: Vec<OwnerEntry> = Vec::new();
    for holder in holders {
        if owners.iter().any(|owner| owner.identity == holder.identity) {
            continue;
        }
        let memory = memory_of(&holder.identity, holders, vitals);
        let holds = Holds::of(memory, thresholds);
        owners.push(OwnerEntry { identity: holder.identity.clone(), holds });
    }
    owners
}

/// What one identity holds. Where the memory of only its processes is not told, what no
/// other holder accounts for is theirs.
fn memory_of(identity: &Identity, holders: &[HolderEntry], vitals: &Vitals) -> Reading<Bytes> {
    let is_theirs = |holder: &&HolderEntry| holder.identity == *identity;
    let theirs: Bytes = holders.iter().filter(is_theirs).filter_map(|holder| holder.memory).sum();
    let mut untold = holders.iter().filter(|holder| holder.memory.is_none()).peekable();
    if !untold.clone().any(|holder| is_theirs(&holder)) {
        return Reading::Known(theirs);
    }
    let only_theirs = untold.all(|holder| is_theirs(&holder)) && vitals.holders.unread.is_none();
    match classify::unseen(vitals).filter(|_| only_theirs) {
        Some(unseen) => Reading::Known([theirs, unseen].into_iter().sum()),
        None => Reading::Unknown(Why::NotTold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::card::{MemorySource, MemoryUse, Utilization};
    use probe::process::{Holder, Holders, ProcessFacts};
    use probe::units::Percent;

    fn holder(pid: u32, user: &str, mib: Option<u64>) -> HolderTick {
        let memory = mib.map(Bytes::from_mib);
        HolderTick {
            holder: Holder {
                pid,
                kinds: Kinds::COMPUTE,
                memory: memory.map_or(Reading::Unknown(Why::NotTold), Reading::Known),
                sm: Reading::Known(Percent(0.0)),
                engines: Reading::Unknown(Why::NotAsked),
            },
            process: Presence::Here(Arc::new(ProcessFacts {
                pid,
                parent: 1,
                start_ticks: 7,
                started: Reading::Known(UnixMillis(0)),
                program: "python".into(),
                uid: Reading::Known(1000),
                user: Reading::Known(Some(user.into())),
            })),
            command: Reading::Unknown(Why::NotAsked),
        }
    }

    fn card(percent: f64, used_mib: u64, holders: Vec<HolderTick>) -> CardEntry {
        let vitals = Vitals {
            utilization: Reading::Known(Utilization {
                percent: Percent(percent),
                basis: Basis::Instant,
            }),
            memory: Reading::Known(MemoryUse {
                total: Bytes::from_mib(80_000),
                used: Bytes::from_mib(used_mib),
                free: Bytes::from_mib(80_000 - used_mib),
                reserved: Reading::Known(Bytes(0)),
                source: MemorySource::Card,
            }),
            holders: Holders {
                seen: holders.iter().map(|holder| holder.holder).collect(),
                unread: None,
            },
            ..Vitals::unknown(Why::NotAsked)
        };
        let facts = Arc::new(CardFacts::unread(0, Why::NotAsked));
        let tick =
            CardTick { facts, vitals, unattributed: Reading::Unknown(Why::NotAsked), holders };
        CardEntry::new(&tick, &Thresholds::default())
    }

    fn owners_of(card: &CardEntry) -> Vec<(&str, State)> {
        let owner = |entry: &'_ OwnerEntry| entry.holds.state(card.state);
        card.owners
            .iter()
            .map(|entry| (entry.identity.user.as_deref().unwrap(), owner(entry)))
            .collect()
    }

    /// Two small processes of one person add up; a neighbour's do not.
    #[test]
    fn an_owner_is_judged_by_all_that_is_theirs() {
        let holders = vec![
            holder(1, "ann", Some(60)),
            holder(2, "bob", Some(60)),
            holder(3, "ann", Some(60)),
        ];
        let card = card(1.0, 180, holders);
        assert_eq!(owners_of(&card), [("ann", State::IdleHeld), ("bob", State::TrulyIdle)]);
        assert!(card.holders.iter().all(|holder| holder.holds == Holds::Little));
    }

    #[test]
    fn on_a_card_that_works_everybody_works() {
        let card = card(50.0, 60, vec![holder(1, "ann", Some(60)), holder(2, "bob", None)]);
        assert_eq!(owners_of(&card), [("ann", State::Active), ("bob", State::Active)]);
    }

    #[test]
    fn untold_memory_is_that_of_the_only_one_who_could_have_it() {
        let alone = card(0.0, 12_000, vec![holder(1, "dora", None), holder(2, "bob", Some(60))]);
        assert_eq!(owners_of(&alone), [("dora", State::IdleHeld), ("bob", State::TrulyIdle)]);
        let two = card(0.0, 12_000, vec![holder(1, "dora", None), holder(2, "bob", None)]);
        let unknown = State::Unknown(Why::NotTold);
        assert_eq!(owners_of(&two), [("dora", unknown), ("bob", unknown)]);
    }
}
