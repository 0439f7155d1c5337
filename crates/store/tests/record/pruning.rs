use std::collections::BTreeMap;

use gua_core::span::{Gap, GapReason};
use gua_core::units::UnixMillis;
use gua_store::{Database, Latest, Pruned, Retention, Tick, Writer};

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
fn clock_that_leapt_ahead_prunes_nothing_for_a_day() {
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
fn newest_run_and_last_seen_are_never_pruned() {
    let lab = Lab::new();
    let retention = Retention { exact_ms: 0, quarters_ms: 0, hours_ms: 0, samples_ms: 0 };
    record_days(&mut lab.begin(START), START, 1, &Retention::default());
    let mut writer = lab.begin(START + DAY);
    let at = UnixMillis(START + DAY);
    let latest = [Latest { card: Some(card(0)), body: "{}".into() }];
    writer.tick(&Tick { latest: Some(&latest), ..Tick::new(at, at) }).unwrap();
    record_days(&mut writer, START + DAY, 3, &retention);
    assert_eq!(lab.number("SELECT count(*) FROM card_hour"), 0);
    let seen = lab.read().last_seen().unwrap().unwrap();
    assert_eq!((seen.at, seen.cards), (at, vec!["{}".to_owned()]));
    assert_eq!(lab.number("SELECT min(id) FROM run"), 2);
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1);
    drop(writer);
    // After its end something happened, and something was imported, and all of it is too old.
    let late = START + 4 * DAY + MINUTE;
    lab.execute(&format!(
        "INSERT INTO event VALUES (NULL, 2, {late}, NULL, 'a', '');
         INSERT INTO run SELECT 99, host, boot, driver, recorder, rule, 1, 0, 0, 0, NULL, started_ms,
             until_ms, tick_ms, 0, 0, 0, NULL FROM run"
    ));
    let mut database = Database::open_to_prune(&lab.path()).unwrap();
    prune_now(&mut database, &retention, START + 9 * DAY);
    assert_eq!(lab.number("SELECT count(*) FROM event"), 0);
    assert_eq!(lab.number("SELECT count(*) FROM run"), 2);
    assert_eq!(lab.number("SELECT min(id) FROM run"), 2);
    assert_eq!(lab.read().final_until().unwrap().unwrap().0, START + 4 * DAY);
    assert_eq!(lab.read().last_seen().unwrap().unwrap().at, at);
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

/// Four days of two cards, with gaps, samples and signs to prune.
fn recorded() -> Lab {
    let lab = Lab::new();
    record_days(&mut lab.begin(START), START, 2, &Retention::default());
    record_days(&mut lab.begin(START + 2 * DAY), START + 2 * DAY, 2, &Retention::default());
    lab.execute(&format!(
        "INSERT INTO gap VALUES ({START}, {START} + 1, -1), ({START} + 9e7, {START} + 9e8, -1);
         INSERT INTO event VALUES (NULL, 1, {START}, NULL, 'a', ''), (NULL, 1, {START} + 9e7, NULL, 'b', '');
         INSERT INTO sample VALUES ({START}, 1, 0, 0, 0, 0), ({START} + 9e7, 1, 0, 0, 0, 0);
         INSERT INTO sign_span VALUES ({START}, 1, 0, {START} + 9);
         INSERT INTO session VALUES ({START}, 1, {START} + 7e6, 1, 0, 0, 0, 0, NULL)"
    ));
    lab
}

const SHORT: Retention =
    Retention { exact_ms: DAY, quarters_ms: 2 * DAY, hours_ms: 3 * DAY, samples_ms: 3 * DAY };

fn prune_now(database: &mut Database, retention: &Retention, now: i64) -> Vec<Pruned> {
    let mut rounds = vec![];
    while rounds.last().is_none_or(|last: &Pruned| last.is_partial) {
        rounds.push(database.prune_now(retention, UnixMillis(now), 100).unwrap());
    }
    rounds
}

fn total(rounds: &[Pruned]) -> BTreeMap<&'static str, usize> {
    let mut total = BTreeMap::new();
    for (table, rows) in rounds.iter().flat_map(|round| &round.rows) {
        *total.entry(*table).or_default() += rows;
    }
    total
}

