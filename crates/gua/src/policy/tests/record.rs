//! Rules live and over a record: they decide alike where spans are exact.

use std::collections::BTreeMap;
use std::time::Duration;

use gua_core::Period;
use gua_core::sign::Sign as StoredSign;
use gua_core::units::{Bytes, UnixMillis};
use gua_store::{Database, Precision, Retention, Writer};
use proptest::prelude::*;

use super::lab::{Held, Lab, Moment, START, replay, replay_window, run};
use crate::config::policy::{Action, Exempt, Kind, Match, Pattern, Policy, Rule};
use crate::policy::{Decision, What};

const MINUTE: i64 = 60_000;

const IDLE: Held = Held { mib: 9000, sm: 0 };

/// A change of what there is, for a time.
#[derive(Debug, Clone)]
enum Change {
    /// A process does this on a card.
    Held(usize, u32, Option<Held>),
    Sign(u32, Option<StoredSign>),
    Lost(Option<usize>),
    DriverAway,
    Late,
    Restart,
    Nothing,
}

fn change() -> impl Strategy<Value = Change> {
    let held = prop_oneof![6 => Just(Some(0)), 2 => Just(Some(40)), 1 => Just(None)];
    // Memory of a span is its mean, so it does not change here. The last process holds little.
    let mib = |place| if place == 4 { 50 } else { 9000 };
    let sign = prop_oneof![
        2 => Just(None),
        1 => Just(Some(StoredSign::Cpu)),
        1 => Just(Some(StoredSign::Decoder)),
        1 => Just(Some(StoredSign::Unknown)),
    ];
    prop_oneof![
        12 => (0_usize..2, 0_u32..5, held).prop_map(move |(card, place, sm)| {
            let held = sm.map(|sm| Held { mib: mib(place), sm });
            Change::Held(card, place, held)
        }),
        2 => (0_u32..5, sign).prop_map(|(place, sign)| Change::Sign(place, sign)),
        1 => prop::option::of(0_usize..2).prop_map(Change::Lost),
        1 => Just(Change::DriverAway),
        1 => Just(Change::Late),
        1 => Just(Change::Restart),
        6 => Just(Change::Nothing),
    ]
}

fn history() -> impl Strategy<Value = Vec<(Change, i64)>> {
    prop::collection::vec((change(), 8_i64..60), 4..16)
}

/// Returns rules by card, kind and program, and for everybody else.
fn rules() -> Policy {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let base = Rule {
        notices: vec![minutes(2), minutes(3)],
        idle_for: minutes(4),
        ..super::rule(Action::End)
    };
    let rule = |name: &str, matches: Match| Rule { name: name.into(), matches, ..base.clone() };
    let notebooks = Match { kinds: vec![Kind::Notebook], ..Match::default() };
    let large = Match {
        memory_over: Some(Bytes::from_mib(1000)),
        cards: vec!["h100".into()],
        ..Match::default()
    };
    let exempt = Exempt { users: vec![Pattern::new("user9")], ..Exempt::default() };
    let vllm =
        Exempt { programs: vec![Pattern::new("vllm*").ignoring_case()], ..Exempt::default() };
    let large = Rule { exempt: vllm, ..rule("large", large) };
    let watched = Rule { action: Action::Observe, ..rule("watched", notebooks) };
    let mut policy = super::policy(vec![watched, large, rule("all", Match::default())]);
    policy.exempt = exempt;
    policy.max_ends_per_hour = 2;
    policy
}

/// Returns decisions as lines.
fn format_decisions(decisions: &[Decision]) -> Vec<String> {
    let line = |it: &Decision| {
        format!(
            "{} {:?} {} {:?} {}",
            it.at.0, it.subject, it.rule, it.what, it.evidence.idle_millis
        )
    };
    decisions.iter().map(line).collect()
}

