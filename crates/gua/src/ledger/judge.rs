//! Ticks judged, one after the other.

use std::sync::Arc;
use std::time::Duration;

use probe::card::Vitals;
use probe::process::Presence;
use probe::units::Bytes;
use probe::{Reading, Why};

use super::entry::{
    CardEntry, Crew, Entry, HolderEntry, Identity, Measures, OwnerEntry, ProcessKey,
};
use super::period::Period;
use crate::classify::{self, Evidence, Holds, Thresholds};
use crate::sampler::{CardTick, HolderTick, Tick};

/// Judges by thresholds, and remembers what it found of those who stay.
#[derive(Debug)]
pub struct Judge {
    thresholds: Thresholds,
    /// By the place of the card in a tick.
    last: Vec<Judged>,
}

/// Those on a card, as they were named and as they were judged.
#[derive(Debug)]
struct Judged {
    named: Arc<[HolderTick]>,
    crew: Arc<Crew>,
}

impl Judge {
    /// Has judged nothing yet.
    #[must_use]
    pub const fn new(thresholds: Thresholds) -> Self {
        Self { thresholds, last: Vec::new() }
    }

    /// Judges a tick that speaks for this time.
    pub fn entry(&mut self, tick: &Tick, covers: Period, late: Option<Duration>) -> Entry {
        self.last.truncate(tick.cards.len());
        let cards = tick.cards.iter().enumerate();
        let cards = cards.map(|(place, card)| self.card(place, card)).collect();
        Entry { at: covers.to, covers, late, cards }
    }

    fn card(&mut self, place: usize, tick: &CardTick) -> CardEntry {
        let evidence = Evidence::of(&tick.vitals);
        CardEntry {
            facts: Arc::clone(&tick.facts),
            state: evidence.state(&self.thresholds),
            measures: Measures::of(&tick.vitals),
            crew: self.crew(place, tick),
            evidence,
        }
    }

    fn crew(&mut self, place: usize, tick: &CardTick) -> Arc<Crew> {
        let last = self.last.get_mut(place);
        if let Some(last) = &last
            && Arc::ptr_eq(&last.named, &tick.holders)
            && is_all_told(&last.named)
        {
            return Arc::clone(&last.crew);
        }
        let crew = Arc::new(Crew::of(tick, &self.thresholds));
        let judged = Judged { named: Arc::clone(&tick.holders), crew: Arc::clone(&crew) };
        match last {
            Some(last) => *last = judged,
            None => self.last.push(judged),
        }
        crew
    }
}

/// What is not told is made up for from what the card says, which changes by itself.
fn is_all_told(holders: &[HolderTick]) -> bool {
    holders.iter().all(|holder| holder.holder.memory.why().is_none())
}

impl Crew {
    fn of(tick: &CardTick, thresholds: &Thresholds) -> Self {
        let holders: Vec<_> =
            tick.holders.iter().map(|holder| holder_entry(holder, thresholds)).collect();
        Self { owners: owners(&holders, &tick.vitals, thresholds), holders }
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
    use crate::classify::State;
    use probe::card::{Basis, CardFacts, MemorySource, MemoryUse, Utilization};
    use probe::process::{Holder, Holders, Kinds, ProcessFacts};
    use probe::units::{Percent, UnixMillis};

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
                who: Reading::Unknown(Why::NotAsked),
            })),
            command: Reading::Unknown(Why::NotAsked),
        }
    }

    fn tick(percent: f64, used_mib: u64, holders: Arc<[HolderTick]>) -> CardTick {
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
        let unattributed = Reading::Unknown(Why::NotAsked);
        CardTick { facts, vitals, unattributed, holders }
    }

    fn card(percent: f64, used_mib: u64, holders: Vec<HolderTick>) -> CardEntry {
        let tick = tick(percent, used_mib, holders.into());
        Judge::new(Thresholds::default()).card(0, &tick)
    }

    fn owners_of(card: &CardEntry) -> Vec<(&str, State)> {
        let owner = |entry: &'_ OwnerEntry| entry.holds.state(card.state);
        card.crew
            .owners
            .iter()
            .map(|entry| (entry.identity.user.as_deref().unwrap(), owner(entry)))
            .collect()
    }

    #[test]
    fn those_who_stay_are_judged_once() {
        let mut judge = Judge::new(Thresholds::default());
        let both: Arc<[_]> = [holder(1, "ann", Some(60)), holder(2, "bob", Some(60))].into();
        let first = judge.card(0, &tick(1.0, 120, Arc::clone(&both))).crew;
        let second = judge.card(0, &tick(90.0, 140, both)).crew;
        assert!(Arc::ptr_eq(&first, &second));
        let other = judge.card(0, &tick(90.0, 60, [holder(1, "ann", Some(60))].into())).crew;
        assert_eq!((other.holders.len(), other.owners.len()), (1, 1));
    }

    /// Trap: what they hold is then found out from the card.
    #[test]
    fn those_of_untold_memory_are_judged_at_every_tick() {
        let mut judge = Judge::new(Thresholds::default());
        let dora: Arc<[_]> = [holder(1, "dora", None)].into();
        let mut held = |mib| judge.card(0, &tick(0.0, mib, Arc::clone(&dora))).crew.owners[0].holds;
        assert_eq!((held(10), held(12_000), held(10)), (Holds::Little, Holds::Much, Holds::Little));
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
        assert!(card.crew.holders.iter().all(|holder| holder.holds == Holds::Little));
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
