//! What is imported counts for what the rule of the Python gua makes of the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gua_store::python::open_converted;
use proptest::prelude::*;

use crate::python_file::{
    Card, HOUR, Layout, MINUTE, PythonFile, START, always, card, period, text, times,
};

const QUARTER: i64 = 15 * MINUTE;
const INTERVALS: [f64; 4] = [0.5, 10.0, 30.0, 3600.0];

#[derive(Debug, Clone)]
struct Tick {
    at: i64,
    /// 0: none.
    run: i64,
    cards: Vec<Card>,
}

fn cards() -> impl Strategy<Value = Vec<Card>> {
    let user = proptest::option::of(prop_oneof!["ann", "bob"]);
    let mib = proptest::option::weighted(0.8, prop_oneof![0_i64..130, Just(70_000)]);
    let percent = prop_oneof![0_i64..20, Just(100)];
    let card = (percent, proptest::collection::vec((1_u32..4, mib, user), 0..3), 0_u8..8);
    proptest::collection::vec(card, 3).prop_map(|cards| {
        let card = |(number, (percent, processes, missing))| {
            let card = Card { uuid: format!("GPU-{number}"), percent: Some(percent), processes };
            (missing != 0).then_some(card)
        };
        cards.into_iter().enumerate().filter_map(card).collect()
    })
}

/// Ticks of at most two days, no two of one run at one time.
fn ticks() -> impl Strategy<Value = Vec<Tick>> {
    let step = prop_oneof![Just(0_i64), 1_i64..40_000, Just(30_000), 0_i64..5_000_000];
    proptest::collection::vec((step, 0_i64..5, 0_u8..4, cards()), 1..30).prop_map(|steps| {
        let (mut at, mut run, mut seen) = (START, 1, BTreeSet::new());
        let tick = |(step, other, change, cards)| {
            at += step;
            run = if change == 0 { other } else { run };
            seen.insert((at, run)).then_some(Tick { at, run, cards })
        };
        steps.into_iter().filter_map(tick).collect()
    })
}

fn file(ticks: &[Tick]) -> PythonFile {
    let file = PythonFile::new(Layout::Newest);
    file.execute("BEGIN");
    (1..).zip(INTERVALS).for_each(|(run, interval)| file.add_run(run, interval));
    for tick in ticks {
        file.add_tick(tick.at, Some(tick.run).filter(|run| *run > 0), &tick.cards);
    }
    file.execute("COMMIT");
    file
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Trap: import of a Python gua: sums are those of its rule, hour by hour, also where other runs
    /// record at the same time.
    #[test]
    fn hours_are_those_of_the_python_gua(ticks in ticks()) {
        let file = file(&ticks);
        let import = file.import();
        let database = import.database();
        prop_assert_eq!(database.check().unwrap(), []);
        prop_assert_eq!(import.imported.unusable.total(), 0);
        let mut counted = BTreeMap::new();
        for hour in (0..48).map(|hour| START + hour * HOUR) {
            let sums = times(&database, period(hour, hour + HOUR));
            let states = ["active", "idle_held", "free", "unknown"].into_iter().zip(sums);
            for (state, millis) in states.filter(|(_, millis)| *millis > 0.0) {
                counted.insert((text(hour)[..13].to_owned(), state.to_owned()), millis);
            }
        }
        prop_assert_eq!(counted, file.count_by_hour());
    }

    #[test]
    fn window_of_the_file_is_the_window_of_the_import(
        ticks in ticks(), from in -4_i64..100, length in 1_i64..40,
    ) {
        let file = file(&ticks);
        let window = period(START + from * QUARTER, START + (from + length) * QUARTER);
        let whole = file.import();
        let part = open_converted(&file.path(), window, None).unwrap();
        prop_assert_eq!(part.check().unwrap(), []);
        let (whole, part) = (whole.database().usage(window).unwrap(), part.usage(window).unwrap());
        let times = |sums: &gua_store::WindowSums| {
            sums.cards.values().map(|card| card.times).collect::<Vec<_>>()
        };
        prop_assert_eq!(times(&part), times(&whole));
        prop_assert_eq!(part.gaps, whole.gaps);
    }
}

