//! Invariants of all spans, whatever is polled.

use std::collections::BTreeMap;

use gua_core::card::{Basis, Utilization, Vitals};
use gua_core::classifier::Classifier;
use gua_core::poll::{CardPoll, Exit};
use gua_core::process::Kinds;
use gua_core::span::Span;
use gua_core::units::{Bytes, Millijoules, Percent};
use gua_core::{Poll, Reading, Reason, State, Thresholds};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::driver::USUAL;
use crate::figures::errors;
use crate::polls::{self, Card, Millis, TestHolder};
use crate::run::run;
use crate::workload;

/// Asserts that the spans of each card abut or leave gaps but never overlap, that no span crosses a
/// quarter hour, and that shares add up to the card's time.
fn assert_consistent(spans: &[Span]) {
    let mut ends: BTreeMap<String, i64> = BTreeMap::new();
    for span in spans {
        let card = span.card.uuid.clone().known().unwrap_or_default();
        let begin = ends.insert(card, span.period.to.0).unwrap_or(i64::MIN);
        assert!(span.period.from.0 >= begin, "{span:?} begins before {begin}");
        assert!(span.period.millis() > 0);
        let quarter = |at: i64| at.div_euclid(900_000);
        assert_eq!(quarter(span.period.from.0), quarter(span.period.to.0 - 1), "{span:?}");
        let shares: i64 = span.holders.iter().map(|holder| holder.share_ms).sum();
        let is_shared = span.state != State::TrulyIdle && !span.holders.is_empty();
        assert!(span.state != State::IdleHeld || is_shared, "{span:?}");
        assert_eq!(shares, if is_shared { span.period.millis() } else { 0 }, "{span:?}");
        assert!(span.holders.iter().all(|holder| holder.share_ms >= 0));
        assert!(span.busy.known_ms <= span.period.millis() + 1, "{span:?}");
        assert!(span.memory.known_ms <= span.period.millis() + 1, "{span:?}");
        let energy: f64 = span.holders.iter().map(|holder| holder.energy).sum();
        let most = if is_shared { span.energy.sum } else { 0.0 };
        assert!((energy - most).abs() < 1e-6 * (1.0 + most), "{energy} of {span:?}");
    }
}

#[test]
fn spans_of_all_workloads_are_consistent_and_without_gaps() {
    for workload in workload::all() {
        let found = run(&workload, USUAL, 5, 30);
        assert_consistent(&found.spans);
        let abut = found.spans.windows(2).filter(|pair| pair[0].period.to == pair[1].period.from);
        let gaps = workload.stopped.len();
        assert_eq!(abut.count() + 1 + gaps, found.spans.len(), "{}", workload.name);
    }
}

#[test]
fn the_poll_interval_has_no_influence() {
    for workload in workload::all() {
        let differs = |name: &str| matches!(name, "shorter than a poll" | "comers and goers");
        if differs(workload.name) {
            continue;
        }
        let usual = run(&workload, USUAL, 5, 30).account;
        for poll_seconds in [1, 2] {
            let found = run(&workload, USUAL, poll_seconds, 30).account;
            let errors = errors(&usual, &found);
            // A person's work on shared cards is seen better with more process samples.
            let is_in_figures = errors.state <= 0.5 && errors.person <= 1.0;
            assert!(is_in_figures, "{} at {poll_seconds} s: {errors:?}", workload.name);
        }
    }
}

#[test]
fn spans_do_not_depend_on_when_they_are_taken_out() {
    let workloads = workload::all();
    for workload in workloads.iter().filter(|it| it.name.starts_with("two")) {
        let often = run(workload, USUAL, 5, 5).spans;
        assert_eq!(often, run(workload, USUAL, 5, 3600).spans, "{}", workload.name);
    }
}

/// Energy that the driver counted, by state, of phases of which the answer is known.
#[test]
fn energy_follows_the_work() {
    for poll_seconds in [1, 5, 7] {
        check_energy(poll_seconds);
    }
}

