//! Looks as values: what they add up to when something cannot be read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::card::{Basis, InstanceFacts, MemorySource as Whose};
use probe::units::{Bytes, Millijoules, Milliwatts, Percent, UnixMillis};
use probe::{
    Account, CardAccounts, CardFacts, CardLook, Holder, Holders, Kinds, MemoryUse, Reading,
    Utilization, Vitals, Why,
};
use proptest::prelude::*;

use crate::gpu::tally::{Pids, Tally};
use crate::gpu::tree::on_card;
use crate::members::Role;
use crate::options::Cards;
use crate::parts::Parts;
use crate::sample::GpuSample;
use crate::usage::MemorySource;

const MAIN: u32 = 1;
const CHILD: u32 = 2;
const OTHER: u32 = 3;

/// A tally with its clock.
struct Run {
    tally: Tally,
    at: Instant,
}

impl Run {
    fn new(cards: Cards) -> Self {
        Self { tally: Tally::new(cards, Pids::Ours), at: Instant::now() }
    }

    fn foreign() -> Self {
        Self { tally: Tally::new(Cards::All, Pids::MaybeTheHosts), at: Instant::now() }
    }

    /// A look, a second after the one before.
    fn look(&mut self, cards: &[CardLook]) -> GpuSample {
        self.at += Duration::from_secs(1);
        let trees: Vec<_> =
            cards.iter().map(|card| on_card(&card.vitals.holders, &roles())).collect();
        self.tally.see(cards, &trees, self.at)
    }

    fn memory(&self) -> Reading<Bytes> {
        self.tally.usage().memory.combined
    }

    fn account(&mut self, accounts: &[(u32, u32, u64, i64)]) {
        let of = |index: u32| {
            let own = accounts.iter().filter(|(card, ..)| *card == index);
            let account = |(_, pid, peak, started): &(u32, u32, u64, i64)| Account {
                pid: *pid,
                started: UnixMillis(*started),
                peak: Reading::Known(Bytes(*peak)),
            };
            let accounts = Reading::Known(own.map(account).collect());
            CardAccounts { facts: facts(index), accounts }
        };
        self.tally.account(&[of(0), of(1)], &roles(), UnixMillis(10_000));
    }
}

fn roles() -> HashMap<u32, Role> {
    HashMap::from([(MAIN, Role::Main), (CHILD, Role::Descendant), (OTHER, Role::Descendant)])
}

fn facts(index: u32) -> Arc<CardFacts> {
    let uuid = Reading::Known(format!("GPU-{index}"));
    Arc::new(CardFacts { uuid, ..CardFacts::unread(index, Why::NotAsked) })
}

/// A card with holders of so much.
fn card(index: u32, held: &[(u32, u64)]) -> CardLook {
    let holder = |(pid, bytes): &(u32, u64)| Holder {
        pid: *pid,
        kinds: Kinds::COMPUTE,
        memory: Reading::Known(Bytes(*bytes)),
        sm: Reading::Known(Percent(10.0)),
        engines: Reading::Unknown(Why::NotAsked),
    };
    let used = held.iter().map(|(_, bytes)| bytes).sum();
    let memory = MemoryUse {
        total: Bytes(100),
        used: Bytes(used),
        free: Bytes(100 - used),
        reserved: Reading::Known(Bytes(0)),
        source: Whose::Card,
    };
    let vitals = Vitals {
        memory: Reading::Known(memory),
        power: Reading::Known(Milliwatts(1500)),
        holders: Holders { seen: held.iter().map(holder).collect(), unread: None },
        ..Vitals::unknown(Why::NotSupported)
    };
    CardLook { facts: facts(index), vitals }
}

fn lost(index: u32) -> CardLook {
    CardLook { facts: facts(index), vitals: Vitals::unknown(Why::Lost) }
}

fn sampled(look: CardLook, percent: f64, covers: Duration) -> CardLook {
    busy(look, percent, Basis::Samples { count: 1, covers })
}

fn busy(look: CardLook, percent: f64, basis: Basis) -> CardLook {
    let utilization = Reading::Known(Utilization { percent: Percent(percent), basis });
    CardLook { vitals: Vitals { utilization, ..look.vitals }, ..look }
}

