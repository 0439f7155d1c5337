use gua_core::sign::{Sign, SignSpan};
use gua_core::span::{Gap, GapReason};
use gua_core::units::UnixMillis;
use gua_core::{Reason, State};
use gua_store::{Retention, Tick, TickTransaction, Writer};
use proptest::prelude::*;

use crate::lab::*;

/// Trap: the clock was set back.
#[test]
fn clock_set_back_counts_time_once() {
    let lab = Lab::new();
    record(&mut lab.begin(START), &spans(&card(0), START, &[(3 * HOUR, 0)]), 30_000);
    let back = START + 110 * MINUTE + 7;
    let mut writer = lab.begin(back);
    record(&mut writer, &spans(&card(0), back, &[(30 * MINUTE, 1)]), 30_000);
    lab.assert_sound();
    // The newer run ends there: beyond it the older record goes on.
    assert_eq!(lab.read().final_until().unwrap(), Some(UnixMillis(back + 30 * MINUTE)));
    assert_eq!(lab.number("SELECT sum(active_ms) FROM card_span"), 150 * MINUTE);
    assert_eq!(lab.number("SELECT sum(idle_held_ms) FROM card_span"), 30 * MINUTE);
    assert_eq!(lab.number("SELECT count(*) FROM event WHERE kind = 'clock-set-back'"), 1);
    assert_eq!(lab.number("SELECT goes_back FROM run WHERE id = 2"), 1);
    assert_eq!(lab.number("SELECT hours_until_ms FROM store"), START + 2 * HOUR);
    record(&mut writer, &spans(&card(0), back + 30 * MINUTE, &[(HOUR, 1)]), 30_000);
    let sums = lab.read().usage(period(START, START + 4 * HOUR)).unwrap();
    assert_eq!(sums.cards[&1].times.observed_ms(), (200 * MINUTE + 7) as f64);
    assert_eq!(sums.cards[&1].times.idle_held_ms, (90 * MINUTE) as f64);
    let missing: i64 = sums.gaps.iter().map(|gap| gap.period.millis()).sum();
    assert_eq!(sums.window.millis() - missing, 200 * MINUTE + 7);
    lab.assert_sound();
}

#[test]
fn clock_set_back_cuts_no_other_card_or_time() {
    let lab = Lab::new();
    let both =
        [spans(&card(0), START, &[(HOUR, 0)]), spans(&card(1), START, &[(HOUR, 0)])].concat();
    record(&mut lab.begin(START), &both, 30_000);
    record(
        &mut lab.begin(START + MINUTE),
        &spans(&card(1), START + MINUTE, &[(MINUTE, 1)]),
        30_000,
    );
    let by_card = |card, column| {
        lab.number(&format!("SELECT sum({column}) FROM card_span WHERE card = {card}"))
    };
    assert_eq!([by_card(1, "active_ms"), by_card(1, "idle_held_ms")], [HOUR, 0]);
    assert_eq!([by_card(2, "active_ms"), by_card(2, "idle_held_ms")], [59 * MINUTE, MINUTE]);
    lab.assert_sound();
}

#[test]
fn clock_set_back_cuts_gaps_out_of_time_recorded_again() {
    let lab = Lab::new();
    let at = UnixMillis(START + HOUR);
    let gap = Gap { period: period(START, START + HOUR), reason: GapReason::Suspended };
    lab.begin(START).tick(&Tick { gaps: &[gap], ..Tick::new(at, at) }).unwrap();
    record(
        &mut lab.begin(START + MINUTE),
        &[span(&card(0), START + MINUTE, START + 2 * MINUTE, State::Active)],
        MINUTE,
    );
    assert_eq!(lab.number("SELECT sum(to_ms - from_ms) FROM gap"), 59 * MINUTE);
    assert_eq!(lab.number("SELECT count(*) FROM gap"), 2);
}

/// Trap: where only hour rows are left, they stay, and an event is written.
#[test]
fn clock_set_back_to_hours_alone_keeps_them_with_an_event() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    record(&mut writer, &spans(&card(0), START, &[(2 * DAY, 0)]), HOUR);
    let retention = Retention { quarters_ms: 12 * HOUR, ..Retention::default() };
    writer.prune(&retention, usize::MAX).unwrap();
    drop(writer);
    let fine_from = lab.number("SELECT fine_from_ms FROM store");
    assert_eq!(fine_from, START + 36 * HOUR);
    let back = fine_from - 30 * MINUTE;
    record(&mut lab.begin(back), &spans(&card(0), back, &[(HOUR, 1)]), 30_000);
    assert_eq!(lab.number("SELECT count(*) FROM event WHERE kind = 'not-recorded'"), 1);
    assert_eq!(lab.number("SELECT sum(idle_held_ms) FROM card_span"), 30 * MINUTE);
    assert_eq!(lab.number("SELECT sum(active_ms) FROM card_hour"), 36 * HOUR);
    let sums = lab.read().usage(period(START, back + HOUR)).unwrap();
    assert_eq!(sums.cards[&1].times.active_ms, (36 * HOUR) as f64);
    assert_eq!(sums.cards[&1].times.idle_held_ms, (30 * MINUTE) as f64);
    lab.assert_sound();
}

