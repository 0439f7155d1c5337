//! Windows: what was observed, what adds up, and what stands beside it.

use std::collections::BTreeMap;

use gua_core::span::GapReason;
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Period, Reason, State, Thresholds};
use gua_query::timeline::timeline;
use gua_query::usage::{
    AccountName, By, CardTotals, Sums, TotalState, Usage, UsageRequest, Week, usage,
};
use gua_store::{CardTimes, Database, HolderSums, HolderTimes, Retention};
use jiff::tz::TimeZone;
use proptest::prelude::*;

use crate::lab::*;

fn bob() -> Vec<Holder> {
    vec![holder(200, "bob", 8_000)]
}

fn gaps(usage: &Usage) -> Vec<(&'static str, f64)> {
    usage.gaps.iter().map(|gap| (gap.reason.slug(), gap.seconds / 60.0)).collect()
}

/// Figures that are sums, by what they are of.
fn figures(usage: &Usage) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    for (state, amount) in usage.states.all() {
        figures.insert(format!("{state:?}"), amount.gpu_hours);
    }
    for it in &usage.accounts {
        let name = format!("{:?} {:?} {:?} {:?}", it.by, it.name, it.unattributed, it.user);
        figures.insert(format!("{name} active"), it.active_gpu_hours);
        figures.insert(format!("{name} unused"), it.unused_gpu_hours);
        figures.insert(format!("{name} low"), it.low_use_gpu_hours);
        figures.insert(format!("{name} unknown"), it.unknown_gpu_hours);
        figures.insert(format!("{name} present"), it.present_process_hours.unwrap_or(0.0));
        figures.insert(format!("{name} memory"), it.held_idle_gib_hours.unwrap_or(0.0) / 100.0);
        figures.insert(format!("{name} kWh"), it.energy.energy_kwh.unwrap_or(0.0));
        figures.insert(format!("{name} unknown energy"), it.energy.energy_unknown_gpu_hours);
    }
    let energy = &usage.energy;
    figures.insert("active kWh".to_owned(), energy.total.active_energy_kwh.unwrap_or(0.0));
    figures.insert("idle kWh".to_owned(), energy.total.idle_held_energy_kwh.unwrap_or(0.0));
    figures.insert("free kWh".to_owned(), energy.truly_idle_energy_kwh.unwrap_or(0.0));
    figures.insert("unknown energy".to_owned(), energy.total.energy_unknown_gpu_hours);
    for cell in usage.heatmap.iter().flatten() {
        let hours = cell.observed_seconds / 3600.0;
        figures.insert(format!("{} {}", cell.weekday, cell.hour), hours);
    }
    figures.insert("observed".to_owned(), usage.window.observed_seconds / 3600.0);
    figures.retain(|_, figure| *figure > 0.0);
    figures
}