/// Trap: import of a Python gua: shares add up to the cards', split by memory.
#[test]
fn time_is_shared_by_memory_and_idle_time_makes_sessions() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 30.0);
    for tick in 0..30 {
        let bob = (8, Some(1500), "bob");
        let others: &[_] = if tick < 20 { &[bob] } else { &[] };
        let held = [&[(7, Some(500), "ann")], others].concat();
        // Active, then idle-held; a gap of a minute and a half in between is bridged.
        let percent = if tick < 2 { 80 } else { 3 };
        let at = START + MINUTE + tick * 30_000 + i64::from(tick >= 10) * 90_000;
        file.add_tick(at, Some(1), &[card("GPU-0", percent, &held)]);
    }
    file.execute("UPDATE gpu_sample SET power_w = 101, memory_used_mb = 2600");
    let import = file.import();
    let database = import.database();
    assert_eq!(database.check().unwrap(), []);
    let sums = database.usage(always()).unwrap();
    let shares: Vec<_> = sums
        .holders
        .values()
        .map(|holder| {
            let times = holder.times;
            (times.working_ms, times.active_share_ms, times.unused_share_ms, holder.peak_mib)
        })
        .collect();
    let ann = (60_000.0, 15_000.0, 18.0 * 7500.0 + 300_000.0, 500);
    assert_eq!(shares, [ann, (60_000.0, 45_000.0, 18.0 * 22_500.0, 1500)]);
    let energy: f64 =
        sums.holders.values().map(|it| it.times.active_j + it.times.idle_held_j).sum();
    assert_eq!(energy, 30.0 * 30.0 * 101.0);

    let sessions = database.sessions(always()).unwrap();
    let found: Vec<_> = sessions
        .iter()
        .map(|it| {
            (it.period.millis(), it.doubt_ms, it.unused_share_ms, it.is_begin_seen, it.is_open)
        })
        .collect();
    let bob = (18 * 30_000 + 90_000, 90_000, 18 * 22_500, true, false);
    assert_eq!(found, [(28 * 30_000 + 90_000, 90_000, 435_000, true, false), bob]);
    let memory: i64 = sessions.iter().map(|session| session.memory).sum();
    assert_eq!(memory, 28 * 30 * 500 + 18 * 30 * 1500);
}

/// Memory that no listed process holds has a share, but changes no state.
#[test]
fn unlisted_memory_has_a_share() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 30.0);
    file.add_tick(START + 1, Some(1), &[card("GPU-0", 50, &[(7, Some(10_000), "ann")])]);
    file.add_tick(START + 30_001, Some(1), &[card("GPU-0", 0, &[])]);
    // 5 GiB of 80 may be the driver's.
    file.execute("UPDATE gpu_sample SET memory_used_mb = 25120");
    let database = file.import().database();
    assert_eq!(times(&database, always()), [30_000.0, 0.0, 30_000.0, 0.0]);
    let sums = database.usage(always()).unwrap();
    let shares: Vec<_> = sums.holders.values().map(|it| it.times.active_share_ms).collect();
    assert_eq!(shares, [15_000.0, 15_000.0]);
    assert_eq!(database.check().unwrap(), []);
}

/// Old ticks are quarter hours at once; nothing is different but the rows.
#[test]
fn old_ticks_become_quarter_hours() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 30.0);
    file.execute("BEGIN");
    for tick in 0..5 * 24 * 12 {
        let percent = if tick % 3 == 0 { 50 } else { 0 };
        let cards = [card("GPU-0", percent, &[(7, Some(5000), "ann")])];
        file.add_tick(START + tick * 5 * MINUTE + 17, Some(1), &cards);
    }
    file.execute("COMMIT");
    let import = file.import();
    assert_eq!(import.database().check().unwrap(), []);
    let third = 5.0 * 24.0 * 4.0 * 30_000.0;
    assert_eq!(times(&import.database(), always()), [third, 2.0 * third, 0.0, 0.0]);
    // Ticks that are far apart are rows of their own. Nothing is summed up again by pruning.
    assert_eq!(import.number("SELECT count(*) FROM card_span"), 5 * 24 * 12);
    let boundary = START + 3 * 24 * HOUR - HOUR;
    assert_eq!(import.number("SELECT quarters_until_ms FROM store"), boundary);
}

#[test]
fn window_far_from_the_data_knows_where_the_data_is() {
    let file = PythonFile::new(Layout::Newest);
    let far = period(START + 50 * 24 * HOUR, START + 51 * 24 * HOUR);
    let extent = |window| open_converted(&file.path(), window, None).unwrap().extent().unwrap();
    assert_eq!(extent(far), None, "there is none");
    for day in [0, 9, 20] {
        file.add_tick(START + day * 24 * HOUR, None, &[card("GPU-0", 50, &[])]);
    }
    let last = START + 20 * 24 * HOUR;
    assert_eq!(extent(far), Some(period(START, last)));
    // A tick counts for 30 s.
    assert_eq!(extent(period(START, START + HOUR)), Some(period(START - 30_000, last)));
}

/// `--interval`: each tick counts for that.
#[test]
fn another_interval_counts_instead_of_the_own() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 10.0);
    for (tick, run) in [(1, Some(1)), (2, Some(1)), (30, None)] {
        file.add_tick(START + tick * 10_000, run, &[card("GPU-0", 50, &[])]);
    }
    let import = file.import();
    for (interval, active) in [(None, 50_000.0), (Some(Duration::from_secs(60)), 180_000.0)] {
        let converted = open_converted(&file.path(), always(), interval).unwrap();
        assert_eq!(converted.check().unwrap(), []);
        let imported = import.database().with_imported_interval(interval);
        assert_eq!([&converted, &imported].map(|it| times(it, always())[0]), [active; 2]);
        // The first run counts for a minute of its own at each of two ticks.
        let first = period(START, START + 20_000);
        assert_eq!(times(&imported, first), times(&converted, first));
    }
}
