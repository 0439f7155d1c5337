//! State and work of a card and its holders by one look, which averages over the last seconds.
//!
//! The recorder has the same from the classifier, as of its last poll: both are a [`CardActivity`].
//! Values are compared as they were read: rounding could call a card busier or freer than it was.

use std::sync::Arc;

use crate::card::{CardFacts, Vitals};
use crate::classifier::{CardActivity, HolderActivity};
use crate::process::{Holder, Presence};
use crate::reading::{Reading, Reason};
use crate::snapshot::SeenProcess;
use crate::span::{HolderId, Work};
use crate::state::{State, Thresholds};
use crate::units::{Bytes, UnixMillis};

impl CardActivity {
    /// Returns what a card does by a look at a time. `processes` are those of the listed holders, in the
    /// same order.
    #[must_use]
    pub fn from_look(
        card: &Arc<CardFacts>,
        vitals: &Vitals,
        processes: &[SeenProcess],
        at: UnixMillis,
        thresholds: &Thresholds,
    ) -> Self {
        let is_new: Vec<bool> = processes.iter().map(|process| is_new(process, at)).collect();
        let works = work(vitals, &is_new, thresholds);
        let holder = |(process, work): (&SeenProcess, Work)| HolderActivity {
            holder: HolderId::Process(process.id()),
            work,
            last_busy: None,
        };
        Self {
            card: Arc::clone(card),
            state: card_state(vitals, thresholds),
            last_busy: None,
            holders: processes.iter().zip(works).map(holder).collect(),
        }
    }

    /// Returns what the process with this pid does on the card.
    #[must_use]
    pub fn holder(&self, pid: u32) -> Option<&HolderActivity> {
        let is_it = |it: &&HolderActivity| matches!(it.holder, HolderId::Process(process) if process.pid == pid);
        self.holders.iter().find(is_it)
    }
}

/// Returns the state of a card by one look.
#[must_use]
pub fn card_state(vitals: &Vitals, thresholds: &Thresholds) -> State {
    match vitals.utilization {
        Reading::Known(work) if work.percent >= thresholds.active => State::Active,
        Reading::Known(_) => idle_state(vitals, thresholds.held),
        // A card that nobody holds cannot work.
        Reading::Unknown(reason) => match idle_state(vitals, thresholds.held) {
            State::TrulyIdle if vitals.holders.seen.is_empty() => State::TrulyIdle,
            _ => State::Unknown(reason),
        },
    }
}

/// Returns the state of a card that does not work.
fn idle_state(vitals: &Vitals, held: Bytes) -> State {
    let listed = vitals.holders.known_memory();
    if listed > held || vitals.unlisted_memory().is_some_and(|unlisted| unlisted > held) {
        return State::IdleHeld;
    }
    // What is hidden may hold the card.
    let hidden = vitals.holders.memory().why().or(vitals.memory.why());
    hidden.map_or(State::TrulyIdle, State::Unknown)
}

/// Time after the start of a process in which the driver may have no sample of it yet.
const FIRST_SAMPLE_MS: i64 = 5_000;

/// Returns true if a process is too new for missing samples to say that it does nothing.
fn is_new(process: &SeenProcess, at: UnixMillis) -> bool {
    let Presence::Here(facts) = &process.presence else { return false };
    facts.started.is_known_and(|started| at.0.saturating_sub(started.0) < FIRST_SAMPLE_MS)
}

