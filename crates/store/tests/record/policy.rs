//! What the rules store: idle counts, and a log that is never changed.

use gua_core::units::UnixMillis;
use gua_store::{LogEntry, LogKind, PolicyState, Precision, Retention, Tick, WatchedHolder};

use crate::lab::*;

fn entry(at: i64) -> LogEntry {
    LogEntry {
        at: UnixMillis(at),
        clock_ms: at - START,
        kind: LogKind::NoticeSent,
        pid: Some(7),
        start_ticks: Some(70),
        uid: Some(1001),
        user: Some("ann".into()),
        program: Some("python".into()),
        rule: Some("abandoned".into()),
        detail: "notice 1 delivered by tty".into(),
        evidence: "{}".into(),
    }
}

fn state(idle_ms: i64) -> PolicyState {
    let holder = |pid, start_ticks| WatchedHolder {
        pid,
        start_ticks,
        rule: Some("abandoned".into()),
        action: Some("end".into()),
        digest: Some(-7),
        idle_ms,
        missed_ms: 5,
        notices: 1,
        told_at_ms: 3,
    };
    let holders = vec![holder(7, Some(70)), holder(8, None)];
    PolicyState { holders, clock_ms: 99, at: Some(UnixMillis(START)) }
}

#[test]
fn idle_counts_and_log_are_stored_in_the_transaction_of_a_tick() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    assert_eq!(lab.read().policy_state("boot-1").unwrap(), PolicyState::default());
    let at = UnixMillis(START + MINUTE);
    let tick = Tick::new(at, at);
    writer
        .tick_with(&tick, |transaction| {
            transaction.write_policy_state(&state(1))?;
            transaction.write_log_entry(&entry(START + 1))
        })
        .unwrap();
    writer.write_between(|transaction| transaction.write_policy_state(&state(2))).unwrap();
    let failed = writer.tick_with(&tick, |transaction| {
        transaction.write_policy_state(&state(3))?;
        transaction.write_log_entry(&entry(START + 2))?;
        Err(gua_store::Problem::Full)
    });
    assert!(failed.is_err());
    assert_eq!(lab.read().policy_state("boot-1").unwrap(), state(2));
    let window = period(START, START + MINUTE);
    assert_eq!(lab.read().policy_log(window).unwrap(), [entry(START + 1)]);
    assert_eq!(lab.read().policy_log_since_clock(0).unwrap().len(), 1);
    assert_eq!(lab.read().policy_log_since_clock(1).unwrap(), []);
    // Processes of an earlier boot are others.
    let other = lab.read().policy_state("boot-2").unwrap();
    assert_eq!((other.holders, other.clock_ms), (vec![], 99));
}

/// Regression: before the first step, its time was stored as 0.
#[test]
fn unknown_time_of_the_last_step_stays_unknown() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let at = UnixMillis(START + MINUTE);
    let nothing = PolicyState::default();
    writer.tick_with(&Tick::new(at, at), |it| it.write_policy_state(&nothing)).unwrap();
    assert_eq!(lab.read().policy_state("boot-1").unwrap(), nothing);
}

/// Trap: `policy_log` is append-only by triggers and never pruned.
#[test]
fn policy_log_is_append_only_and_never_pruned() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    record(&mut writer, &spans(&card(0), START, &[(DAY, 0)]), HOUR);
    writer.write_between(|transaction| transaction.write_log_entry(&entry(START + 1))).unwrap();
    let nothing = Retention { exact_ms: 0, quarters_ms: 0, hours_ms: 0, samples_ms: 0 };
    writer.prune(&nothing, usize::MAX).unwrap();
    assert_eq!(lab.number("SELECT count(*) FROM card_span"), 0);
    assert_eq!(lab.number("SELECT count(*) FROM policy_log"), 1);
    let db = rusqlite::Connection::open(lab.path()).unwrap();
    for change in ["UPDATE policy_log SET uid = 1", "DELETE FROM policy_log"] {
        let error = db.execute_batch(change).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{error}");
    }
}

/// Rows say how exactly they tell when something happened, and each is read once.
#[test]
fn rows_are_replayed_by_age() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let flickers = [(4000, 0), (4000, 1), (4000, 0), (18_000, 1)];
    let mut stretches = vec![(HOUR, 0), (HOUR, 1)];
    stretches.extend(flickers);
    stretches.push((HOUR, 0));
    record(&mut writer, &spans(&card(0), START, &stretches), 30_000);
    let read = || {
        let mut found: Vec<(i64, i64, Precision)> = Vec::new();
        let mut working = 0;
        lab.read()
            .replay(period(START, START + DAY), |rows| {
                for row in rows {
                    assert_eq!(row.holders.len(), 2);
                    working += row.holders[0].times.working_ms;
                    match found.last_mut() {
                        Some(last) if last.2 == row.precision => last.1 = row.period.to.0 - START,
                        _ => {
                            let period = row.period;
                            found.push((period.from.0 - START, period.to.0 - START, row.precision));
                        }
                    }
                }
            })
            .unwrap();
        (found, working)
    };
    let all = 2 * HOUR + 8000 + HOUR;
    let (two, end) = (2 * HOUR, 3 * HOUR + 30_000);
    let exact = [
        (0, two, Precision::Exact),
        (two, two + 30_000, Precision::HalfMinute),
        (two + 30_000, end, Precision::Exact),
    ];
    let working = all - HOUR;
    assert_eq!(read(), (exact.to_vec(), working));
    // Recorded time proves the age of rows.
    for hour in 4..=44 {
        let at = UnixMillis(START + hour * HOUR);
        writer.tick(&Tick { recorded_ms: HOUR, ..Tick::new(at, at) }).unwrap();
    }
    let quarters = Retention { exact_ms: 42 * HOUR, ..Retention::default() };
    writer.prune(&quarters, usize::MAX).unwrap();
    let (found, worked) = read();
    assert_eq!(found[0], (0, two, Precision::QuarterHour));
    assert_eq!((found.len(), worked), (3, working));
    let hours = Retention { quarters_ms: 42 * HOUR, ..quarters };
    writer.prune(&hours, usize::MAX).unwrap();
    let (found, worked) = read();
    assert_eq!(found[0], (0, two, Precision::Hour));
    assert_eq!((found.len(), worked), (3, working));
}