/// Records a history, and gives what was decided live and over the record, where that is exact.
fn both(changes: &[(Change, i64)]) -> Option<(Vec<String>, Vec<String>)> {
    let policy = rules();
    let mut lab = Lab::new(&policy);
    let mut now = Moment::default();
    let (mut until, mut shift) = (0, 0);
    for place in 0..4 {
        now.held.insert((place as usize % 2, place), IDLE);
    }
    lab.record(MINUTE, &|_| now.clone());
    until += MINUTE;
    for (change, polls) in changes {
        (now.is_driver_away, now.is_late) = (false, false);
        match change {
            Change::Held(card, place, Some(held)) => drop(now.held.insert((*card, *place), *held)),
            Change::Held(card, place, None) => drop(now.held.remove(&(*card, *place))),
            Change::Sign(place, Some(sign)) => drop(now.signs.insert(*place, *sign)),
            Change::Sign(place, None) => drop(now.signs.remove(place)),
            Change::Lost(card) => now.lost = *card,
            Change::DriverAway => now.is_driver_away = true,
            Change::Late => now.is_late = true,
            Change::Restart => {
                lab.restart(20_000);
                shift += 20_000;
            }
            Change::Nothing => {}
        }
        until += polls * 5000;
        lab.record(until + shift, &|_| now.clone());
    }
    let (decisions, database) = lab.finish();
    let replayed = replay(&database, &policy);
    assert_eq!(replayed.basis.assumed_ms, 0, "every sign is stored");
    let is_exact = replayed.basis.precision == Precision::Exact;
    is_exact
        .then(|| (format_decisions(&decisions), format_decisions(replayed.simulation.decisions())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// Trap: live and simulated rules decide alike; CPU, encoder and decoder signs, all cards of a
    /// process, job groups and gaps count.
    #[test]
    fn live_and_simulated_rules_decide_alike(changes in history()) {
        if let Some((live, recorded)) = both(&changes) {
            prop_assert_eq!(live, recorded);
        }
    }
}

/// The histories above are such that something comes of them.
#[test]
fn something_is_decided() {
    let (live, recorded) = both(&[(Change::Nothing, 100)]).unwrap();
    assert_eq!(live, recorded);
    let count = |word: &str| live.iter().filter(|line| line.contains(word)).count();
    // Of the four, one belongs to an exempt tree on the card where that counts, and two may be ended
    // in an hour.
    assert!(count("End") >= 2 && count("Notice") >= 4, "{live:#?}");
}

/// One rule that ends after some minutes, without notices.
fn rule_of(minutes: u64) -> Policy {
    let idle_for = Duration::from_secs(minutes * 60);
    super::policy(vec![Rule { notices: Vec::new(), idle_for, ..super::rule(Action::End) }])
}

fn ends(decisions: &[Decision]) -> Vec<i64> {
    let is_end = |it: &&Decision| matches!(it.what, What::End { .. });
    decisions.iter().filter(is_end).map(|it| (it.at.0 - START) / MINUTE).collect()
}

/// A process on the first card: what it does at a time since the start.
fn alone(sm: impl Fn(i64) -> u32) -> impl Fn(i64) -> Moment {
    move |at| Moment {
        held: BTreeMap::from([((0, 1), Held { mib: 9000, sm: sm(at - START) })]),
        ..Moment::default()
    }
}

/// A single sample of work restarts the count, though the mean of 5 seconds stays below the threshold.
#[test]
fn server_that_works_once_a_minute_is_never_ended() {
    let policy = rule_of(10);
    // One sample of 1/6 s.
    let server = alone(|at| if at % MINUTE < 167 { 20 } else { 0 });
    let mut lab = Lab::new(&policy);
    lab.record(60 * MINUTE, &server);
    let (decisions, database) = lab.finish();
    assert_eq!(ends(&decisions), [0; 0]);
    assert_eq!(ends(replay(&database, &policy).simulation.decisions()), [0; 0]);
    let window = Period::new(UnixMillis(0), UnixMillis(i64::MAX / 2));
    let usage = database.usage(window).unwrap();
    let working: f64 = usage.holders.values().map(|holder| holder.times.working_ms).sum();
    assert_eq!(working, 0.0, "only its signs say that it works");
    let signs = database.signs(window).unwrap();
    let samples = signs.iter().filter(|sign| sign.sign == StoredSign::Sm).count();
    assert!((59..=60).contains(&samples), "one row for each: {samples}");
    // Without that sample it is ended.
    let mut lab = Lab::new(&policy);
    lab.record(30 * MINUTE, &alone(|_| 0));
    let (decisions, database) = lab.finish();
    assert_eq!(ends(&decisions), [10]);
    assert_eq!(ends(replay(&database, &policy).simulation.decisions()), [10]);
}

/// The same beside another process: by its own samples.
#[test]
fn single_sample_counts_beside_another_process() {
    let policy = rule_of(10);
    let moment = |at: i64| {
        let sm = if (at - START) % MINUTE < 167 { 20 } else { 0 };
        let held = [((0, 1), Held { mib: 9000, sm }), ((0, 3), IDLE)];
        Moment { held: BTreeMap::from(held), ..Moment::default() }
    };
    let mut lab = Lab::new(&policy);
    lab.record(40 * MINUTE, &moment);
    let (decisions, database) = lab.finish();
    let ended = |decisions: &[Decision]| {
        let ends = decisions.iter().filter(|it| matches!(it.what, What::End { .. }));
        ends.map(|it| it.subject.pid).collect::<Vec<_>>()
    };
    assert_eq!(ended(&decisions), [103]);
    assert_eq!(ended(replay(&database, &policy).simulation.decisions()), [103]);
}

#[test]
fn work_on_another_card_and_in_a_job_counts() {
    let policy = rule_of(10);
    // Process 1 works on card 1 and idles on card 0. 0 and 2 are of one job: 2 works.
    let moment = |at: i64| {
        let sm = if (at - START) % (5 * MINUTE) < MINUTE { 40 } else { 0 };
        let busy = Held { mib: 9000, sm };
        let held = [((0, 1), IDLE), ((1, 1), busy), ((0, 0), IDLE), ((1, 2), busy), ((0, 3), IDLE)];
        Moment { held: BTreeMap::from(held), ..Moment::default() }
    };
    let mut lab = Lab::new(&policy);
    lab.record(40 * MINUTE, &moment);
    let (decisions, _) = lab.finish();
    let pids: Vec<_> = decisions.iter().map(|it| it.subject.pid).collect();
    assert_eq!(pids, [103]);
}

/// Time that was not observed does not count, and too much of it restarts the count.
#[test]
fn gaps_are_missed_time_live_and_simulated() {
    let policy = rule_of(20);
    let after = |gap: std::ops::Range<i64>| {
        let moment = move |at: i64| Moment {
            is_driver_away: gap.contains(&((at - START) / 1000)),
            ..alone(|_| 0)(at)
        };
        let mut lab = Lab::new(&policy);
        lab.record(60 * MINUTE, &moment);
        let (decisions, database) = lab.finish();
        let recorded = ends(replay(&database, &policy).simulation.decisions());
        assert_eq!(ends(&decisions), recorded);
        recorded[0]
    };
    assert_eq!(after(0..0), 20);
    assert_eq!(after(600..660), 21);
    // More than a tenth is missing.
    assert_eq!(after(600..900), 35);
}

/// Sums of a half minute, quarter hours and hours say by how much a decision may be off.
#[test]
fn sums_are_replayed_with_their_uncertainty() {
    let policy = rule_of(150);
    // Flickers for three hours, then idles for three and a half.
    let moment = alone(|at| if at < 180 * MINUTE && at % 20_000 < 8000 { 40 } else { 0 });
    let mut lab = Lab::new(&policy);
    lab.record(390 * MINUTE, &moment);
    let (decisions, database) = lab.finish();
    let live = ends(&decisions);
    assert_eq!(live, [330]);
    let replayed = replay(&database, &policy);
    assert_eq!(replayed.basis.precision, Precision::HalfMinute);
    assert_cut_rows(&database, &policy);
    let off = |ends: &[i64], precision: Precision| {
        assert_eq!(ends.len(), 1, "{precision:?}");
        (ends[0] - live[0]).abs() * MINUTE <= precision.millis() + MINUTE
    };
    assert!(off(&ends(replayed.simulation.decisions()), Precision::HalfMinute));
    replay_sums(database, &policy, |decisions, precision| {
        assert!(off(&ends(decisions), precision));
    });
}

/// Sums a record up to quarter hours, then to hours. Calls `each` with what is decided over each.
fn replay_sums(mut database: Database, policy: &Policy, each: impl Fn(&[Decision], Precision)) {
    let day = 24 * 60 * MINUTE;
    let quarters = Retention { exact_ms: 0, ..Retention::default() };
    let hours = Retention { exact_ms: 0, quarters_ms: 0, ..Retention::default() };
    for (retention, precision) in [(quarters, Precision::QuarterHour), (hours, Precision::Hour)] {
        let mut writer = Writer::begin(database, run(START + day)).unwrap();
        // Recorded time proves the age of rows.
        for hour in 0..40 {
            let at = UnixMillis(START + day + hour * 60 * MINUTE);
            let tick = gua_store::Tick { recorded_ms: 60 * MINUTE, ..gua_store::Tick::new(at, at) };
            writer.tick(&tick).unwrap();
        }
        writer.prune(&retention, usize::MAX).unwrap();
        database = writer.end("stopped").unwrap();
        let replayed = replay(&database, policy);
        assert_eq!(replayed.basis.precision, precision);
        assert_cut_rows(&database, policy);
        each(replayed.simulation.decisions(), precision);
    }
}

/// Asserts that a replay keeps to its window wherever it cuts rows.
fn assert_cut_rows(database: &Database, policy: &Policy) {
    for (from, to) in [(63, 69), (63, 131), (200, 350)] {
        let at = |minutes: i64| UnixMillis(START + minutes * MINUTE + 7);
        let window = Period::new(at(from), at(to));
        let observed_ms = replay_window(database, policy, window).basis.observed_ms;
        assert_eq!(observed_ms, window.millis(), "{from} to {to}");
    }
}

/// Work that begins and ends anywhere, gaps, and processes that come back, in tenths of a minute since the start.
fn unaligned(at: i64) -> Moment {
    let at = (at - START) / 6000;
    let is_in = |ranges: &[[i64; 2]]| ranges.iter().any(|range| (range[0]..range[1]).contains(&at));
    let lives = [
        // Card, process, when it is there, when it works.
        (0, 1, vec![[0, 3103], [3171, 7800]], vec![[30, 104], [3171, 3337], [7000, 7030]]),
        (
            1,
            3,
            vec![[234, 2909], [3012, 6400], [6410, 7800]],
            vec![[234, 412], [3012, 3180], [3801, 3813], [4905, 4916], [6410, 6415], [6500, 6503]],
        ),
    ];
    let mut moment = Moment { is_driver_away: is_in(&[[4015, 4052]]), ..Moment::default() };
    for (card, process, here, works) in lives {
        if is_in(&here) {
            let sm = if is_in(&works) { 40 } else { 0 };
            moment.held.insert((card, process), Held { mib: 9000, sm });
        }
    }
    moment
}

/// Regression: over sums, the begin of idle time, each notice and the end waited for another row, so ends
/// came hours late or not at all.
#[test]
fn sums_have_every_end_within_their_uncertainty() {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let rule = super::rule(Action::End);
    let four = Rule {
        idle_for: minutes(97),
        notices: [31, 47, 62, 77].map(minutes).to_vec(),
        ..rule.clone()
    };
    for (rule, count) in [(rule, 5), (four, 5)] {
        let policy = super::policy(vec![rule]);
        let mut lab = Lab::new(&policy);
        lab.record(780 * MINUTE, &unaligned);
        let (live, database) = lab.finish();
        let ends = |decisions: &[Decision]| {
            let ends = decisions.iter().filter(|it| matches!(it.what, What::End { .. }));
            ends.map(|it| (it.subject, it.at.0)).collect::<Vec<_>>()
        };
        let exact = ends(&live);
        assert_eq!(exact, ends(replay(&database, &policy).simulation.decisions()));
        assert_eq!(exact.len(), count, "{exact:?}");
        replay_sums(database, &policy, |decisions, precision| {
            let found = ends(decisions);
            assert_eq!(found.len(), exact.len(), "{precision:?}: {found:?}");
            for ((subject, at), (exact_subject, exact_at)) in found.iter().zip(&exact) {
                assert_eq!(subject, exact_subject);
                let off = (at - exact_at).abs();
                assert!(off <= precision.millis(), "{precision:?}: {} min", off / MINUTE);
            }
        });
    }
}
