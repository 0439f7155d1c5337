use gua_core::State;
use gua_core::units::UnixMillis;
use gua_store::{Retention, Tick};
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
    assert_eq!(sums.recorded_ms, 200 * MINUTE + 7);
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
    use gua_core::span::{Gap, GapReason};
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
        let sum = "SELECT sum(active_ms + idle_held_ms + free_ms + unknown_ms) FROM card_span";
        prop_assert_eq!(lab.number(sum), end.max(offset + again));
    }
}