fn untold(look: CardLook) -> CardLook {
    let mut look = look;
    for holder in &mut look.vitals.holders.seen {
        holder.memory = Reading::Unknown(Why::NotTold);
    }
    look
}

const SECOND: Duration = Duration::from_secs(1);

fn known(bytes: u64) -> Reading<Bytes> {
    Reading::Known(Bytes(bytes))
}

#[test]
fn each_part_has_a_peak_of_its_own() {
    let mut run = Run::new(Cards::All);
    run.look(&[card(0, &[(MAIN, 10)]), card(1, &[(9, 50)])]);
    let sample = run.look(&[card(0, &[(MAIN, 4)]), card(1, &[(CHILD, 7)])]);
    assert_eq!(sample.memory, Parts { main: known(4), descendants: known(7), combined: known(11) });
    let usage = run.tally.usage();
    assert_eq!(usage.memory, Parts { main: known(10), descendants: known(7), combined: known(11) });
    assert_eq!((usage.system_memory, usage.capacity), (known(60), known(200)));
}

#[test]
fn a_card_that_is_lost_meanwhile_leaves_the_peaks_of_all() {
    let mut run = Run::new(Cards::All);
    run.look(&[card(0, &[(MAIN, 10)]), card(1, &[(CHILD, 20)])]);
    let sample = run.look(&[lost(0), card(1, &[(CHILD, 80)])]);
    assert_eq!(sample.memory.combined, Reading::Unknown(Why::Lost));
    assert_eq!(run.memory(), known(80), "the tree held this much at least");
    let cards: Vec<_> = run.tally.usage().cards.iter().map(|card| card.memory).collect();
    assert_eq!(cards, [known(10), known(80)]);
}

#[test]
fn looks_in_which_a_card_did_not_tell_are_counted() {
    let mut run = Run::new(Cards::All);
    let mut hung = card(1, &[]);
    hung.vitals.holders = Holders::unread(Why::TimedOut);
    run.look(&[card(0, &[]), card(1, &[])]);
    run.look(&[card(0, &[]), hung.clone()]);
    run.look(&[card(0, &[]), hung]);
    run.look(&[card(0, &[]), lost(1)]);
    let usage = run.tally.usage();
    assert_eq!((usage.looks, usage.unread_looks), (4, 2));
    assert_eq!(usage.memory.combined, Reading::Known(Bytes(0)));
}

#[test]
fn a_card_that_was_lost_from_the_beginning_is_in_no_sum() {
    let mut run = Run::new(Cards::All);
    let sample = run.look(&[lost(0), card(1, &[(CHILD, 20)])]);
    assert_eq!(sample.memory.combined, known(20));
    let usage = run.tally.usage();
    assert_eq!((usage.memory.combined, usage.capacity), (known(20), known(100)));
    assert_eq!(usage.cards[0].memory, Reading::Unknown(Why::Lost));
}

/// A card that hangs may hold something, so it makes the sum unknown.
#[test]
fn without_one_complete_look_the_sum_is_unknown() {
    let hung = |index| CardLook { facts: facts(index), vitals: Vitals::unknown(Why::TimedOut) };
    let mut run = Run::new(Cards::All);
    run.look(&[card(0, &[(MAIN, 10)]), hung(1)]);
    run.look(&[card(0, &[(MAIN, 30)]), hung(1)]);
    assert_eq!(run.memory(), Reading::Unknown(Why::TimedOut));
    let cards: Vec<_> = run.tally.usage().cards.iter().map(|card| card.memory).collect();
    assert_eq!(cards, [known(30), Reading::Unknown(Why::TimedOut)]);
}

/// The first look came before the process, and was complete.
#[test]
fn a_process_whose_memory_was_never_told_is_not_zero() {
    let mut run = Run::new(Cards::All);
    run.look(&[card(0, &[])]);
    run.look(&[untold(card(0, &[(CHILD, 5)]))]);
    let memory = run.tally.usage().memory;
    assert_eq!((memory.main, memory.descendants), (known(0), Reading::Unknown(Why::NotTold)));
    run.look(&[card(0, &[(CHILD, 8)])]);
    assert_eq!(run.memory(), known(8), "told in the end");
    run.look(&[untold(card(0, &[(CHILD, 5)]))]);
    assert_eq!(run.memory(), known(8), "not told for a moment");
}