/// Trap: what is cut out of the older record is cut in the transaction of the tick that replaces it.
#[test]
fn clock_set_back_cuts_in_the_transaction_of_the_tick() {
    let lab = Lab::new();
    record(&mut lab.begin(START), &spans(&card(0), START, &[(2 * HOUR, 0)]), 30_000);
    let back = START + 30 * MINUTE;
    let mut writer = lab.begin(back);
    let at = UnixMillis(back + MINUTE);
    let closed = [span(&card(0), back, at.0, State::IdleHeld)];
    let tick = Tick { closed: &closed, ..Tick::new(at, at) };
    writer.tick_with(&tick, |_| Err(gua_store::Problem::Full)).unwrap_err();
    assert_eq!(lab.number("SELECT sum(active_ms) FROM card_span"), 2 * HOUR);
    assert_eq!(lab.number("SELECT sum(active_ms) FROM card_hour"), 2 * HOUR);
    assert_eq!(lab.number("SELECT hours_until_ms FROM store"), START + 2 * HOUR);
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1);
    writer.tick(&tick).unwrap();
    assert_eq!(lab.number("SELECT sum(active_ms) FROM card_span"), 2 * HOUR - MINUTE);
    assert_eq!(lab.number("SELECT hours_until_ms FROM store"), START);
    lab.assert_sound();
}

fn away(from: i64, to: i64) -> Gap {
    Gap { period: period(from, to), reason: GapReason::Driver(Reason::DriverGone) }
}

/// Trap: the clock was set back, and the newer run did not observe all of the time that it covers. What the
/// older one observed of it stays, and only the rest is a gap.
#[test]
fn clock_set_back_counts_a_gap_of_the_newer_run_once() {
    let lab = Lab::new();
    let both = [spans(&card(0), START, &[(HOUR, 0)]), spans(&card(1), START, &[(HOUR, 0)])];
    record(&mut lab.begin(START), &both.concat(), 30_000);
    let back = START + 30 * MINUTE;
    let mut writer = lab.begin(back);
    record(&mut writer, &spans(&card(0), back, &[(MINUTE, 1)]), 30_000);
    let from = back + MINUTE;
    for minutes in [1, 2, 50] {
        let at = UnixMillis(from + minutes * MINUTE);
        let tick = Tick { open_gap: Some(away(from, at.0)), ..Tick::new(at, at) };
        writer.tick(&tick).unwrap();
    }
    let end = UnixMillis(from + HOUR);
    writer.tick(&Tick { gaps: &[away(from, end.0)], ..Tick::new(end, end) }).unwrap();
    record(&mut writer, &spans(&card(0), end.0, &[(MINUTE, 1)]), 30_000);
    lab.assert_sound();
    let window = period(START, end.0 + MINUTE);
    let sums = lab.read().usage(window).unwrap();
    let gaps: Vec<_> = sums.gaps.iter().map(|gap| gap.period).collect();
    assert_eq!(gaps, [period(START + HOUR, end.0)]);
    let times = sums.cards[&1].times;
    assert_eq!((times.active_ms, times.idle_held_ms), ((59 * MINUTE) as f64, 2.0 * 60_000.0));
    // The newer run did not see the second card: where it observed the host, the older record stands.
    assert_eq!(sums.cards[&2].times.active_ms, HOUR as f64);
}

/// Trap: the clock was set back: a sign of work of the older record says nothing of the newer time.
#[test]
fn clock_set_back_cuts_signs_in_time_recorded_again() {
    let lab = Lab::new();
    let at = |minutes: i64| UnixMillis(START + minutes * MINUTE);
    let sign = |pid, from, to: Option<i64>| SignSpan {
        process: process(pid),
        sign: Sign::Cpu,
        from: at(from),
        to: to.map(at),
    };
    let write = |writer: &mut Writer, now: i64, signs: &[SignSpan]| {
        let tick = Tick::new(at(now), at(now));
        let write =
            |it: &mut TickTransaction<'_>| signs.iter().try_for_each(|sign| it.write_sign(sign));
        writer.tick_with(&tick, write).unwrap();
    };
    // One lasted when its recorder was killed, long before.
    write(&mut lab.begin(START), 5, &[sign(1, 1, None)]);
    let older =
        [sign(2, 12, Some(15)), sign(3, 12, Some(40)), sign(4, 12, None), sign(5, 31, None)];
    write(&mut lab.begin(at(10).0), 60, &older);
    let mut writer = lab.begin(at(30).0);
    write(&mut writer, 50, &[sign(6, 35, None)]);
    let found = lab.read().signs(period(START, at(60).0)).unwrap();
    let expected = [
        sign(1, 1, None),
        sign(2, 12, Some(15)),
        sign(3, 12, Some(30)),
        sign(4, 12, Some(30)),
        sign(6, 35, None),
    ];
    assert_eq!(found, expected);
}

