//! Totals are the sums of the rows, whatever happens.

use std::collections::BTreeMap;

use gua_core::identity::{Job, Source, Told, Who};
use gua_core::span::{Gap, GapReason, Work};
use gua_core::units::UnixMillis;
use gua_core::{Reason, State};
use gua_fleet::{Counter, OwnerLabels};
use gua_recorder::TickObserver;
use gua_store::{Retention, Tick};
use proptest::prelude::*;

use crate::lab::{
    self, DAY, HOUR, Lab, MINUTE, Part, START, Stretch, card, due, period, poll, span,
};

/// A run: the pause before it, spans of two cards, ticks, and whether it ends in order.
#[derive(Debug, Clone)]
struct TestRun {
    pause: i64,
    spans: [Vec<(i64, usize, Vec<Part>)>; 2],
    /// Lengths, and whether the transaction is committed.
    ticks: Vec<(i64, bool)>,
}

const STATES: [State; 4] =
    [State::Active, State::IdleHeld, State::TrulyIdle, State::Unknown(Reason::Lost)];

fn runs() -> impl Strategy<Value = Vec<TestRun>> {
    let work = prop_oneof![Just(Work::Working), Just(Work::Idle), Just(Work::Unknown)];
    let parts = proptest::collection::vec((1_u32..20, work), 0..4).prop_map(|parts| {
        parts.into_iter().zip(0_u32..).map(|((weight, work), pid)| (pid, weight, work)).collect()
    });
    let spans = proptest::collection::vec((1_i64..90_000, 0_usize..4, parts), 1..12);
    let ticks = proptest::collection::vec((1_i64..60_000, any::<bool>()), 1..12);
    let run = (0_i64..100_000, [spans.clone(), spans], ticks)
        .prop_map(|(pause, spans, ticks)| TestRun { pause, spans, ticks });
    proptest::collection::vec(run, 1..4)
}

/// Returns the spans of a run, cut at quarter hours.
fn stretches(run: &TestRun, from: i64) -> Vec<Stretch> {
    let mut all = Vec::new();
    for (spans, card) in run.spans.iter().zip(0..) {
        let mut at = from;
        for (length, state, parts) in spans {
            let end = at + length;
            while at < end {
                let to = end.min((at / (15 * MINUTE) + 1) * 15 * MINUTE);
                let state = STATES[*state];
                all.push(Stretch { card, from: at, to, state, parts: parts.clone() });
                at = to;
            }
        }
    }
    all
}

fn assert_sums(lab: &Lab) {
    let counters = lab.counters();
    let value = |counter, card: &str, label: &str| {
        counters.value(&gua_fleet::counters::Key {
            counter,
            card: card.into(),
            label: label.into(),
        })
    };
    let cards = lab.rows(
        "SELECT uuid, '', sum(active_ms), sum(idle_held_ms), sum(free_ms), sum(unknown_ms), sum(busy),
             sum(active_j), sum(idle_held_j), sum(iif(reason = 0, other_j, 0)),
             sum(iif(reason = 0, 0, other_j)), sum(energy_estimated_ms), sum(energy_unknown_ms)
             FROM card_span JOIN card ON card.id = card GROUP BY uuid",
    );
    for ((card, _), sums) in cards {
        let counters = [
            Counter::StateActive,
            Counter::StateIdleHeld,
            Counter::StateFree,
            Counter::StateUnknown,
            Counter::Busy,
            Counter::EnergyActive,
            Counter::EnergyIdleHeld,
            Counter::EnergyFree,
            Counter::EnergyUnknownState,
            Counter::EnergyEstimated,
            Counter::EnergyUnknown,
        ];
        assert_eq!(counters.map(|counter| value(counter, &card, "")).to_vec(), sums, "{card}");
        let [observed, energy] = [&sums[..4], &sums[5..9]].map(|sums| sums.iter().sum::<i64>());
        assert_eq!(value(Counter::Energy, &card, ""), energy);
        let counted = observed - sums[9] - sums[10];
        assert_eq!(value(Counter::EnergyCounted, &card, ""), counted);
    }
    let users = lab.rows(
        "SELECT uuid, ifnull(user, 'unlisted'), sum(active_share_ms),
             sum(low_use_share_ms + unused_share_ms), sum(unknown_share_ms), sum(unused_share_ms),
             sum(low_use_share_ms), sum(active_j), sum(idle_held_j), sum(holder_span.energy_unknown_ms)
             FROM holder_span JOIN holder ON holder.id = holder JOIN card ON card.id = holder.card
             LEFT JOIN process ON process.id = process LEFT JOIN person ON person.id = person
             GROUP BY uuid, user",
    );
    let (mut unused, mut low_use) = (BTreeMap::new(), BTreeMap::new());
    for ((card, user), sums) in users {
        let values = Counter::SHARES.iter().map(|counter| value(*counter, &card, &user));
        assert_eq!(values.collect::<Vec<_>>(), sums, "{card} {user}");
        *unused.entry(card.clone()).or_insert(0) += sums[3];
        *low_use.entry(card).or_insert(0) += sums[4];
    }
    for (card, sum) in unused {
        assert_eq!(value(Counter::Unused, &card, ""), sum);
        assert_eq!(value(Counter::LowUse, &card, ""), low_use[&card]);
    }
}