const STATES: [State; 4] =
    [State::Active, State::IdleHeld, State::TrulyIdle, State::Unknown(Reason::Lost)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Two adjacent windows add up to both, wherever they cut rows, and accounts add up to cards. Cards
    /// have as much time as was observed, also where only sums are kept and gaps lie within them.
    #[test]
    fn adjacent_windows_add_up(
        begin in 0_i64..HOUR,
        stretches in proptest::collection::vec((500_i64..900_000, 0_usize..5, 0_usize..4, 0_u64..2), 4..30),
        mut cuts in [0_i64..6 * HOUR, 0..6 * HOUR, 0..6 * HOUR],
        kept in proptest::sample::select(&[[24 * HOUR; 2], [0, 24 * HOUR], [0; 2]][..]),
        zone in proptest::sample::select(&["UTC", "Asia/Kolkata"][..]),
    ) {
        let lab = Lab::new();
        let mut recording = lab.begin(begin);
        for (length, first, second, unlisted) in stretches {
            if first == 4 {
                recording.miss(length, GapReason::Suspended);
                continue;
            }
            let crew = [holder(100, "ann", 5_000), holder(200, "bob", 7_000).working()];
            let held = |state: usize| if state == 2 { &crew[..0] } else { &crew[..] };
            let watts = (length % 3 > 0).then_some(100.0);
            let scenes = [
                Scene { watts, ..scene(0, STATES[first], held(first)) },
                // Nobody is seen on it where it is lost.
                scene(1, STATES[second], if second == 3 { &[] } else { held(second) })
                    .with_unlisted(if second == 1 { unlisted * 3_000 } else { 0 }),
            ];
            recording.record(length, &scenes);
        }
        let [exact_ms, quarters_ms] = kept;
        recording.end("stopped");
        let retention = Retention { exact_ms, quarters_ms, ..Retention::default() };
        let end = UnixMillis(START + 8 * HOUR);
        let mut file = Database::open_to_prune(&lab.path()).unwrap();
        file.prune_now(&retention, end, usize::MAX).unwrap();
        cuts.sort_unstable();
        let [a, b, c] = cuts;
        let report = |from, to| {
            let (by, zone) = (vec![By::User, By::Card], TimeZone::get(zone).unwrap());
            let now = UnixMillis(START + c);
            lab.usage(&UsageRequest { by, zone, now, ..request(from, to) })
        };
        let [first, second, both] = [(a, b), (b, c), (a, c)].map(|(from, to)| report(from, to));
        let mut sum = figures(&first);
        for (name, figure) in figures(&second) {
            *sum.entry(name).or_default() += figure;
        }
        let both_figures = figures(&both);
        for name in sum.keys().chain(both_figures.keys()) {
            let pair = [&sum, &both_figures].map(|it| it.get(name).copied().unwrap_or(0.0));
            prop_assert!((pair[0] - pair[1]).abs() < 1e-6, "{name}: {pair:?}");
        }
        for usage in [&first, &second, &both] {
            let cards = 2.0 * usage.window.observed_seconds / 3600.0;
            prop_assert!((usage.states.gpu_hours() - cards).abs() < 1e-6, "{:?}", usage.states);
            for by in [By::User, By::Card] {
                let accounts = usage.accounts.iter().filter(|it| it.by == by);
                let sum: f64 = accounts.clone().map(|it| it.total_gpu_hours).sum();
                let cards = usage.states.gpu_hours() - usage.states.truly_idle.gpu_hours;
                prop_assert!((sum - cards).abs() < 1e-6, "{by:?}: {sum} and not {cards}");
                let sum: f64 = accounts.filter_map(|it| it.energy.energy_kwh).sum();
                let energy = &usage.energy.total;
                let parts = [energy.active_energy_kwh, energy.idle_held_energy_kwh];
                let cards: f64 = parts.into_iter().flatten().sum();
                prop_assert!((sum - cards).abs() < 1e-6, "{by:?}: {sum} kWh and not {cards}");
            }
        }
    }
}

/// Only hours are kept: recorded from 00:10 to 00:20 and from 00:40 on.
#[test]
fn window_in_a_gap_has_no_figures() {
    let lab = Lab::new();
    let mut recording = lab.begin(10 * MINUTE);
    let held = [scene(0, State::IdleHeld, &bob())];
    recording.record(10 * MINUTE, &held).miss(20 * MINUTE, GapReason::Late);
    recording.record(20 * MINUTE, &held);
    recording.end("stopped");
    let none = Retention { exact_ms: 0, quarters_ms: 0, ..Retention::default() };
    let mut file = Database::open_to_prune(&lab.path()).unwrap();
    file.prune_now(&none, UnixMillis(START + HOUR), usize::MAX).unwrap();
    for (from, to, minutes) in [(0, 10, 0.0), (20, 40, 0.0), (10, 60, 30.0), (15, 50, 15.0)] {
        let request = request(from * MINUTE, to * MINUTE);
        let usage = lab.usage(&request);
        assert_eq!(usage.window.observed_seconds, minutes * 60.0, "{from} to {to}");
        assert_eq!(usage.states.idle_held.gpu_hours, minutes / 60.0, "{from} to {to}");
        let is_empty = usage.cards.is_empty() && usage.accounts.is_empty();
        assert_eq!(is_empty, minutes == 0.0, "{from} to {to}");
        let timeline = timeline(&file, request.window, &request).unwrap();
        let stretches = timeline.cards.iter().flat_map(|card| &card.stretches);
        let held = stretches.filter(|it| it.state == Some(TotalState::IdleHeld));
        let seconds: f64 = held.map(|it| it.seconds).sum();
        assert!((seconds - minutes * 60.0).abs() < 5.0, "{from} to {to}: {seconds}");
    }
}

