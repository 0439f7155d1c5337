use gua_store::{Retention, Writer};

use crate::lab::*;

/// Records with a tick and a round of pruning per hour.
fn record_days(writer: &mut Writer, from: i64, days: i64, retention: &Retention) {
    record_hours(writer, from, days * 24, retention);
}

fn record_hours(writer: &mut Writer, from: i64, hours: i64, retention: &Retention) {
    for hour in 0..hours {
        let from = from + hour * HOUR;
        let stretches = [(10 * MINUTE, 0), (20 * MINUTE + 5, 1), (30 * MINUTE - 5, 2)];
        record(writer, &spans(&card(0), from, &stretches), HOUR);
        writer.prune(retention, usize::MAX).unwrap();
    }
}

fn kept_hours(lab: &Lab, sql: &str, now: i64) -> i64 {
    (now - lab.number(sql)) / HOUR
}

const OLDEST_FINE: &str = "SELECT min(from_ms) FROM card_span";
const OLDEST_HOUR: &str = "SELECT min(from_ms) FROM card_hour";
const OLDEST_EXACT: &str = "SELECT quarters_until_ms FROM store";

#[test]
fn rows_are_kept_as_long_as_configured_and_sums_stay() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let retention =
        Retention { exact_ms: DAY, quarters_ms: 4 * DAY, hours_ms: 8 * DAY, samples_ms: DAY };
    record_days(&mut writer, START, 8, &retention);
    let now = START + 8 * DAY;
    assert_eq!(kept_hours(&lab, OLDEST_EXACT, now), 24);
    assert_eq!(kept_hours(&lab, OLDEST_FINE, now), 96);
    assert_eq!(kept_hours(&lab, OLDEST_HOUR, now), 192);
    lab.assert_sound();
    let sums = lab.read().usage(period(START, now)).unwrap();
    assert_eq!(sums.cards[&1].times.active_ms, (8 * 24 * 10 * MINUTE) as f64);
    assert_eq!(sums.cards[&1].times.observed_ms(), (8 * DAY) as f64);
    // An edge within a quarter hour, and one within an hour of which no fine rows are left.
    let cut = lab.read().usage(period(START + 30 * MINUTE, now - 2 * DAY + 5 * MINUTE)).unwrap();
    let expected = 6 * 24 * 10 * MINUTE - 5 * MINUTE + 10 * MINUTE / 3;
    assert!((cut.cards[&1].times.active_ms - expected as f64).abs() < 1.0, "{cut:?}");
    record_days(&mut writer, now, 2, &retention);
    assert_eq!(kept_hours(&lab, OLDEST_HOUR, now + 2 * DAY), 192);
    lab.assert_sound();
}

/// Trap: the clock leapt ahead.
#[test]
fn nothing_is_pruned_within_a_day_after_a_leap() {
    let lab = Lab::new();
    let retention = Retention { quarters_ms: 4 * DAY, ..Retention::default() };
    let mut writer = lab.begin(START);
    record_days(&mut writer, START, 3, &retention);
    drop(writer);
    let leapt = START + 500 * DAY;
    let mut writer = lab.begin(leapt);
    record_hours(&mut writer, leapt, 23, &retention);
    assert_eq!(lab.number(OLDEST_FINE), START);
    assert_eq!(lab.number(OLDEST_HOUR), START);
    // From then on it goes by two days of history per day of recording.
    record_hours(&mut writer, leapt + 23 * HOUR, 25, &retention);
    assert!(lab.number(OLDEST_FINE) >= START + 2 * DAY);
    lab.assert_sound();
}

/// Trap: the newest run and what was last seen are never pruned.
#[test]
fn newest_run_is_never_pruned() {
    let lab = Lab::new();
    let retention = Retention { exact_ms: 0, quarters_ms: 0, hours_ms: 0, samples_ms: 0 };
    record_days(&mut lab.begin(START), START, 1, &Retention::default());
    let mut writer = lab.begin(START + DAY);
    record_days(&mut writer, START + DAY, 3, &retention);
    assert_eq!(lab.number("SELECT min(id) FROM run"), 2);
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1);
    assert_eq!(lab.read().final_until().unwrap().unwrap().0, START + 4 * DAY);
}

#[test]
fn names_without_rows_are_swept_and_counts_are_by_table() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    record_days(&mut writer, START, 2, &Retention::default());
    let retention = Retention { exact_ms: DAY, quarters_ms: DAY, hours_ms: DAY, samples_ms: DAY };
    // Nobody holds the card any more.
    record(&mut writer, &spans(&card(0), START + 2 * DAY, &[(2 * DAY, 2)]), HOUR);
    assert_eq!(lab.number("SELECT count(*) FROM holder"), 2);
    let pruned = writer.prune(&retention, usize::MAX).unwrap();
    assert!(pruned.rows["card_hour"] >= 24, "{pruned:?}");
    assert!(pruned.is_held_back, "only two days of history are saved up: {pruned:?}");
    record(&mut writer, &spans(&card(0), START + 4 * DAY, &[(DAY, 2)]), HOUR);
    writer.prune(&retention, usize::MAX).unwrap();
    for table in ["holder", "process", "person", "workload"] {
        assert_eq!(lab.number(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    lab.assert_sound();
}