#[test]
fn in_a_container_nothing_is_zero_before_one_of_ours_is_among_the_holders() {
    let mut run = Run::foreign();
    let foreign = Reading::Unknown(Why::Foreign);
    let sample = run.look(&[card(0, &[(77, 10)])]);
    assert_eq!((sample.memory.combined, sample.system_memory), (foreign, known(10)));
    let usage = run.tally.usage();
    assert_eq!((usage.memory.combined, usage.cards[0].memory), (foreign, foreign));
    assert_eq!(usage.tree_utilization, Reading::Unknown(Why::Foreign));
    let sample = run.look(&[card(0, &[(CHILD, 4)])]);
    assert_eq!((sample.memory.main, sample.memory.combined), (known(0), known(4)));
    assert_eq!(run.memory(), known(4));
}

#[test]
fn memory_of_the_host_that_cards_share_is_counted_once() {
    let shared = |index| {
        let mut look = card(index, &[(MAIN, 10)]);
        look.vitals.memory =
            look.vitals.memory.map(|memory| MemoryUse { source: Whose::System, ..memory });
        look
    };
    let mut run = Run::new(Cards::All);
    let sample = run.look(&[shared(0), shared(1), card(2, &[(9, 5)])]);
    assert_eq!(sample.system_memory, known(15));
    assert_eq!(run.tally.usage().capacity, known(200));
}

/// The driver's first samples reach back into the time before.
#[test]
fn the_first_figure_of_a_card_does_not_count() {
    let mut run = Run::new(Cards::All);
    let sample = run.look(&[sampled(card(0, &[]), 90.0, 5 * SECOND)]);
    assert_eq!(sample.utilization, Reading::Unknown(Why::FirstLook));
    assert_eq!(run.tally.usage().utilization, Reading::Unknown(Why::FirstLook));
    run.look(&[sampled(card(0, &[]), 30.0, SECOND)]);
    let load = run.tally.usage().utilization.known().unwrap();
    assert_eq!((load.max.0, load.mean.0), (30.0, 30.0));
}

#[test]
fn the_chosen_cards_work_is_added_up_with_the_time_that_it_covers() {
    let mut run = Run::new(Cards::All);
    let look = |run: &mut Run, a: f64, b: f64| {
        let cards = [sampled(card(0, &[]), a, SECOND), sampled(card(1, &[]), b, SECOND / 4)];
        run.look(&cards).utilization
    };
    look(&mut run, 1.0, 1.0);
    assert_eq!(look(&mut run, 40.0, 60.0), Reading::Known(Percent(100.0)));
    look(&mut run, 80.0, 0.0);
    look(&mut run, 0.0, 0.0);
    let load = run.tally.usage().utilization.known().unwrap();
    assert_eq!((load.max.0, load.mean.0), (100.0, 60.0));
}

#[test]
fn an_unknown_card_makes_a_looks_work_unknown_not_less() {
    let mut run = Run::new(Cards::All);
    run.look(&[sampled(card(0, &[]), 1.0, SECOND), sampled(card(1, &[]), 1.0, SECOND)]);
    run.look(&[sampled(card(0, &[]), 50.0, SECOND), sampled(card(1, &[]), 20.0, SECOND)]);
    let sample = run.look(&[sampled(card(0, &[]), 50.0, SECOND), lost(1)]);
    assert_eq!(sample.utilization, Reading::Unknown(Why::Lost));
    let load = run.tally.usage().utilization.known().unwrap();
    assert_eq!((load.max.0, load.mean.0), (70.0, 70.0));
}

/// After a reload the driver looks back five seconds, which were counted already.
#[test]
fn a_driver_that_looks_further_back_again_counts_once() {
    let mut run = Run::new(Cards::All);
    run.look(&[sampled(card(0, &[]), 0.0, 5 * SECOND)]);
    run.look(&[sampled(card(0, &[]), 0.0, SECOND)]);
    run.look(&[sampled(card(0, &[]), 100.0, 5 * SECOND)]);
    assert_eq!(run.tally.usage().utilization.map(|load| load.mean.0), Reading::Known(50.0));
}