/// Returns whether each listed holder works. `is_new` says of which nothing may be sampled yet.
fn work(vitals: &Vitals, is_new: &[bool], thresholds: &Thresholds) -> Vec<Work> {
    let card_works = vitals.utilization.map(|it| it.percent >= thresholds.worked).known();
    let holders = &vitals.holders.seen;
    if is_alone(vitals, thresholds.held) && card_works.is_some() {
        let work = if card_works == Some(true) { Work::Working } else { Work::Idle };
        return holders.iter().map(|_| work).collect();
    }
    let works = |holder: &Holder| holder.sm.is_known_and(|sm| sm >= thresholds.worked);
    let is_explained = holders.iter().any(works);
    let work = |(place, holder): (usize, &Holder)| match card_works {
        _ if works(holder) => Work::Working,
        Some(false) => Work::Idle,
        _ if is_new.get(place) == Some(&true) => Work::Unknown,
        // The driver counts the work of a client of MPS for its server.
        _ if holder.sm.why().is_some() || holder.kinds.mps => Work::Unknown,
        // The driver samples processes now and then only: work that nobody was seen to do may be
        // anybody's.
        Some(true) if !is_explained => Work::Unknown,
        _ => Work::Idle,
    };
    holders.iter().enumerate().map(work).collect()
}

/// Returns true if a card has one holder, and nobody else can be there.
fn is_alone(vitals: &Vitals, held: Bytes) -> bool {
    vitals.holders.seen.len() == 1
        && vitals.holders.unread.is_none()
        && vitals.unlisted_memory().is_none_or(|unlisted| unlisted <= held)
}