/// A run whose clock was far ahead stays in the future; later runs do not go back because of it.
#[test]
fn run_of_a_clock_that_was_ahead_makes_no_later_run_go_back() {
    let lab = Lab::new();
    for (from, goes_back) in [(START + 500 * DAY, 0), (START, 1), (START + HOUR, 0)] {
        record(&mut lab.begin(from), &spans(&card(0), from, &[(MINUTE, 0)]), 30_000);
        let newest = "SELECT goes_back FROM run ORDER BY id DESC LIMIT 1";
        assert_eq!(lab.number(newest), goes_back, "{from}");
    }
    assert_eq!(lab.number("SELECT count(*) FROM event WHERE kind = 'clock-set-back'"), 1);
}

/// The gap to where the clock was ahead ends where it was right again: later pauses have their own reason.
#[test]
fn gap_of_a_clock_that_was_ahead_ends_at_the_next_run() {
    let lab = Lab::new();
    let [at, ahead] = [START + MINUTE, START + 500 * DAY];
    let mut writer = lab.begin(START);
    record(&mut writer, &spans(&card(0), START, &[(MINUTE, 0)]), 30_000);
    let gap = Gap { period: period(at, ahead), reason: GapReason::ClockSet };
    writer.tick(&Tick { gaps: &[gap], ..Tick::new(gap.period.to, gap.period.to) }).unwrap();
    record(&mut writer, &spans(&card(0), ahead, &[(MINUTE, 0)]), 30_000);
    drop(writer);
    // Back by a part of it first, then to the right time.
    for from in [ahead - 10 * MINUTE, START + 2 * MINUTE, START + 10 * MINUTE] {
        let mut writer = lab.begin(from);
        record(&mut writer, &spans(&card(0), from, &[(MINUTE, 0)]), 30_000);
        writer.end("stopped").unwrap();
    }
    let sums = lab.read().usage(period(START, START + 11 * MINUTE)).unwrap();
    let gaps: Vec<_> = sums.gaps.iter().map(|gap| (gap.period, gap.reason)).collect();
    let expected = [
        (period(at, START + 2 * MINUTE), Some(GapReason::ClockSet)),
        (period(START + 3 * MINUTE, START + 10 * MINUTE), None),
    ];
    assert_eq!(gaps, expected);
    let recorded: f64 = sums.cards.values().map(|card| card.times.observed_ms()).sum();
    assert!((recorded - (3 * MINUTE) as f64).abs() < 1e-6, "{recorded}");
    lab.assert_sound();
}

/// Trap: where only hour rows are left, they stay.
#[test]
fn clock_set_back_to_hours_alone_stores_no_gap_there() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    record(&mut writer, &spans(&card(0), START, &[(2 * DAY, 0)]), HOUR);
    let retention = Retention { quarters_ms: 12 * HOUR, ..Retention::default() };
    writer.prune(&retention, usize::MAX).unwrap();
    drop(writer);
    let back = START + 36 * HOUR - 30 * MINUTE;
    let mut writer = lab.begin(back);
    for at in [back + 29 * MINUTE, back + 31 * MINUTE] {
        let at = UnixMillis(at);
        writer.tick(&Tick { open_gap: Some(away(back, at.0)), ..Tick::new(at, at) }).unwrap();
    }
    assert_eq!(lab.number("SELECT count(*) FROM gap"), 0);
    // The newest run says where the record ends.
    let window = period(START, back + 31 * MINUTE);
    let sums = lab.read().usage(window).unwrap();
    assert_eq!(sums.gaps, []);
    assert_eq!(sums.cards[&1].times.active_ms, window.millis() as f64);
    lab.assert_sound();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever runs overlap, no time counts twice and none is lost.
    #[test]
    fn newer_of_overlapping_runs_counts(
        first in proptest::collection::vec((500_i64..60_000, 0_usize..4), 20..60),
        second in proptest::collection::vec((500_i64..60_000, 0_usize..4), 1..60),
        offset in 0_i64..600_000,
    ) {
        let lab = Lab::new();
        record(&mut lab.begin(START), &spans(&card(0), START, &first), 30_000);
        let end: i64 = first.iter().map(|(length, _)| length).sum();
        let offset = offset.min(end);
        record(&mut lab.begin(START + offset), &spans(&card(0), START + offset, &second), 30_000);
        lab.assert_sound();
        let again: i64 = second.iter().map(|(length, _)| length).sum();
        let window = period(START + offset, START + offset + again);
        let times = lab.read().usage(window).unwrap().cards[&1].times;
        let newer = [0, 1, 2, 3].map(|state| {
            let of_state = second.iter().filter(|(_, it)| *it == state);
            of_state.map(|(length, _)| *length).sum::<i64>() as f64
        });
        let found = [times.active_ms, times.idle_held_ms, times.free_ms, times.unknown_ms];
        prop_assert_eq!(found, newer, "the newer run counts");
        let sum = "SELECT sum(active_ms + idle_held_ms + free_ms + unknown_ms) FROM card_span";
        prop_assert_eq!(lab.number(sum), end.max(offset + again));
    }
}