fn check_energy(poll_seconds: u64) {
    let workloads = workload::all();
    let workload = workloads.iter().find(|it| it.name == "phases 41/53 at 90").unwrap();
    let found = run(workload, USUAL, poll_seconds, 30);
    let of = |state: State| {
        let spans = found.spans.iter().filter(|span| span.state == state);
        let (energy, time): (Vec<_>, Vec<_>) =
            spans.map(|span| (span.energy.sum, span.period.seconds())).unzip();
        (energy.iter().sum::<f64>(), time.iter().sum::<f64>())
    };
    // 60 W, and 3.4 W for each percent.
    let ((active, active_time), (idle, idle_time)) = (of(State::Active), of(State::IdleHeld));
    let truth = (366.0 * active_time, 60.0 * idle_time);
    assert!((active / truth.0 - 1.0).abs() < 0.005, "{active} of {}", truth.0);
    assert!((idle / truth.1 - 1.0).abs() < 0.01, "{idle} of {}", truth.1);
    let all = active + idle;
    let truth = truth.0 + truth.1;
    assert!((all / truth - 1.0).abs() < 0.0005, "{all} of {truth} at {poll_seconds} s");
}

/// One card at one poll: who holds how much, what is known, and how busy it was.
#[derive(Debug, Clone)]
struct AnyCard {
    holders: Vec<(u32, Option<u64>, bool)>,
    unlisted: u64,
    samples: Option<Vec<u32>>,
    is_full: bool,
    rate: Option<f64>,
    energy: Option<u64>,
    process_samples: Vec<(u32, Millis, u32)>,
    trouble: Option<Reason>,
}

/// One poll of two cards, the second of which may be missing.
#[derive(Debug, Clone)]
struct AnyPoll {
    after: Millis,
    cards: (AnyCard, Option<AnyCard>),
    exit: Option<(u32, Millis)>,
    is_away: bool,
}

fn any_card() -> impl Strategy<Value = AnyCard> {
    let holder = (1_u32..5, prop::option::weighted(0.9, 0_u64..20_000), prop::bool::weighted(0.1));
    let trouble = prop_oneof![Just(Reason::Lost), Just(Reason::TimedOut)];
    (
        vec(holder, 0..4),
        prop_oneof![3 => Just(0_u64), 1 => 0_u64..5000],
        prop::option::weighted(0.8, vec(prop_oneof![Just(0_u32), 0_u32..=101], 0..30)),
        prop::bool::weighted(0.2),
        prop::option::weighted(0.8, prop_oneof![Just(0.0), 0.0..100.0]),
        prop::option::weighted(0.9, 0_u64..1_000_000),
        vec((1_u32..5, -15_000_i64..2000, 0_u32..=101), 0..5),
        prop::option::weighted(0.05, trouble),
    )
        .prop_map(
            |(holders, unlisted, samples, is_full, rate, energy, process_samples, trouble)| {
                AnyCard {
                    holders,
                    unlisted,
                    samples,
                    is_full,
                    rate,
                    energy,
                    process_samples,
                    trouble,
                }
            },
        )
}

fn any_poll() -> impl Strategy<Value = AnyPoll> {
    (
        prop_oneof![9 => 200_i64..7500, 1 => 7500_i64..60_000],
        (any_card(), prop::option::weighted(0.9, any_card())),
        prop::option::weighted(0.2, (1_u32..5, -6000_i64..500)),
        prop::bool::weighted(0.03),
    )
        .prop_map(|(after, cards, exit, is_away)| AnyPoll { after, cards, exit, is_away })
}

fn any_thresholds() -> impl Strategy<Value = Thresholds> {
    let percent = || prop_oneof![Just(0.0), Just(1.0), Just(10.0), Just(100.0)].prop_map(Percent);
    let held = prop_oneof![Just(0), Just(100), Just(5000)].prop_map(Bytes::from_mib);
    (percent(), percent(), held).prop_map(|(active, worked, held)| Thresholds {
        active,
        worked,
        held,
        ..Thresholds::default()
    })
}