/// Returns the state of a holder, by whether it works, what it holds and the state of its card.
///
/// Whoever does not work on an idle-held card holds it, however little. Where it is not known what the
/// card does, or which of its holders work, the state is unknown.
#[must_use]
pub fn holder_state(work: Work, memory: Reading<Bytes>, card: State, held: Bytes) -> State {
    match (work, card, memory) {
        (Work::Working, _, _) => State::Active,
        (_, State::Unknown(_), _) => card,
        (Work::Unknown, State::Active, _) => State::Unknown(Reason::NotTold),
        (_, State::IdleHeld, _) => State::IdleHeld,
        (_, _, Reading::Known(memory)) if memory > held => State::IdleHeld,
        (_, _, Reading::Known(_)) => State::TrulyIdle,
        (_, _, Reading::Unknown(_)) => State::Unknown(Reason::NotTold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{Basis, MemorySource, MemoryUse, Utilization, largest_reserve};
    use crate::process::{Holders, Kinds};
    use crate::units::Percent;

    fn vitals(percent: Option<f64>, held: &[Option<u64>], used: Option<u64>) -> Vitals {
        let reading = |mib: Option<u64>| match mib {
            Some(mib) => Reading::Known(Bytes::from_mib(mib)),
            None => Reading::Unknown(Reason::NotTold),
        };
        let holder = |(pid, mib): (u32, &Option<u64>)| Holder {
            pid,
            kinds: Kinds::COMPUTE,
            memory: reading(*mib),
            sm: Reading::Known(Percent(0.0)),
            engines: Reading::Unknown(Reason::NotAsked),
        };
        Vitals {
            utilization: match percent {
                Some(percent) => {
                    Reading::Known(Utilization { percent: Percent(percent), basis: Basis::Instant })
                }
                None => Reading::Unknown(Reason::NotSupported),
            },
            memory: match used {
                Some(used) => Reading::Known(MemoryUse {
                    total: Bytes::from_mib(80_000),
                    used: Bytes::from_mib(used),
                    free: Bytes::from_mib(80_000 - used),
                    reserved: Reading::Known(Bytes::from_mib(600)),
                    source: MemorySource::Card,
                }),
                None => Reading::Unknown(Reason::NotSupported),
            },
            holders: Holders { seen: (1..).zip(held).map(holder).collect(), unread: None },
            ..Vitals::unknown(Reason::NotAsked)
        }
    }

    fn state_of(vitals: &Vitals) -> State {
        card_state(vitals, &Thresholds::default())
    }

    /// Trap: evidence rounds so that a card is never called busier or freer than it was.
    #[test]
    fn rounding_never_calls_a_card_busier_or_freer_than_it_was() {
        assert_eq!(state_of(&vitals(Some(10.0), &[], Some(0))), State::Active);
        assert_eq!(state_of(&vitals(Some(9.999_999), &[Some(101)], Some(101))), State::IdleHeld);
        assert_eq!(state_of(&vitals(Some(0.0), &[Some(100)], Some(100))), State::TrulyIdle);
        let mut more = vitals(Some(0.0), &[Some(100)], Some(100));
        more.holders.seen[0].memory = Reading::Known(Bytes((100 << 20) + 1));
        assert_eq!(state_of(&more), State::IdleHeld);
        assert_eq!(state_of(&vitals(Some(0.0), &[Some(60), Some(60)], Some(120))), State::IdleHeld);
        assert_eq!(state_of(&vitals(Some(0.0), &[], Some(5))), State::TrulyIdle);
    }

    /// Trap: unknown process memory must not make a card free.
    #[test]
    fn holder_of_unknown_memory_is_judged_by_the_memory_of_the_card() {
        let unknown = State::Unknown(Reason::NotTold);
        assert_eq!(state_of(&vitals(Some(0.0), &[None], Some(40_000))), State::IdleHeld);
        assert_eq!(state_of(&vitals(Some(0.0), &[None], Some(50))), unknown);
        assert_eq!(state_of(&vitals(Some(0.0), &[None], None)), unknown);
        assert_eq!(state_of(&vitals(Some(0.0), &[None, Some(200)], None)), State::IdleHeld);
    }

    /// Trap: an unreadable process list never makes a card free.
    #[test]
    fn unreadable_process_list_never_makes_a_card_free() {
        let denied = |used| Vitals {
            holders: Holders::unread(Reason::NoPermission),
            ..vitals(Some(0.0), &[], used)
        };
        assert_eq!(state_of(&denied(Some(40_000))), State::IdleHeld);
        assert_eq!(state_of(&denied(Some(4))), State::Unknown(Reason::NoPermission));
        assert_eq!(state_of(&denied(None)), State::Unknown(Reason::NoPermission));
    }

    /// In a container the list may be empty while others on the host hold the card.
    #[test]
    fn memory_of_nobody_visible_holds_a_card() {
        assert_eq!(state_of(&vitals(Some(0.0), &[], Some(40_000))), State::IdleHeld);
        assert_eq!(state_of(&vitals(Some(0.0), &[Some(60)], Some(150))), State::TrulyIdle);
    }

    #[test]
    fn card_of_unknown_memory_is_never_free() {
        for why in [Reason::NoPermission, Reason::Lost, Reason::NotSupported, Reason::Code(999)] {
            let with = |held: &[Option<u64>]| Vitals {
                memory: Reading::Unknown(why),
                ..vitals(Some(0.0), held, None)
            };
            assert_eq!(state_of(&with(&[])), State::Unknown(why));
            assert_eq!(state_of(&with(&[Some(60)])), State::Unknown(why));
            assert_eq!(state_of(&with(&[Some(101)])), State::IdleHeld);
        }
    }

    /// A card of 80,000 MiB, so that a sixteenth is 5,000.
    fn with_reserve_in_used(held: &[Option<u64>], used: u64) -> Vitals {
        let mut old = vitals(Some(0.0), held, Some(used));
        let reserved = Reading::Unknown(Reason::NotSupported);
        old.memory = old.memory.map(|memory| MemoryUse { reserved, ..memory });
        old
    }

    /// Trap: the driver's reserve is not a holder.
    #[test]
    fn driver_reserve_is_not_a_holder() {
        assert_eq!(state_of(&with_reserve_in_used(&[], 700)), State::TrulyIdle);
        assert_eq!(state_of(&with_reserve_in_used(&[], 5_100)), State::TrulyIdle);
        let hidden = with_reserve_in_used(&[None], 700);
        assert_eq!(state_of(&hidden), State::Unknown(Reason::NotTold));
        let denied = Vitals { holders: Holders::unread(Reason::NoPermission), ..hidden };
        assert_eq!(state_of(&denied), State::Unknown(Reason::NoPermission));
        assert_eq!(state_of(&with_reserve_in_used(&[], 5_101)), State::IdleHeld);
        assert_eq!(state_of(&with_reserve_in_used(&[None], 40_000)), State::IdleHeld);
        assert_eq!(state_of(&with_reserve_in_used(&[Some(90)], 5_190)), State::TrulyIdle);
        assert_eq!(largest_reserve(Bytes::from_mib(16_000)), Bytes::from_mib(2048));
    }

    /// Trap: host memory is not a holder.
    #[test]
    fn host_memory_is_not_a_holder() {
        let mut shared = vitals(Some(0.0), &[], Some(40_000));
        let source = MemorySource::System;
        shared.memory = shared.memory.map(|memory| MemoryUse { source, ..memory });
        assert_eq!(state_of(&shared), State::TrulyIdle);
        shared.holders = Holders::unread(Reason::NoPermission);
        assert_eq!(state_of(&shared), State::Unknown(Reason::NoPermission));
    }

    #[test]
    fn without_utilization_only_an_empty_card_is_free() {
        let unknown = State::Unknown(Reason::NotSupported);
        assert_eq!(state_of(&vitals(None, &[], Some(3))), State::TrulyIdle);
        assert_eq!(state_of(&vitals(None, &[Some(4000)], Some(4000))), unknown);
        assert_eq!(state_of(&vitals(None, &[Some(4)], Some(4))), unknown);
        assert_eq!(state_of(&Vitals::unknown(Reason::Lost)), State::Unknown(Reason::Lost));
    }

    /// Whether each holder works, by the card's utilization and its own.
    fn work_of(percent: f64, own: &[Option<f64>], change: impl Fn(&mut Vitals)) -> Vec<Work> {
        let held: Vec<_> = own.iter().map(|_| Some(4000)).collect();
        let mut vitals = vitals(Some(percent), &held, Some(4000 * own.len() as u64));
        for (holder, sm) in vitals.holders.seen.iter_mut().zip(own) {
            let unknown = Reading::Unknown(Reason::NotSupported);
            holder.sm = sm.map_or(unknown, |sm| Reading::Known(Percent(sm)));
        }
        change(&mut vitals);
        work(&vitals, &[], &Thresholds::default())
    }

    /// A process that has just started has no samples yet.
    #[test]
    fn new_process_without_samples_is_not_called_idle() {
        let vitals = vitals(Some(80.0), &[Some(4000), Some(4000)], Some(8000));
        let mut vitals = vitals;
        vitals.holders.seen[0].sm = Reading::Known(Percent(80.0));
        let works = |is_new: [bool; 2]| work(&vitals, &is_new, &Thresholds::default());
        assert_eq!(works([true, true]), [Work::Working, Work::Unknown]);
        assert_eq!(works([true, false]), [Work::Working, Work::Idle]);
    }

    /// A notebook that sleeps beside a training job.
    #[test]
    fn each_of_several_holders_is_judged_by_its_own_work() {
        let (job, asleep) = (Some(80.0), Some(0.0));
        assert_eq!(work_of(80.0, &[job, asleep], |_| ()), [Work::Working, Work::Idle]);
        assert_eq!(work_of(2.0, &[Some(1.0), Some(0.99)], |_| ()), [Work::Working, Work::Idle]);
        assert_eq!(work_of(80.0, &[job, None], |_| ()), [Work::Working, Work::Unknown]);
        assert_eq!(work_of(0.0, &[Some(0.0), None], |_| ()), [Work::Idle; 2]);
    }

    /// Trap: one holder alone does what its card does.
    #[test]
    fn one_holder_alone_works_while_its_card_does() {
        assert_eq!(work_of(80.0, &[Some(0.0)], |_| ()), [Work::Working]);
        assert_eq!(work_of(1.0, &[None], |_| ()), [Work::Working]);
        assert_eq!(work_of(0.99, &[None], |_| ()), [Work::Idle]);
    }

    /// Trap: work that nobody was seen to do makes nobody idle.
    #[test]
    fn work_that_nobody_was_seen_to_do_makes_nobody_idle() {
        assert_eq!(work_of(80.0, &[Some(0.0); 2], |_| ()), [Work::Unknown; 2]);
        let denied = |vitals: &mut Vitals| vitals.holders.unread = Some(Reason::NoPermission);
        assert_eq!(work_of(80.0, &[Some(0.0)], denied), [Work::Unknown]);
        let unlisted = |vitals: &mut Vitals| {
            vitals.memory =
                vitals.memory.map(|memory| MemoryUse { used: Bytes::from_mib(9000), ..memory });
        };
        assert_eq!(work_of(80.0, &[Some(0.0)], unlisted), [Work::Unknown]);
        let unread = |vitals: &mut Vitals| vitals.utilization = Reading::Unknown(Reason::TimedOut);
        assert_eq!(work_of(0.0, &[None], unread), [Work::Unknown]);
    }

    /// Trap: under MPS the attribution is unknown, not idle.
    #[test]
    fn work_of_mps_clients_is_unknown_and_not_idle() {
        let mps = |vitals: &mut Vitals| vitals.holders.seen[1].kinds = Kinds::MPS;
        let quiet = [Some(50.0), Some(0.0)];
        assert_eq!(work_of(50.0, &quiet, mps), [Work::Working, Work::Unknown]);
        assert_eq!(work_of(0.0, &[Some(0.0), Some(0.0)], mps), [Work::Idle; 2]);
        assert_eq!(work_of(50.0, &[Some(50.0), Some(30.0)], mps), [Work::Working; 2]);
    }

    #[test]
    fn state_of_a_holder_follows_from_its_work_and_memory() {
        let held = Thresholds::default().held;
        let lost = State::Unknown(Reason::Lost);
        let state = |work, memory, card| holder_state(work, memory, card, held);
        let much = Reading::Known(Bytes::from_mib(4000));
        let little = Reading::Known(held);
        let unread = Reading::Unknown(Reason::NotTold);
        for card in [State::Active, State::IdleHeld, State::TrulyIdle] {
            assert_eq!(state(Work::Working, unread, card), State::Active);
            assert_eq!(state(Work::Idle, much, card), State::IdleHeld);
        }
        assert_eq!(state(Work::Working, unread, lost), State::Active);
        assert_eq!(state(Work::Idle, much, lost), lost);
        assert_eq!(state(Work::Idle, little, State::Active), State::TrulyIdle);
        assert_eq!(state(Work::Idle, little, State::IdleHeld), State::IdleHeld);
        assert_eq!(state(Work::Idle, unread, State::Active), State::Unknown(Reason::NotTold));
        let not_told = State::Unknown(Reason::NotTold);
        assert_eq!(state(Work::Unknown, much, State::Active), not_told);
        assert_eq!(state(Work::Unknown, much, lost), lost);
        assert_eq!(state(Work::Unknown, much, State::IdleHeld), State::IdleHeld);
    }

    #[test]
    fn activity_of_a_look_names_its_processes() {
        let card = Arc::new(CardFacts::unread(0, Reason::NotAsked));
        let vitals = vitals(Some(50.0), &[Some(4000)], Some(4000));
        let process = SeenProcess {
            pid: 1,
            presence: Presence::Gone,
            command: Reading::Unknown(Reason::NotAsked),
        };
        let id = process.id();
        let at = UnixMillis(0);
        let activity =
            CardActivity::from_look(&card, &vitals, &[process], at, &Thresholds::default());
        assert_eq!(activity.state, State::Active);
        let expected =
            HolderActivity { holder: HolderId::Process(id), work: Work::Working, last_busy: None };
        assert_eq!((activity.holder(1), activity.holder(2)), (Some(&expected), None));
    }
}