#[test]
fn a_card_without_samples_is_judged_by_its_moments() {
    let mut run = Run::new(Cards::All);
    run.look(&[busy(card(0, &[]), 10.0, Basis::Instant)]);
    run.look(&[busy(card(0, &[]), 70.0, Basis::Instant)]);
    run.look(&[busy(card(0, &[]), 30.0, Basis::Instant)]);
    let load = run.tally.usage().utilization.known().unwrap();
    assert_eq!((load.max.0, load.mean.0), (70.0, 50.0));
}

#[test]
fn the_trees_own_work_is_that_of_its_processes_on_chosen_cards() {
    let mut run = Run::new(Cards::Only(vec!["GPU-0".to_owned()]));
    let held = [card(0, &[(MAIN, 1), (CHILD, 1), (9, 1)]), card(1, &[(MAIN, 1)])];
    assert_eq!(run.look(&held).tree_utilization, Reading::Unknown(Why::FirstLook));
    assert_eq!(run.look(&held).tree_utilization, Reading::Known(Percent(20.0)));
    run.look(&[card(0, &[]), card(1, &[])]);
    let load = run.tally.usage().tree_utilization.known().unwrap();
    assert_eq!((load.max.0, load.mean.0), (20.0, 10.0));
}

#[test]
fn a_chosen_card_that_is_not_there_leaves_the_sums_unknown() {
    let mut run = Run::new(Cards::Only(vec!["GPU-0".to_owned(), "GPU-7".to_owned()]));
    run.look(&[sampled(card(0, &[]), 1.0, SECOND)]);
    let sample = run.look(&[sampled(card(0, &[]), 1.0, SECOND)]);
    assert_eq!(sample.utilization, Reading::Unknown(Why::Gone));
    let usage = run.tally.usage();
    assert_eq!((usage.utilization.why(), usage.energy.why()), (Some(Why::Gone), Some(Why::Gone)));
}

#[test]
fn energy_is_that_of_the_chosen_cards() {
    let counted = |index, at| {
        let look = card(index, &[]);
        let energy = Reading::Known(Millijoules(at));
        CardLook { vitals: Vitals { energy, ..look.vitals }, ..look }
    };
    let mut run = Run::new(Cards::All);
    run.look(&[counted(0, 100), counted(1, 1000)]);
    assert_eq!(run.tally.usage().energy, Reading::Unknown(Why::FirstLook));
    run.look(&[counted(0, 150), counted(1, 1007)]);
    assert_eq!(run.tally.usage().energy, Reading::Known(Millijoules(57)));
    run.look(&[counted(0, 3), counted(1, 1009)]);
    assert_eq!(run.tally.usage().energy, Reading::Unknown(Why::DriverGone));
}

#[test]
fn a_card_that_gets_its_name_later_is_one_card() {
    let nameless = CardLook {
        facts: Arc::new(CardFacts::unread(0, Why::Lost)),
        vitals: Vitals::unknown(Why::Lost),
    };
    let mut run = Run::new(Cards::All);
    run.look(&[nameless]);
    run.look(&[card(0, &[(MAIN, 3)])]);
    assert_eq!(run.tally.usage().cards.len(), 1);
    assert_eq!(run.memory(), known(3));
}

/// An instance without a name is none of those beside it.
#[test]
fn an_instance_without_a_name_stays_where_it_is() {
    let slot = |slot, uuid| {
        let instance = InstanceFacts {
            slot: Some(slot),
            gpu_instance: Reading::Known(slot),
            parent_uuid: Reading::Unknown(Why::NotAsked),
            slices: probe::slices::Slices::WHOLE,
        };
        let facts = CardFacts { uuid, instance: Some(instance), ..(*facts(0)).clone() };
        CardLook { facts: Arc::new(facts), vitals: card(0, &[(MAIN, 3)]).vitals }
    };
    let mut run = Run::new(Cards::All);
    let named = slot(0, Reading::Known("MIG-0".to_owned()));
    let mut nameless = slot(1, Reading::Unknown(Why::NotTold));
    run.look(&[named.clone(), nameless.clone()]);
    nameless.vitals = Vitals::unknown(Why::TimedOut);
    run.look(&[named, nameless]);
    let cards: Vec<_> = run.tally.usage().cards.iter().map(|card| card.memory).collect();
    assert_eq!(cards, [known(3), known(3)]);
}