impl AnyPoll {
    fn poll(&self, at: Millis) -> Poll {
        let first = self.cards.0.card(at, "GPU-1");
        let second = self.cards.1.as_ref().map(|card| card.card(at, "GPU-2"));
        let cards = match self.is_away {
            true => Err(Reason::DriverGone),
            false => Ok([Some(first), second].into_iter().flatten().collect()),
        };
        let exit = |(pid, age): (u32, Millis)| Exit {
            id: polls::holder(pid, 0).id,
            at: polls::clocks(at + age).since_boot,
        };
        Poll { clocks: polls::clocks(at), cards, exits: self.exit.map(exit).into_iter().collect() }
    }
}

impl AnyCard {
    fn card(&self, at: Millis, uuid: &str) -> CardPoll {
        if let Some(reason) = self.trouble {
            return CardPoll { card: polls::card(uuid), ..Card::unread(reason) };
        }
        let mut holders: Vec<TestHolder> = Vec::new();
        for (pid, mib, is_mps) in &self.holders {
            if holders.iter().all(|holder| holder.id.pid != *pid) {
                let kinds = if *is_mps { Kinds::MPS } else { Kinds::COMPUTE };
                holders.push(TestHolder { mib: *mib, kinds, ..polls::holder(*pid, 0) });
            }
        }
        let listed: u64 = holders.iter().filter_map(|holder| holder.mib).sum();
        let sample = |(number, percent): (i64, &u32)| (at - number * 167, *percent);
        let of_process = |(pid, age, percent): &(u32, i64, u32)| (*pid, at + age, *percent);
        let rate = |percent| Utilization { percent: Percent(percent), basis: Basis::Instant };
        let unknown = Reason::NotSupported;
        let card = polls::idle(at).with(|card| {
            card.facts = polls::card(uuid);
            card.holders = holders;
            card.used = Some((listed + self.unlisted).min(79_000));
            card.samples = self.samples.as_ref().map(|it| (0..).zip(it).map(sample).collect());
            card.is_full = self.is_full;
            card.process_samples = self.process_samples.iter().map(of_process).collect();
            card.reading = Vitals {
                utilization: self
                    .rate
                    .map_or(Reading::Unknown(unknown), |it| Reading::Known(rate(it))),
                energy: self
                    .energy
                    .map_or(Reading::Unknown(unknown), |it| Reading::Known(Millijoules(it))),
                ..card.reading.clone()
            };
        });
        card.poll()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn any_polls_give_consistent_spans(
        polls in vec(any_poll(), 2..50),
        thresholds in any_thresholds(),
    ) {
        let mut at_once = Classifier::new(thresholds);
        let mut one_by_one = Classifier::new(thresholds);
        let mut taken = Vec::new();
        let (mut at, mut last_final) = (0, i64::MIN);
        for poll in &polls {
            at += poll.after;
            let poll = poll.poll(at);
            at_once.add(&poll);
            one_by_one.add(&poll);
            taken.extend(one_by_one.take_spans());
            let until = one_by_one.final_until().map_or(i64::MIN, |until| until.0);
            prop_assert!(last_final <= until && until <= polls::WALL + at);
            last_final = until;
            for span in one_by_one.open_spans() {
                prop_assert!(span.period.to.0 <= until.max(span.period.from.0));
            }
        }
        at_once.finish();
        one_by_one.finish();
        taken.extend(one_by_one.take_spans());
        let spans = at_once.take_spans();
        prop_assert_eq!(&spans, &taken);
        assert_consistent(&spans);
        // All time of the first card is in a span or in a gap.
        let of_first = spans.iter().filter(|span| span.card.uuid == polls::card("GPU-1").uuid);
        let mut known: Vec<_> = at_once.take_gaps().iter().map(|gap| gap.period).collect();
        known.extend(of_first.map(|span| span.period));
        known.sort();
        prop_assert!(known.windows(2).all(|pair| pair[0].to == pair[1].from), "{:?}", known);
        let total: i64 = known.iter().map(gua_core::Period::millis).sum();
        prop_assert_eq!(total, at - polls[0].after);
    }
}
