//! The tally on spans made by hand.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use probe::Why;
use probe::units::UnixMillis;
use proptest::prelude::*;

use super::*;
use crate::classify::{Lines, State, Thresholds};
use crate::ledger::{Event, HOUR, Identity, Kind, Period, Trouble};
use crate::store::{CardRow, Ending, OwnerKey, RunRow, Span};

/// A Sunday at midnight.
const SUNDAY: i64 = 1_794_096_000_000;
const MINUTE: i64 = 60_000;

/// Minutes after that Sunday began.
fn period(from: i64, to: i64) -> Period {
    Period::new(UnixMillis(SUNDAY + from * MINUTE), UnixMillis(SUNDAY + to * MINUTE))
}

fn question(window: Period) -> Question {
    Question::new(window, TimeZone::UTC, "UTC".to_owned(), Thresholds::default())
}

fn span(card: i64, period: Period, state: State) -> Span<i64> {
    Span { key: card, period, state, counts: period.millis() }
}

fn owner(card: i64, identity: i64, period: Period, state: State) -> Span<OwnerKey> {
    Span { key: OwnerKey { card, identity }, period, state, counts: period.millis() }
}

fn card_row(id: i64) -> CardRow {
    let number = u32::try_from(id - 1).unwrap();
    let uuid = Some(format!("GPU-{id}"));
    CardRow { id, uuid, number, slot: None, name: None, memory_bytes: None }
}

fn run(id: i64, started: i64, ended: Option<(i64, Ending)>) -> RunRow {
    RunRow {
        id,
        host: "lab".to_owned(),
        driver: None,
        recorder: "gua 1".to_owned(),
        interval_millis: Some(30_000),
        started: period(started, started).from,
        ended: ended.map(|(ended, _)| period(ended, ended).from),
        ending: ended.map(|(_, ending)| ending),
        lines: Some(Lines::from(&Thresholds::default())),
    }
}

/// A history of one run that was stopped, in which these times were observed.
fn facts(observed: &[Period]) -> Facts {
    let first = observed.first().map(|first| first.from);
    let last = observed.last().map(|last| last.to);
    Facts {
        runs: vec![run(1, 0, Some((10_000, Ending::Stopped)))],
        cards: (1..=3).map(card_row).collect(),
        observed: observed.iter().map(|period| span(1, *period, State::Active)).collect(),
        events: Vec::new(),
        extent: first.zip(last).map(|(from, to)| Period::new(from, to)),
        newest_tick: last,
        is_recorded: Some(false),
        now: period(20_000, 20_000).from,
        holdings: None,
    }
}

fn usage(window: Period, spans: &[Span<i64>]) -> Usage {
    let mut tally = Tally::new(question(window), &HashMap::new());
    spans.iter().for_each(|span| tally.add_card(span));
    tally.finish(&facts(&[window]))
}

#[test]
fn the_window_cuts_a_span() {
    let spans = [span(1, period(0, 60), State::IdleHeld), span(1, period(60, 120), State::Active)];
    let usage = usage(period(30, 70), &spans);
    assert_eq!(usage.states.idle_held, Amount { gpu_hours: 0.5, share: Some(0.75) });
    assert_eq!(usage.states.active, Amount { gpu_hours: 0.166_666_667, share: Some(0.25) });
    assert_eq!(usage.equivalent_gpus.idle_held, Some(0.75));
}

#[test]
fn what_a_span_counts_is_cut_with_it() {
    let whole = Span { counts: 2 * HOUR, ..span(1, period(0, 60), State::Active) };
    assert!((usage(period(0, 30), &[whole]).states.active.gpu_hours - 1.0).abs() < 1e-9);
}

#[test]
fn unknown_is_a_share_of_its_own() {
    let unknown = State::Unknown(Why::Lost);
    let spans = [span(1, period(0, 60), unknown), span(2, period(0, 60), State::IdleHeld)];
    let usage = usage(period(0, 60), &spans);
    assert_eq!(usage.states.unknown.share, Some(0.5));
    assert_eq!(usage.states.idle_held.share, Some(0.5));
    assert_eq!(usage.verdict.exceeded, Some(true));
}

/// What cannot be told may tip the balance.
#[test]
fn a_verdict_is_left_open_where_unknown_time_could_change_it() {
    let times = |idle, unknown| {
        let spans = [
            span(1, period(0, idle), State::IdleHeld),
            span(1, period(idle, idle + unknown), State::Unknown(Why::Lost)),
            span(1, period(idle + unknown, 100), State::Active),
        ];
        usage(period(0, 100), &spans).verdict.exceeded
    };
    assert_eq!(times(10, 30), None);
    assert_eq!(times(10, 10), Some(false));
    assert_eq!(times(20, 0), Some(false));
    assert_eq!(times(21, 70), Some(true));
}

