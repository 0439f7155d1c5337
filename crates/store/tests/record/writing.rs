use gua_core::span::{Gap, GapReason};
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Reason, State};
use gua_store::{CardSample, Database, Event, Problem, Tick};
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::lab::*;

fn rows(lab: &Lab, table: &str) -> Vec<Vec<Value>> {
    let db = Connection::open(lab.path()).unwrap();
    let mut query = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let count = query.column_count();
    let rows = query.query_map([], |row| (0..count).map(|place| row.get(place)).collect()).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The interval has no influence on what is stored.
    #[test]
    fn rows_do_not_depend_on_the_interval(
        stretches in proptest::collection::vec((500_i64..40_000, 0_usize..4), 1..80),
        offset in 0_i64..HOUR,
    ) {
        let spans = spans(&card(0), START + offset, &stretches);
        let record_at = |interval| {
            let lab = Lab::new();
            let mut writer = lab.begin(START + offset);
            record(&mut writer, &spans, interval);
            writer.end("stopped").unwrap();
            lab.assert_sound();
            ["card_span", "holder_span", "card_hour", "holder_hour"].map(|table| rows(&lab, table))
        };
        let at_once = record_at(DAY);
        prop_assert_eq!(&record_at(30_000), &at_once);
        prop_assert_eq!(&record_at(7001), &at_once);
    }
}

#[test]
fn many_spans_of_a_half_minute_are_one_row() {
    let lab = Lab::new();
    let spans = spans(&card(0), START, &[(1000, 0), (1000, 1)].repeat(450));
    let mut writer = lab.begin(START);
    record(&mut writer, &spans, 30_000);
    assert_eq!(lab.number("SELECT count(*) FROM card_span"), 30);
    assert_eq!(lab.number("SELECT sum(active_ms) FROM card_span"), 450_000);
    assert_eq!(lab.number("SELECT sum(idle_held_ms) FROM card_span"), 450_000);
    lab.assert_sound();
}

/// Trap: state in memory advances only after COMMIT; ids of rolled-back rows are forgotten.
#[test]
fn state_in_memory_advances_only_after_commit() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let other = Connection::open(lab.path()).unwrap();
    let closed = spans(&card(0), START, &[(1000, 0), (1000, 1), (1000, 0), (1000, 1)]);
    let at = UnixMillis(START + 4000);
    let tick = Tick { closed: &closed, recorded_ms: 4000, ..Tick::new(at, at) };
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = writer.tick(&tick).unwrap_err();
    assert!(matches!(error.problem, Problem::Locked), "{error}");
    other
        .execute_batch(
            "COMMIT; CREATE TRIGGER full BEFORE UPDATE ON run BEGIN SELECT RAISE(ABORT, 'x'); END",
        )
        .unwrap();
    // Fails at its end, when all rows are written.
    writer.tick(&tick).unwrap_err();
    assert_eq!(lab.number("SELECT count(*) FROM card"), 0);
    other.execute_batch("DROP TRIGGER full").unwrap();
    writer.tick(&tick).unwrap();
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1);
    assert_eq!(lab.number("SELECT count(*) FROM card_span"), 1);
    assert_eq!(lab.number("SELECT sum(length_ms) FROM card_span"), 4000);
    lab.assert_sound();
}

/// Trap: after a crash a run ends at its last tick.
#[test]
fn run_ends_at_its_last_tick_after_a_crash() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    record(&mut writer, &spans(&card(0), START, &[(HOUR, 0)]), 30_000);
    drop(writer);
    assert_eq!(lab.read().final_until().unwrap(), Some(UnixMillis(START + HOUR)));
    assert_eq!(lab.number("SELECT ending IS NULL FROM run"), 1);
    let mut writer = lab.begin(START + 2 * HOUR);
    record(&mut writer, &spans(&card(0), START + 2 * HOUR, &[(HOUR, 0)]), 30_000);
    writer.end("stopped").unwrap();
    assert_eq!(lab.number("SELECT count(*) FROM run WHERE goes_back"), 0);
    let usage = lab.read().usage(period(START, START + 3 * HOUR)).unwrap();
    assert_eq!(usage.gaps.len(), 1);
    assert_eq!(
        (usage.gaps[0].period, usage.gaps[0].reason),
        (period(START + HOUR, START + 2 * HOUR), None)
    );
    lab.assert_sound();
}

/// Trap: a gap is recorded with its reason.
#[test]
fn gaps_events_and_samples_are_stored() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let at = |millis| UnixMillis(START + millis);
    let away = GapReason::Driver(Reason::DriverGone);
    let gap = |to| Gap { period: period(START, START + to), reason: away };
    writer
        .tick(&Tick { open_gap: Some(gap(10_000)), ..Tick::new(at(10_000), at(10_000)) })
        .unwrap();
    let sample = CardSample {
        card: card(0),
        utilization: Some(Percent(49.6)),
        memory: Some(Bytes::from_mib(7)),
        memory_total: Some(Bytes::from_mib(80_000)),
        power: None,
        temperature: None,
    };
    let event = Event { at: at(5), until: None, kind: "test".into(), detail: "A test.".into() };
    let tick = Tick {
        gaps: &[gap(20_000)],
        samples: &[sample],
        events: &[event],
        polls: 7,
        calls: 99,
        ..Tick::new(at(30_000), at(30_000))
    };
    writer.tick(&tick).unwrap();
    let usage = lab.read().usage(period(START, START + 30_000)).unwrap();
    assert_eq!(usage.gaps.len(), 1);
    assert_eq!((usage.gaps[0].period.millis(), usage.gaps[0].reason), (20_000, Some(away)));
    assert_eq!(lab.number("SELECT utilization FROM sample"), 50);
    assert_eq!(lab.number("SELECT power_w FROM sample"), -1, "unknown is not zero");
    assert_eq!(lab.number("SELECT polls * 1000 + calls FROM run"), 7099);
    assert_eq!(lab.number("SELECT count(*) FROM event"), 1);
    assert_eq!(lab.read().cards().unwrap()[&1].memory_mib, Some(80_000));
}

#[test]
fn database_in_memory_is_recorded_and_read() {
    let database = Database::in_memory().unwrap();
    let mut writer = gua_store::Writer::begin(database, run(START)).unwrap();
    record(&mut writer, &[span(&card(0), START, START + MINUTE, State::Active)], MINUTE);
    let usage = writer.database().usage(period(START, START + MINUTE)).unwrap();
    assert_eq!(usage.cards[&1].times.active_ms, 60_000.0);
}