/// Adds what users did on cards in the spans of a run up to a time.
fn add_presence(sums: &mut BTreeMap<(String, String), i64>, run: &[Stretch], until: i64) {
    for stretch in run.iter().filter(|it| it.from < until) {
        for user in stretch.parts.iter().filter(|(pid, ..)| *pid > 0) {
            let name = ["ann", "ben", "eve"][user.0 as usize - 1];
            let key = (format!("GPU-{}", stretch.card), name.to_owned());
            *sums.entry(key).or_default() += stretch.to.min(until) - stretch.from;
        }
    }
}

fn exported(lab: &Lab) -> BTreeMap<(i64, String, String), i64> {
    let totals = lab.read().totals().unwrap().into_iter();
    let counters = totals.filter(|total| total.counter < Counter::FinalUntil.number());
    counters
        .map(|it| ((it.counter, it.card.to_string(), it.label.to_string()), it.exported))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Trap: exported counters never go back, also over restarts, pruning and gaps. State in memory
    /// advances only after COMMIT.
    #[test]
    fn exported_counters_are_sums_of_rows_and_never_go_back(runs in runs()) {
        let mut lab = Lab::new();
        let (mut from, mut before) = (START, BTreeMap::new());
        let (mut presence, mut observed, mut gaps) = (BTreeMap::new(), 0, 0);
        let mut recorded_until = None;
        for run in &runs {
            from += run.pause;
            lab.begin(from);
            let stretches = stretches(run, from);
            let length = |card| stretches.iter().filter(|it| it.card == card).map(|it| it.to).max();
            let end = [0, 1].into_iter().filter_map(length).max().unwrap();
            let (mut stored, mut now) = (from, from);
            for (tick, is_kept) in &run.ticks {
                now = (now + tick).min(end);
                let (closed, open) = due(&stretches, stored, now);
                let tick = Tick {
                    closed: &closed,
                    open: &open,
                    ..Tick::new(UnixMillis(now), UnixMillis(now))
                };
                if now == stored || !lab.tick(&tick, *is_kept) {
                    continue;
                }
                stored = now;
                assert_sums(&lab);
                let after = exported(&lab);
                for (key, value) in &before {
                    prop_assert!(after[key] >= *value, "{:?}", key);
                }
                before = after;
            }
            if stored > from {
                add_presence(&mut presence, &stretches, stored);
                observed += stored - from;
                gaps += recorded_until.map_or(0, |until| from - until);
                recorded_until = Some(stored);
            }
            from = now;
        }
        let Some(_) = recorded_until else { return Ok(()) };
        let mut counted: BTreeMap<(String, String), i64> = BTreeMap::new();
        for counter in Counter::PRESENCE {
            for (owner, value) in lab.stored(*counter) {
                *counted.entry(owner).or_default() += value;
            }
        }
        prop_assert_eq!(counted, presence);
        prop_assert_eq!(lab.stored(Counter::Observed).into_values().sum::<i64>(), observed);
        prop_assert_eq!(lab.stored(Counter::Gap).into_values().sum::<i64>(), gaps);
    }
}

fn record(lab: &mut Lab, from: i64, to: i64, state: State) {
    let parts = [(1, 1, Work::Idle)];
    let closed = [span(&card(0), from, to, state, &parts)];
    let at = UnixMillis(to);
    assert!(lab.tick(&Tick { closed: &closed, recorded_ms: to - from, ..Tick::new(at, at) }, true));
}