#[test]
fn admin_prunes_without_proof_of_time_what_was_announced() {
    let lab = recorded();
    let now = START + 4 * DAY;
    let due = lab.read().due_rows(&SHORT, UnixMillis(now)).unwrap();
    let hours = due["card_hour"];
    assert_eq!((hours.rows, hours.oldest_ms, hours.newest_ms), (24, START, START + 23 * HOUR));
    assert_eq!(due["exact"].oldest_ms, START + 2 * DAY);
    let mut database = Database::open_to_prune(&lab.path()).unwrap();
    let rounds = prune_now(&mut database, &SHORT, now);
    assert!(rounds.len() > 2 && rounds.iter().all(|round| !round.is_held_back));
    let mut deleted = total(&rounds);
    assert!(deleted.remove("exact").unwrap() > 0);
    let counted = due.iter().filter(|(table, _)| **table != "exact");
    let counted: BTreeMap<_, _> =
        counted.map(|(table, due)| (*table, usize::try_from(due.rows).unwrap())).collect();
    assert_eq!(deleted, counted);
    assert_eq!(deleted["gap"] + deleted["event"] + deleted["sample"] + deleted["session"], 4);
    assert!(database.due_rows(&SHORT, UnixMillis(now)).unwrap().is_empty());
    drop(database);
    assert_eq!(lab.number(OLDEST_HOUR), START + DAY);
    assert_eq!(lab.number(OLDEST_FINE), START + 2 * DAY);
    assert_eq!(lab.number(OLDEST_EXACT), START + 3 * DAY);
}

/// Trap: names are swept only by who holds the lock.
#[test]
fn names_are_swept_only_by_who_holds_the_lock() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    record_days(&mut writer, START, 2, &Retention::default());
    // Nobody holds the card any more.
    record(&mut writer, &spans(&card(0), START + 2 * DAY, &[(2 * DAY, 2)]), HOUR);
    let now = START + 4 * DAY;
    let all = Retention { exact_ms: 0, quarters_ms: 0, hours_ms: 0, samples_ms: 0 };
    let mut database = Database::open_to_prune(&lab.path()).unwrap();
    let deleted = total(&prune_now(&mut database, &all, now));
    assert_eq!((deleted["card_hour"], deleted.get("holder")), (48 + 48, None));
    drop(database);
    assert_eq!(lab.number("SELECT count(*) FROM holder"), 2);
    // The recorder goes on with the ids that it remembers.
    record(&mut writer, &spans(&card(0), now, &[(MINUTE, 0)]), 30_000);
    lab.assert_sound();
    drop(writer);
    let later = now + DAY;
    record(&mut lab.begin(now + MINUTE), &spans(&card(0), now + MINUTE, &[(DAY, 2)]), HOUR);
    let mut database = Database::open_to_prune(&lab.path()).unwrap();
    let deleted = total(&prune_now(&mut database, &all, later));
    assert_eq!((deleted["holder"], deleted["process"]), (2, 2));
}

#[test]
fn free_pages_are_given_back_round_by_round() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    record(&mut writer, &spans(&card(0), START, &[(MINUTE, 0)]), MINUTE);
    lab.execute(
        "INSERT INTO push (at_ms, body) VALUES (1, zeroblob(4096000)), (2, zeroblob(4096)); DELETE FROM push",
    );
    let free_pages = || lab.read().info().unwrap().free_bytes / 4096;
    assert!((1000..1010).contains(&free_pages()), "{}", free_pages());
    let mut returned = [0; 3];
    for pages in &mut returned {
        *pages = writer.prune(&Retention::default(), usize::MAX).unwrap().returned_pages;
    }
    // So few are used again soon.
    assert_eq!(returned, [500, 500, 0]);
    lab.execute("INSERT INTO push (at_ms, body) VALUES (1, zeroblob(800000)); DELETE FROM push");
    assert_eq!(writer.prune(&Retention::default(), usize::MAX).unwrap().returned_pages, 0);
    assert!(free_pages() > 190);
    drop(writer);
    let mut database = Database::open_to_prune(&lab.path()).unwrap();
    let rounds = prune_now(&mut database, &Retention::default(), START + HOUR);
    assert!(rounds.iter().map(|round| round.returned_pages).sum::<i64>() > 190);
    drop(database);
    let info = lab.read().info().unwrap();
    assert_eq!(info.free_bytes, 0);
    assert!(info.file_bytes < 400_000, "{info:?}");
    lab.assert_sound();
}

/// A host whose driver never comes has no hours, and its gaps must not stay for ever.
#[test]
fn gaps_and_events_go_without_any_rows_of_cards() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let retention = Retention { hours_ms: 2 * DAY, ..Retention::default() };
    for hour in 0..120 {
        let from = START + hour * HOUR;
        let gap = Gap { period: period(from, from + HOUR), reason: GapReason::Suspended };
        let at = UnixMillis(from + HOUR);
        writer.tick(&Tick { gaps: &[gap], recorded_ms: HOUR, ..Tick::new(at, at) }).unwrap();
        writer.prune(&retention, usize::MAX).unwrap();
    }
    assert_eq!(lab.number("SELECT count(*) FROM gap"), 48);
    assert_eq!(lab.number("SELECT min(from_ms) FROM gap"), START + 72 * HOUR);
}