#[test]
fn window_that_ends_now_ends_where_the_record_is_final() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    recording.record(HOUR, &[scene(0, State::IdleHeld, &bob())]);
    let to = HOUR + 20_000;
    let usage = lab.report(0, to);
    assert_eq!(usage.window.to.to_string(), "2024-10-04T01:00:00Z");
    assert_eq!(usage.window.requested_to.to_string(), "2024-10-04T01:00:20Z");
    assert_eq!((usage.window.coverage, gaps(&usage)), (Some(1.0), vec![]));
    // Ten minutes later, the time after the last tick is a gap.
    let late = |is_recording| {
        let to = HOUR + 10 * MINUTE;
        gaps(&lab.usage(&UsageRequest { is_recording, ..request(0, to) }))
    };
    assert_eq!(late(Some(true)), [("stalled", 10.0)]);
    assert_eq!(late(Some(false)), [("crashed", 10.0)]);
    assert_eq!(late(None), [("not_recorded", 10.0)]);
    recording.end("stopped");
    assert_eq!(late(Some(false)), [("stopped", 10.0)]);
    let usage =
        lab.usage(&UsageRequest { now: UnixMillis(START + 90 * MINUTE), ..request(0, DAY) });
    assert_eq!(usage.window.to.to_string(), "2024-10-04T01:30:00Z", "nothing lies ahead");
    assert_eq!(usage.window.coverage, Some(0.666_667));
    let empty = lab.report(2 * HOUR, 3 * HOUR);
    assert_eq!((empty.window.coverage, gaps(&empty)), (Some(0.0), vec![("stopped", 60.0)]));
    assert!(empty.verdict.unwrap().sentence.starts_with("Nothing was observed"));
}

#[test]
fn gaps_have_reasons() {
    let lab = Lab::new();
    let held = [scene(0, State::IdleHeld, &bob())];
    let mut first = lab.begin(HOUR);
    first.record(HOUR, &held).miss(10 * MINUTE, GapReason::Suspended).record(HOUR, &held);
    first.miss(5 * MINUTE, GapReason::Driver(Reason::DriverGone)).record(MINUTE, &held);
    first.end("stopped");
    let mut second = lab.begin(4 * HOUR);
    second.record(HOUR, &held);
    // Without a last word.
    drop(second);
    lab.begin(6 * HOUR).record(HOUR, &held);
    let usage = lab.report(0, 7 * HOUR);
    let expected = [
        ("not_recorded", 60.0),
        ("suspended", 10.0),
        ("driver_gone", 5.0),
        ("stopped", 44.0),
        ("crashed", 60.0),
    ];
    assert_eq!(gaps(&usage), expected);
    assert_eq!(usage.window.observed_seconds, 241.0 * 60.0);
    assert_eq!(usage.equivalent_gpus.idle_held, Some(1.0));
}

/// Runs without any final time: the first of all, and one long after another was stopped.
#[test]
fn run_that_was_killed_at_its_begin_is_the_cause_of_a_gap() {
    let lab = Lab::new();
    let held = [scene(0, State::IdleHeld, &bob())];
    for start in [10, 20, 30] {
        lab.begin(start * MINUTE).tick_before_anything_is_final();
    }
    let mut real = lab.begin(40 * MINUTE);
    real.record(20 * MINUTE, &held);
    real.end("stopped");
    lab.begin(2 * HOUR).tick_before_anything_is_final();
    lab.begin(3 * HOUR).record(HOUR, &held);
    let usage = lab.report(0, 4 * HOUR);
    let expected =
        [("not_recorded", 10.0), ("crashed", 30.0), ("stopped", 60.0), ("crashed", 60.0)];
    assert_eq!(gaps(&usage), expected);
}

#[test]
fn time_that_is_not_kept_is_a_gap() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    recording.record(60 * HOUR, &[scene(0, State::IdleHeld, &bob())]);
    let short =
        Retention { exact_ms: HOUR, quarters_ms: 2 * HOUR, hours_ms: 48 * HOUR, samples_ms: 0 };
    recording.prune(&short).unwrap();
    let usage = lab.report(0, 60 * HOUR);
    assert_eq!(gaps(&usage), [("not_kept", 12.0 * 60.0)]);
    assert_eq!(usage.data.unwrap().from.to_string(), "2024-10-04T12:00:00Z");
    assert_eq!(usage.states.idle_held.gpu_hours, 48.0);
    assert_eq!(usage.equivalent_gpus.idle_held, Some(1.0));
}

/// The runs of that time are not kept either.
#[test]
fn time_of_runs_that_are_not_kept_is_not_kept() {
    let lab = Lab::new();
    for begin in [0, 20 * HOUR, 40 * HOUR] {
        let mut recording = lab.begin(begin);
        recording.record(10 * HOUR, &[scene(0, State::IdleHeld, &bob())]);
        recording.end("stopped");
    }
    let short = Retention { exact_ms: HOUR, quarters_ms: HOUR, hours_ms: 5 * HOUR, samples_ms: 0 };
    let mut recording = lab.begin(50 * HOUR);
    recording.record(5 * HOUR, &[scene(0, State::IdleHeld, &bob())]);
    recording.prune(&short).unwrap();
    let usage = lab.report(-10 * HOUR, 55 * HOUR);
    assert_eq!(gaps(&usage), [("not_recorded", 10.0 * 60.0), ("not_kept", 50.0 * 60.0)]);
}

