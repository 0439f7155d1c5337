//! Ticks judged, one after the other.

use std::sync::Arc;
use std::time::Duration;

use probe::card::Vitals;
use probe::process::{Holder, Presence};
use probe::units::Bytes;
use probe::who::masked;
use probe::{Reading, Why};

use super::entry::{
    CardEntry, Crew, Entry, HolderEntry, Identity, Measures, OwnerEntry, ProcessKey,
};
use super::period::Period;
use crate::classify::{self, Evidence, Holds, State, Thresholds, Work, Workers};
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
        let state = evidence.state(&self.thresholds);
        CardEntry {
            facts: Arc::clone(&tick.facts),
            measures: Measures::of(&tick.vitals),
            crew: self.crew(place, tick, state),
            unseen: evidence.unseen.filter(|unseen| *unseen > self.thresholds.held.into()),
            state,
            evidence,
        }
    }

    fn crew(&mut self, place: usize, tick: &CardTick, state: State) -> Arc<Crew> {
        let workers = Workers::of(&tick.vitals, state, &self.thresholds);
        let last = self.last.get_mut(place);
        if let Some(last) = &last
            && Arc::ptr_eq(&last.named, &tick.holders)
            && last.crew.is_as(tick, &workers)
        {
            return Arc::clone(&last.crew);
        }
        let crew = Arc::new(Crew::of(tick, &workers, &self.thresholds));
        let judged = Judged { named: Arc::clone(&tick.holders), crew: Arc::clone(&crew) };
        match last {
            Some(last) => *last = judged,
            None => self.last.push(judged),
        }
        crew
    }
}

impl Crew {
    fn of(tick: &CardTick, workers: &Workers, thresholds: &Thresholds) -> Self {
        let holders: Vec<_> = tick
            .held()
            .map(|(held, who)| holder_entry(held, who, workers.work(held), thresholds))
            .collect();
        Self { owners: owners(&holders, &tick.vitals, thresholds), holders }
    }

    /// Whether these same people still do the same. What is not told is made up for from what
    /// the card says, which changes by itself.
    fn is_as(&self, tick: &CardTick, workers: &Workers) -> bool {
        let is_as = |(held, entry): (&Holder, &HolderEntry)| {
            held.memory.is_known_and(|memory| entry.memory == Some(memory))
                && entry.kinds == held.kinds
                && entry.work == workers.work(held)
        };
        tick.vitals.holders.seen.iter().zip(&self.holders).all(is_as)
    }
}