#[test]
fn where_nothing_was_observed_there_are_no_shares() {
    let usage = Tally::new(question(period(0, 60)), &HashMap::new()).finish(&facts(&[]));
    assert_eq!(usage.states.active, Amount { gpu_hours: 0.0, share: None });
    assert_eq!(usage.equivalent_gpus, Equivalent { idle_held: None, truly_idle: None });
    assert_eq!((usage.verdict.exceeded, usage.data), (None, None));
    assert_eq!(
        usage.verdict.sentence,
        "Nothing was observed in this window, so there is nothing to judge."
    );
}

#[test]
fn a_verdict_says_when_it_rests_on_little() {
    let mut tally = Tally::new(question(period(0, 600)), &HashMap::new());
    tally.add_card(&span(1, period(0, 120), State::IdleHeld));
    let verdict = tally.finish(&facts(&[period(0, 120)])).verdict;
    assert!(verdict.rests_on_little);
    assert!(verdict.sentence.ends_with("It rests on little: 2 hours, 20.0 % of the window."));
}

#[test]
fn the_heatmap_is_of_the_zone() {
    let mut question = question(period(0, 60));
    question.tz = TimeZone::get("Asia/Kolkata").unwrap();
    let mut tally = Tally::new(question, &HashMap::new());
    tally.add_card(&span(1, period(0, 60), State::Active));
    tally.add_card(&span(2, period(0, 60), State::IdleHeld));
    let cells = tally.finish(&facts(&[period(0, 60)])).heatmap;
    let cell = |hour| HeatCell { weekday: 0, hour, active_share: 0.5, observed_seconds: 3_600.0 };
    assert_eq!(cells, [cell(5), cell(6)]);
}

fn identity(user: Option<&str>, uid: Option<u32>) -> Identity {
    Identity { user: user.map(Into::into), uid, source: None }
}

/// One who holds a card as two is one on it, and idle where either is.
#[test]
fn identities_of_one_name_are_one_person() {
    let identities = HashMap::from([
        (1, identity(Some("ann"), Some(1000))),
        (2, identity(Some("ann"), Some(0))),
        (3, identity(None, Some(77))),
        (4, identity(None, None)),
    ]);
    let mut tally = Tally::new(question(period(0, 600)), &identities);
    tally.add_owner(&owner(1, 1, period(0, 60), State::TrulyIdle));
    tally.add_owner(&owner(2, 1, period(0, 60), State::Active));
    tally.add_owner(&owner(1, 2, period(30, 60), State::IdleHeld));
    tally.add_owner(&owner(1, 2, period(60, 90), State::IdleHeld));
    tally.add_owner(&owner(3, 3, period(0, 60), State::Active));
    tally.add_owner(&owner(3, 4, period(0, 600), State::Unknown(Why::NotTold)));
    let people = tally.finish(&facts(&[period(0, 600)])).identities.unwrap();
    let told: Vec<_> = people
        .iter()
        .map(|p| (p.user.as_deref(), p.uid, p.gpu_hours, p.idle_held_gpu_hours))
        .collect();
    assert_eq!(
        told,
        [(Some("ann"), None, 2.5, 1.0), (None, None, 10.0, 0.0), (None, Some(77), 1.0, 0.0),]
    );
}

/// From, to and reason, in minutes.
fn gaps(window: Period, facts: &Facts) -> Vec<(i64, i64, &'static str)> {
    let minute = |at: Timestamp| (at.as_millisecond() - SUNDAY) / MINUTE;
    let usage = Tally::new(question(window), &HashMap::new()).finish(facts);
    usage.gaps.iter().map(|gap| (minute(gap.from), minute(gap.to), gap.reason.slug())).collect()
}

#[test]
fn a_gap_says_how_the_run_before_it_ended() {
    let mut facts = facts(&[period(10, 20), period(50, 60), period(90, 100)]);
    facts.runs = vec![
        run(1, 10, Some((20, Ending::Stopped))),
        run(2, 50, Some((60, Ending::Crashed))),
        run(3, 90, Some((100, Ending::ClockSetBack))),
    ];
    let expected = [
        (0, 10, "not_recorded"),
        (20, 50, "stopped"),
        (60, 90, "crashed"),
        (100, 120, "clock_set_back"),
    ];
    assert_eq!(gaps(period(0, 120), &facts), expected);
}

#[test]
fn gaps_of_different_reasons_stay_apart() {
    let mut facts = facts(&[period(0, 20), period(60, 90)]);
    facts.runs = vec![run(1, 0, Some((30, Ending::Stopped))), run(2, 60, None)];
    let mut asleep = period(20, 30);
    asleep.to.0 += 3;
    facts.events = vec![Event {
        at: asleep.from,
        until: Some(asleep.to),
        kind: Kind::Gap(Trouble::Suspended),
        detail: String::new(),
    }];
    facts.now = period(90, 90).from;
    assert_eq!(gaps(period(0, 90), &facts), [(20, 30, "suspended"), (30, 60, "stopped")]);
}