#[test]
fn the_drivers_account_lifts_a_peak_that_the_looks_missed() {
    let mut run = Run::new(Cards::All);
    run.look(&[card(0, &[(MAIN, 10)]), card(1, &[(CHILD, 30)])]);
    run.account(&[(0, MAIN, 25, 10_500), (1, CHILD, 20, 10_500)]);
    let usage = run.tally.usage();
    assert_eq!(
        usage.memory,
        Parts { main: known(25), descendants: known(30), combined: known(40) }
    );
    let cards: Vec<_> = usage.cards.iter().map(|card| (card.memory, card.memory_source)).collect();
    assert_eq!(cards, [(known(25), MemorySource::Accounting), (known(30), MemorySource::Samples)]);
}

/// They may have come one after the other.
#[test]
fn the_accounts_of_several_processes_are_not_added_up() {
    let mut run = Run::new(Cards::All);
    run.look(&[card(0, &[]), card(1, &[])]);
    run.account(&[(0, CHILD, 25, 10_500), (0, OTHER, 40, 11_000), (1, CHILD, 30, 10_500)]);
    let usage = run.tally.usage();
    assert_eq!(usage.cards[0].memory, known(40));
    assert_eq!(usage.memory.descendants, known(55), "one process on two cards");
}

#[test]
fn an_account_of_another_time_or_another_process_does_not_count() {
    let mut run = Run::new(Cards::All);
    run.look(&[card(0, &[]), card(1, &[])]);
    run.account(&[(0, CHILD, 25, 8_999), (0, 99, 40, 11_000)]);
    assert_eq!(run.memory(), known(0));
    run.account(&[(0, CHILD, 25, 9_000)]);
    assert_eq!(run.memory(), known(25), "begun with us");
}

/// The list of holders is denied, the accounting is not.
#[test]
fn what_was_accounted_for_is_known() {
    let denied = |index| {
        let mut look = card(index, &[]);
        look.vitals.holders = Holders::unread(Why::NoPermission);
        look
    };
    let mut run = Run::new(Cards::All);
    run.look(&[denied(0), card(1, &[])]);
    assert_eq!(run.memory(), Reading::Unknown(Why::NoPermission));
    run.account(&[(0, CHILD, 25, 10_500)]);
    assert_eq!((run.memory(), run.tally.usage().cards[0].memory), (known(25), known(25)));
}

/// Two cards at one look: what the main process and its child hold of each, or a card that does
/// not answer.
fn any_look() -> impl Strategy<Value = Vec<Option<(u64, u64)>>> {
    prop::collection::vec(prop::option::weighted(0.8, (0_u64..40, 0_u64..40)), 2)
}

proptest! {
    /// The laws: the tree's peak is no less than that of any part or any card, no more than the
    /// parts' together, and known as soon as one look was complete.
    #[test]
    fn a_peak_holds_all_smaller_ones(looks in prop::collection::vec(any_look(), 1..8)) {
        let mut run = Run::new(Cards::All);
        for look in &looks {
            let cards = look.iter().zip(0..).map(|(held, index)| match held {
                Some((main, child)) => card(index, &[(MAIN, *main), (CHILD, *child)]),
                None => CardLook { facts: facts(index), vitals: Vitals::unknown(Why::TimedOut) },
            });
            run.look(&cards.collect::<Vec<_>>());
        }
        let usage = run.tally.usage();
        let is_complete = looks.iter().any(|look| look.iter().all(Option::is_some));
        let Parts { main, descendants, combined } = usage.memory;
        prop_assert!(combined.known().is_some() || !is_complete);
        if let (Some(main), Some(child), Some(all)) = (main.known(), descendants.known(), combined.known()) {
            prop_assert!(main <= all && child <= all && all <= [main, child].into_iter().sum());
            prop_assert!(usage.cards.iter().all(|card| card.memory.known() <= Some(all)));
        }
    }
}