fn holder_entry(
    held: &Holder,
    who: &HolderTick,
    work: Work,
    thresholds: &Thresholds,
) -> HolderEntry {
    let facts = match &who.process {
        Presence::Here(facts) => Some(facts),
        Presence::Gone | Presence::Foreign | Presence::Hidden(_) => None,
    };
    HolderEntry {
        process: ProcessKey { pid: held.pid, start_ticks: facts.map(|facts| facts.start_ticks) },
        identity: facts.map_or_else(Identity::default, |facts| Identity::of(facts)),
        program: facts.map(|facts| Arc::clone(&facts.program)),
        started: facts.and_then(|facts| facts.started.known()),
        workload: facts.and_then(|facts| facts.who.clone().known()),
        command: who.command.as_ref().known().map(|words| masked(words).into()),
        kinds: held.kinds,
        memory: held.memory.known(),
        holds: Holds::of(held.memory, thresholds),
        work,
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
    use probe::card::{Basis, CardFacts, MemorySource, MemoryUse, Utilization};
    use probe::process::{Holders, Kinds, ProcessFacts};
    use probe::units::{Percent, UnixMillis};
    use probe::who::{Source, Told, User, Who};

    /// A process and what it holds.
    type Held = (HolderTick, Holder);

    fn holder(pid: u32, user: &str, mib: Option<u64>) -> Held {
        let memory = mib.map(Bytes::from_mib);
        let held = Holder {
            pid,
            kinds: Kinds::COMPUTE,
            memory: memory.map_or(Reading::Unknown(Why::NotTold), Reading::Known),
            sm: Reading::Known(Percent(0.0)),
            engines: Reading::Unknown(Why::NotAsked),
        };
        let who = HolderTick {
            pid,
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
        };
        (who, held)
    }

    fn tick(percent: f64, used_mib: u64, held: &[Held]) -> CardTick {
        let named: Arc<[_]> = held.iter().map(|(who, _)| who.clone()).collect();
        tick_of(percent, used_mib, held, &named)
    }

    fn tick_of(percent: f64, used_mib: u64, held: &[Held], named: &Arc<[HolderTick]>) -> CardTick {
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
            holders: Holders { seen: held.iter().map(|(_, held)| *held).collect(), unread: None },
            ..Vitals::unknown(Why::NotAsked)
        };
        let facts = Arc::new(CardFacts::unread(0, Why::NotAsked));
        let unattributed = Reading::Unknown(Why::NotAsked);
        CardTick { facts, vitals, unattributed, holders: Arc::clone(named) }
    }

    fn card(percent: f64, used_mib: u64, held: &[Held]) -> CardEntry {
        Judge::new(Thresholds::default()).card(0, &tick(percent, used_mib, held))
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
    fn those_who_stay_as_they_are_are_judged_once() {
        let mut judge = Judge::new(Thresholds::default());
        let mut both = [holder(1, "ann", Some(60)), holder(2, "bob", Some(60))];
        let named: Arc<[_]> = both.iter().map(|(who, _)| who.clone()).collect();
        let mut crew =
            |percent, held: &[Held]| judge.card(0, &tick_of(percent, 120, held, &named)).crew;
        let first = crew(1.0, &both);
        assert!(Arc::ptr_eq(&first, &crew(9.0, &both)), "what the card did is told apart");
        both[0].1.sm = Reading::Known(Percent(0.4));
        assert!(Arc::ptr_eq(&first, &crew(9.0, &both)), "idle all the same");
        both[0].1.sm = Reading::Known(Percent(40.0));
        let works = crew(40.0, &both);
        let work = |crew: &Crew| crew.holders.iter().map(|it| it.work).collect::<Vec<_>>();
        assert_eq!(work(&first), [Work::Idle; 2]);
        assert_eq!(work(&works), [Work::Works, Work::Idle]);
        both[0].1.sm = Reading::Known(Percent(90.0));
        assert!(Arc::ptr_eq(&works, &crew(90.0, &both)), "work is work");
        both[0].1.memory = Reading::Known(Bytes::from_mib(61));
        assert_eq!(crew(90.0, &both).holders[0].memory, Some(Bytes::from_mib(61)));
        let other = judge.card(0, &tick(90.0, 60, &[holder(1, "ann", Some(60))])).crew;
        assert_eq!((other.holders.len(), other.owners.len()), (1, 1));
    }

    /// Trap: what they hold is then found out from the card.
    #[test]
    fn those_of_untold_memory_are_judged_at_every_tick() {
        let mut judge = Judge::new(Thresholds::default());
        let dora = [holder(1, "dora", None)];
        let named: Arc<[_]> = dora.iter().map(|(who, _)| who.clone()).collect();
        let mut held = |mib| judge.card(0, &tick_of(0.0, mib, &dora, &named)).crew.owners[0].holds;
        assert_eq!((held(10), held(12_000), held(10)), (Holds::Little, Holds::Much, Holds::Little));
    }

    /// Who was found to be behind a process counts, and nobody where nobody was found.
    #[test]
    fn a_process_is_whose_it_was_found_to_be() {
        let identity = |who: Reading<Arc<Who>>| {
            let (mut named, held) = holder(1, "root", Some(60));
            if let Presence::Here(facts) = &mut named.process {
                *facts = Arc::new(ProcessFacts { who, ..ProcessFacts::clone(facts) });
            }
            card(0.0, 60, &[(named, held)]).crew.holders[0].identity.clone()
        };
        let owner =
            Identity { user: Some("root".into()), uid: Some(1000), source: Some(Source::Uid) };
        assert_eq!(identity(Reading::Unknown(Why::NotAsked)), owner);
        assert_eq!(identity(Reading::Known(Arc::default())), Identity::default());
        let value = User { uid: 1007, name: Some("ann".into()) };
        let user = Some(Told { value, source: Source::UserSlice });
        let ann =
            Identity { user: Some("ann".into()), uid: Some(1007), source: Some(Source::UserSlice) };
        assert_eq!(identity(Reading::Known(Arc::new(Who { user, ..Who::default() }))), ann);
    }

    /// Two small processes of one person add up; a neighbour's do not.
    #[test]
    fn an_owner_is_judged_by_all_that_is_theirs() {
        let holders =
            [holder(1, "ann", Some(60)), holder(2, "bob", Some(60)), holder(3, "ann", Some(60))];
        let card = card(1.0, 180, &holders);
        assert_eq!(owners_of(&card), [("ann", State::IdleHeld), ("bob", State::TrulyIdle)]);
        assert!(card.crew.holders.iter().all(|holder| holder.holds == Holds::Little));
    }

    #[test]
    fn on_a_card_that_works_everybody_works() {
        let card = card(50.0, 60, &[holder(1, "ann", Some(60)), holder(2, "bob", None)]);
        assert_eq!(owners_of(&card), [("ann", State::Active), ("bob", State::Active)]);
    }

    #[test]
    fn untold_memory_is_that_of_the_only_one_who_could_have_it() {
        let alone = card(0.0, 12_000, &[holder(1, "dora", None), holder(2, "bob", Some(60))]);
        assert_eq!(owners_of(&alone), [("dora", State::IdleHeld), ("bob", State::TrulyIdle)]);
        let two = card(0.0, 12_000, &[holder(1, "dora", None), holder(2, "bob", None)]);
        let unknown = State::Unknown(Why::NotTold);
        assert_eq!(owners_of(&two), [("dora", unknown), ("bob", unknown)]);
    }
}