#[test]
fn a_gap_within_a_run_that_left_no_word_is_just_that() {
    let mut facts = facts(&[period(0, 20), period(60, 90)]);
    facts.runs = vec![run(1, -100, Some((-50, Ending::Crashed))), run(2, 0, None)];
    facts.extent = Some(period(-100, 90));
    facts.now = period(90, 90).from;
    assert_eq!(gaps(period(0, 90), &facts), [(20, 60, "not_recorded")]);
    // What happened at a moment explains it.
    facts.events = vec![Event {
        at: period(60, 60).from,
        until: None,
        kind: Kind::Gap(Trouble::DriverGone),
        detail: String::new(),
    }];
    assert_eq!(gaps(period(0, 90), &facts), [(20, 60, "driver_gone")]);
}

#[test]
fn after_the_last_tick_the_next_is_due_or_the_recorder_dead() {
    let mut facts = facts(&[period(0, 20)]);
    facts.runs = vec![run(1, 0, None)];
    facts.now = UnixMillis(period(20, 20).from.0 + 45_000);
    assert_eq!(gaps(period(0, 30), &facts), [(20, 30, "not_yet")]);
    facts.now = period(25, 25).from;
    assert_eq!(gaps(period(0, 30), &facts), [(20, 25, "crashed"), (25, 30, "not_yet")]);
    // One that still has the database was not killed.
    facts.is_recorded = Some(true);
    assert_eq!(gaps(period(0, 30), &facts), [(20, 25, "stalled"), (25, 30, "not_yet")]);
}

#[test]
fn what_was_pruned_was_recorded_once() {
    let mut facts = facts(&[period(40, 60)]);
    facts.runs = vec![run(1, 20, None)];
    facts.now = period(60, 60).from;
    let expected = [(0, 20, "not_recorded"), (20, 40, "not_kept")];
    assert_eq!(gaps(period(0, 60), &facts), expected);
}

#[test]
fn the_host_is_that_of_the_newest_run_in_the_window() {
    let mut facts = facts(&[period(0, 20)]);
    let named = |mut run: RunRow, name: &str| {
        run.host = name.to_owned();
        run
    };
    facts.runs = vec![
        named(run(1, 0, Some((20, Ending::Stopped))), "old"),
        named(run(2, 100, Some((120, Ending::Stopped))), "new"),
    ];
    let host =
        |window| Tally::new(question(window), &HashMap::new()).finish(&facts).host.unwrap().name;
    assert_eq!(host(period(0, 20)), "old");
    assert_eq!(host(period(0, 110)), "new");
    assert_eq!(host(period(500, 510)), "new");
}

fn spans() -> impl Strategy<Value = Vec<Span<i64>>> {
    let one = (1_i64..4, 0_i64..600, 1_i64..60, 0_usize..4);
    let states = [State::Active, State::IdleHeld, State::TrulyIdle, State::Unknown(Why::NotTold)];
    proptest::collection::vec(one, 0..30).prop_map(move |spans| {
        let made = |(card, from, length, state): (i64, i64, i64, usize)| {
            span(card, period(from, from + length), states[state])
        };
        spans.into_iter().map(made).collect()
    })
}

/// The sums in milliseconds: by card and state, and by hour of the week.
fn sums(window: Period, zone: &TimeZone, spans: &[Span<i64>]) -> (Vec<i64>, Vec<i64>) {
    let question = Question { tz: zone.clone(), ..question(window) };
    let mut tally = Tally::new(question, &HashMap::new());
    spans.iter().for_each(|span| tally.add_card(span));
    let times = |card: i64| {
        let times = tally.cards.get(&card).copied().unwrap_or_default();
        [times.active, times.idle_held, times.truly_idle, times.unknown]
    };
    let cards = (1..4).flat_map(times).collect();
    (cards, tally.week.iter().flat_map(|cell| [cell.active, cell.all]).collect())
}

proptest! {
    /// The law: a window is its two halves, wherever it is split.
    #[test]
    fn two_parts_of_a_window_add_up(
        spans in spans(),
        cuts in proptest::array::uniform3(0_i64..700 * MINUTE),
        zone in proptest::sample::select(vec!["UTC", "Asia/Kolkata", "America/St_Johns"]),
    ) {
        let mut cuts = cuts.map(|cut| UnixMillis(SUNDAY + cut));
        cuts.sort();
        let [from, between, to] = cuts;
        let zone = TimeZone::get(zone).unwrap();
        let whole = sums(Period::new(from, to), &zone, &spans);
        let first = sums(Period::new(from, between), &zone, &spans);
        let second = sums(Period::new(between, to), &zone, &spans);
        let added = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>();
        prop_assert_eq!(&whole.0, &added(&first.0, &second.0));
        prop_assert_eq!(&whole.1, &added(&first.1, &second.1));
        prop_assert_eq!(whole.0.iter().sum::<i64>(), whole.1.iter().skip(1).step_by(2).sum::<i64>());
    }
}