/// Trap: the clock was set back. Rows are replaced; counters count what passed, and do not fall.
#[test]
fn clock_set_back_takes_no_counter_back() {
    let mut lab = Lab::new();
    lab.begin(START + HOUR);
    record(&mut lab, START + HOUR, START + HOUR + MINUTE, State::Active);
    lab.begin(START);
    record(&mut lab, START, START + MINUTE, State::Active);
    assert_eq!(lab.value(Counter::StateActive, "GPU-0", ""), 2 * MINUTE);
    assert_eq!(lab.value(Counter::Observed, "", ""), 2 * MINUTE);
    assert_eq!(lab.value(Counter::Gap, "", ""), 0);
    let frame = gua_fleet::Frame::from_database(&lab.read()).unwrap().unwrap();
    assert_eq!(frame.final_until, Some(UnixMillis(START + MINUTE)));
    record(&mut lab, START + MINUTE, START + 2 * MINUTE, State::Active);
    assert_eq!(lab.value(Counter::Observed, "", ""), 3 * MINUTE);
}

/// Trap: exported counters never go back, also over pruning.
#[test]
fn pruning_takes_no_counter_back() {
    let mut lab = Lab::new();
    lab.begin(START);
    for quarter in 0..4 * 24 * 3 {
        let from = START + quarter * 15 * MINUTE;
        record(&mut lab, from, from + 15 * MINUTE, State::IdleHeld);
    }
    let keep = Retention { exact_ms: HOUR, quarters_ms: DAY, hours_ms: DAY, samples_ms: HOUR };
    let pruned = lab.writer.as_mut().unwrap().prune(&keep, 1_000_000).unwrap();
    assert!(!pruned.rows.is_empty(), "{pruned:?}");
    lab.begin(START + 3 * DAY);
    record(&mut lab, START + 3 * DAY, START + 3 * DAY + MINUTE, State::IdleHeld);
    assert_eq!(lab.value(Counter::Unused, "GPU-0", ""), 3 * DAY + MINUTE);
    assert_eq!(lab.value(Counter::UserUnused, "GPU-0", "ann"), 3 * DAY + MINUTE);
}

#[test]
fn gap_is_counted_with_its_reason() {
    let mut lab = Lab::new();
    lab.begin(START);
    record(&mut lab, START, START + MINUTE, State::Active);
    let gap = |to, reason| Gap { period: period(START + MINUTE, START + to * MINUTE), reason };
    let away = GapReason::Driver(Reason::DriverGone);
    let at = |minute: i64| UnixMillis(START + minute * MINUTE);
    let cards = [card(0)];
    for minute in [2, 3] {
        let tick = Tick { open_gap: Some(gap(minute, away)), ..Tick::new(at(minute), at(minute)) };
        assert!(lab.tick_with(&tick, &poll(at(minute).0, &cards), true));
    }
    let gaps = [gap(4, away), gap(4, GapReason::Late)];
    let tick = Tick { gaps: &gaps[..1], ..Tick::new(at(4), at(4)) };
    assert!(lab.tick_with(&tick, &poll(at(4).0, &cards), true));
    assert_eq!(lab.value(Counter::Errors, "", "driver_gone"), 2);
    assert_eq!(lab.value(Counter::Gap, "", ""), 3 * MINUTE);
    let tick = Tick { gaps: &gaps[1..], ..Tick::new(at(4), at(4)) };
    assert!(lab.tick_with(&tick, &poll(at(4).0, &cards), true));
    assert_eq!(lab.value(Counter::Errors, "", "late"), 1);
    assert_eq!(lab.value(Counter::Errors, "", "suspended"), 0);
    assert_eq!(lab.value(Counter::Observed, "", ""), MINUTE);
}

/// Trap: a workload learned later is attached later; it does not move what counters have counted.
#[test]
fn workload_learned_later_does_not_move_what_was_counted() {
    let mut lab = Lab::new();
    lab.labels = OwnerLabels { job: true, ..OwnerLabels::default() };
    lab.begin(START);
    let at = |second: i64| UnixMillis(START + second * 1000);
    let open = |to| [span(&card(0), START, at(to).0, State::Active, &[(1, 1, Work::Working)])];
    assert!(lab.tick(&Tick { open: &open(20), ..Tick::new(at(20), at(20)) }, true));
    let job = Told { value: Job { id: "7".into(), step: None }, source: Source::Cgroup };
    let who = Who { job: Some(job), ..Who::default() };
    lab.processes.get_mut(&lab::process(1)).unwrap().workload = Some(who.into());
    assert!(lab.tick(&Tick { closed: &open(50), ..Tick::new(at(50), at(50)) }, true));
    assert_eq!(lab.value(Counter::WorkloadActive, "GPU-0", "ann\nslurm_job=7"), 30_000);
    assert_eq!(lab.value(Counter::UserActive, "GPU-0", "ann"), 50_000);
}