#[test]
fn holders_with_ids_far_apart_are_found() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    for pid in 0..40 {
        let held = [holder(200, "bob", 8_000), holder(1000 + pid, "ann", 8_000)];
        recording.record(MINUTE, &[scene(0, State::IdleHeld, &held)]);
    }
    let names = |from| {
        let usage = lab.report(from, 40 * MINUTE);
        let accounts = usage.accounts.into_iter();
        accounts.map(|it| (it.name.unwrap(), it.idle_held_gpu_hours)).collect::<Vec<_>>()
    };
    let both = |hours: f64| [("ann".to_owned(), hours), ("bob".to_owned(), hours)];
    assert_eq!(names(34 * MINUTE), both(0.05));
    assert_eq!(names(0), both(0.333_333_333));
}

#[test]
fn nothing_recorded_is_an_answer() {
    let usage = Lab::new().report(0, HOUR);
    assert_eq!((usage.host.is_none(), usage.data, usage.thresholds), (true, None, None));
    assert_eq!(gaps(&usage), [("not_recorded", 60.0)]);
    assert!(usage.cards.is_empty() && usage.accounts.is_empty());
    assert_eq!((usage.heatmap, usage.verdict.unwrap().exceeded), (Some(vec![]), None));
}

/// Trap: DST and half-hour zones in the heatmap. Where only hours are kept, they are split in proportion.
#[test]
fn heatmap_follows_zones_of_half_an_hour() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    for _ in 0..24 {
        recording.record(HOUR / 2, &[scene(0, State::Active, &bob())]);
        recording.record(HOUR / 2, &[scene(0, State::TrulyIdle, &[])]);
    }
    let cells = |zone: &str, to: i64| {
        let zone = TimeZone::get(zone).unwrap();
        let usage = lab.usage(&UsageRequest { zone, ..request(0, to) });
        let cells = usage.heatmap.iter().flatten();
        cells
            .map(|it| (it.weekday, it.hour, it.active_share, it.observed_seconds / 60.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(cells("UTC", 2 * HOUR), [(5, 0, 0.5, 60.0), (5, 1, 0.5, 60.0)]);
    assert_eq!(cells("Europe/Berlin", HOUR), [(5, 2, 0.5, 60.0)]);
    // Half past five: active until six, then free.
    let exact = [(5, 5, 1.0, 30.0), (5, 6, 0.5, 60.0), (5, 7, 0.0, 30.0)];
    assert_eq!(cells("Asia/Kolkata", 2 * HOUR), exact);
    let kept = Retention { exact_ms: 0, quarters_ms: HOUR, ..Retention::default() };
    recording.prune(&kept).unwrap();
    let split = [(5, 5, 0.5, 30.0), (5, 6, 0.5, 60.0), (5, 7, 0.5, 30.0)];
    assert_eq!(cells("Asia/Kolkata", 2 * HOUR), split);
}

/// Trap: thresholds differ between runs.
#[test]
fn thresholds_that_differ_between_runs_are_in_the_basis() {
    let lab = Lab::new();
    let held = [scene(0, State::IdleHeld, &bob())];
    let mut first = lab.begin(0);
    first.record(HOUR, &held);
    first.end("stopped");
    let mut same = lab.begin(HOUR);
    same.record(HOUR, &held);
    same.end("stopped");
    let other = Thresholds {
        active: Percent(15.0),
        held: Bytes::from_mib(300),
        worked: Percent(20.0),
        ..Thresholds::default()
    };
    lab.begin_with(2 * HOUR, other).record(HOUR, &held);
    let usage = lab.report(0, 3 * HOUR);
    let basis: Vec<_> = usage
        .basis
        .iter()
        .map(|it| (it.from.to_string(), it.thresholds.active_percent, it.thresholds.held_mb))
        .collect();
    assert_eq!(
        basis,
        [
            ("2024-10-04T00:00:00Z".to_owned(), Some(10.0), Some(100)),
            ("2024-10-04T02:00:00Z".to_owned(), Some(15.0), Some(300)),
        ]
    );
    assert_eq!((usage.basis[0].rule.as_str(), usage.basis[0].imported), ("5 s", false));
    let thresholds = usage.thresholds.unwrap();
    assert_eq!((thresholds.rule.worked_percent, thresholds.context_mb), (Some(20.0), 600));
    assert_eq!(lab.report(0, 2 * HOUR).basis.len(), 1);
}

#[test]
fn earlier_window_stands_beside() {
    let lab = Lab::new();
    let ann = [holder(100, "ann", 8_000)];
    let mut recording = lab.begin(0);
    recording.record(HOUR, &[scene(0, State::IdleHeld, &ann)]);
    recording.record(HOUR, &[scene(0, State::TrulyIdle, &[])]);
    recording.record(2 * HOUR, &[scene(0, State::IdleHeld, &bob())]);
    let compare = |from: i64, to: i64| {
        let window = Period::new(UnixMillis(START + from), UnixMillis(START + to));
        let usage =
            lab.usage(&UsageRequest { compare: Some(window), ..request(2 * HOUR, 4 * HOUR) });
        usage.compared.unwrap()
    };
    let compared = compare(0, 2 * HOUR);
    assert_eq!(compared.window.from.to_string(), "2024-10-04T00:00:00Z");
    let idle = compared.states[1].gpu_hours;
    assert_eq!((idle.now, idle.before, idle.difference), (Some(2.0), Some(1.0), Some(1.0)));
    assert_eq!(compared.equivalent_gpus_idle_held.difference, Some(0.5));
    let accounts: Vec<_> = compared
        .accounts
        .iter()
        .map(|it| (it.name.as_deref().unwrap(), it.idle_held_gpu_hours.difference))
        .collect();
    assert_eq!(accounts, [("bob", Some(2.0)), ("ann", Some(-1.0))]);
    assert!(!compared.rests_on_little);
    let nothing = compare(-4 * HOUR, -2 * HOUR);
    assert!(nothing.rests_on_little && nothing.states[0].gpu_hours.before.is_none());
}

/// Sums that do not come from the record become the same answer.
#[test]
fn report_can_be_made_from_counters() {
    let hour = 3_600_000.0;
    let times = CardTimes { active_ms: hour, idle_held_ms: 3.0 * hour, ..CardTimes::default() };
    let card = CardTotals { name: Some("H100".into()), times, ..CardTotals::default() };
    let times =
        HolderTimes { active_share_ms: hour, unused_share_ms: hour, ..HolderTimes::default() };
    let request = request(0, 4 * HOUR);
    let mut sums = Sums {
        host: None,
        window: request.window,
        data: Some(request.window),
        recorded_ms: 4 * HOUR,
        gaps: vec![],
        basis: vec![],
        cards: vec![card],
        uids: BTreeMap::new(),
        accounts: BTreeMap::new(),
        week: Week::new(TimeZone::UTC),
        sessions: vec![],
        sessions_left_out: 0,
    };
    let holder = HolderSums { times, peak_mib: 0 };
    sums.add_holder(By::User, AccountName::user("bob"), 0, &holder);
    let usage = Usage::from_sums(sums, &request);
    assert_eq!(usage.states.idle_held.share, Some(0.75));
    assert_eq!(account(&usage, "bob").total_gpu_hours, 2.0);
    assert_eq!(account(&usage, "").idle_held_gpu_hours, 2.0, "their holders are not known");
    assert_eq!(usage.verdict.unwrap().exceeded, Some(true));
}

/// Trap: absurd figures in a damaged file saturate instead of overflowing.
#[test]
fn damaged_file_does_not_panic() {
    for damage in [
        "UPDATE card_hour SET active_ms = 9223372036854775807",
        "UPDATE card_span SET active_ms = 9223372036854775807, idle_held_ms = 9223372036854775807",
        "UPDATE holder_hour SET peak_mib = 9223372036854775807, holder = 77",
        "UPDATE session SET from_ms = -9223372036854775807",
        "DELETE FROM process",
        "DELETE FROM card",
        "UPDATE run SET until_ms = 9223372036854775807",
    ] {
        let lab = Lab::new();
        lab.begin(0).record(3 * HOUR, &[scene(0, State::IdleHeld, &bob())]);
        let db = rusqlite::Connection::open(lab.path()).unwrap();
        db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        db.execute(damage, []).unwrap();
        let database = Database::open(&lab.path()).unwrap();
        // An error is an answer, too.
        let _ = usage(&database, &UsageRequest { by: By::ALL.to_vec(), ..request(1, 3 * HOUR) });
    }
}