/// Trap: who is behind a process is learned later; that does not move what counters have counted.
#[test]
fn user_learned_later_does_not_move_what_was_counted() {
    let mut lab = Lab::new();
    lab.begin(START);
    let known = lab.processes.remove(&lab::process(1)).unwrap();
    let at = |second: i64| UnixMillis(START + second * 1000);
    let open = |to| [span(&card(0), START, at(to).0, State::Active, &[(1, 1, Work::Working)])];
    assert!(lab.tick(&Tick { open: &open(20), ..Tick::new(at(20), at(20)) }, true));
    lab.processes.insert(known.id, known);
    assert!(lab.tick(&Tick { closed: &open(50), ..Tick::new(at(50), at(50)) }, true));
    assert_eq!(lab.value(Counter::UserActive, "GPU-0", "uid 1001"), 20_000);
    assert_eq!(lab.value(Counter::UserActive, "GPU-0", "ann"), 30_000);
    assert_eq!(lab.value(Counter::PresentActive, "GPU-0", "ann"), 30_000);
}

/// The database was moved away: another file begins at the path, and its totals with it.
#[test]
fn totals_begin_with_the_file() {
    let mut lab = Lab::new();
    lab.begin(START);
    record(&mut lab, START, START + MINUTE, State::Active);
    std::fs::rename(lab.path(), lab.path().with_extension("old")).unwrap();
    gua_store::Database::create(&lab.path()).unwrap();
    let mut totals = lab.totals.take().unwrap();
    lab.begin(START + HOUR);
    totals.opened(lab.writer.as_ref().unwrap().database()).unwrap();
    lab.totals = Some(totals);
    record(&mut lab, START + HOUR, START + HOUR + 5000, State::Active);
    assert_eq!(lab.value(Counter::StateActive, "GPU-0", ""), 5000);
    assert_eq!(lab.stored(Counter::StateActive).into_values().sum::<i64>(), 5000);
}

#[test]
fn file_that_is_opened_again_counts_nothing_twice() {
    let mut lab = Lab::new();
    lab.begin(START);
    let at = |second: i64| UnixMillis(START + second * 1000);
    let open = |to| [span(&card(0), START, at(to).0, State::Active, &[])];
    assert!(lab.tick(&Tick { open: &open(20), ..Tick::new(at(20), at(20)) }, true));
    let database = lab.read();
    lab.totals.as_mut().unwrap().opened(&database).unwrap();
    assert!(lab.tick(&Tick { open: &open(50), ..Tick::new(at(50), at(50)) }, true));
    assert_eq!(lab.value(Counter::StateActive, "GPU-0", ""), 50_000);
}

/// A GPU in parts counts as one, also for its users, and at any interval.
#[test]
fn parts_of_a_gpu_count_as_such() {
    for interval in [777, 5_000, 30_000] {
        let mut lab = Lab::new();
        lab.begin(START);
        let cards = [lab::part(0, Some(0), 3), lab::part(0, Some(1), 4), lab::part(0, None, 1)];
        let end = START + 100_001;
        let mut at = START;
        while at < end {
            at = end.min(at + interval);
            let workers = [(1, 3, Work::Working), (2, 4, Work::Working), (0, 1, Work::Working)];
            let holder = [(2, 1, Work::Idle)];
            let spans = [
                span(&cards[0], START, at, State::Active, &workers),
                span(&cards[1], START, at, State::IdleHeld, &holder),
                span(&cards[2], START, at, State::TrulyIdle, &[]),
            ];
            lab.tick(&Tick { open: &spans, ..Tick::new(UnixMillis(at), UnixMillis(at)) }, true);
        }
        let states = [Counter::StateActive, Counter::StateIdleHeld, Counter::StateFree];
        let uuids = ["MIG-0-0", "MIG-0-1", "GPU-0/unpartitioned/1"];
        let both = || states.into_iter().zip(uuids);
        let found = both().map(|(counter, uuid)| lab.value(counter, uuid, ""));
        assert_eq!(found.collect::<Vec<_>>(), [37_500, 50_001, 12_500], "{interval}");
        let share = |user| lab.value(Counter::UserActive, uuids[0], user);
        assert_eq!(["ann", "ben", "unlisted"].map(share).iter().sum::<i64>(), 37_500);
        assert_eq!(lab.value(Counter::UserUnused, uuids[1], "ben"), 50_001);
        assert_eq!(lab.value(Counter::PresentIdleHeld, uuids[1], "ben"), 50_001);
        assert_eq!(lab.value(Counter::Observed, "", ""), 100_001);
        // Energy is divided before.
        assert_eq!(lab.value(Counter::EnergyActive, uuids[0], ""), 9_700);
    }
}
