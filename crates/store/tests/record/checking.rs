use gua_core::span::{Gap, GapReason};
use gua_core::units::UnixMillis;
use gua_store::Tick;

use crate::lab::*;

/// Two cards for 90 minutes, with a session of the first holder.
fn sound() -> Lab {
    let lab = Lab::new();
    let both =
        [spans(&card(0), START, &[(90 * MINUTE, 1)]), spans(&card(1), START, &[(90 * MINUTE, 1)])];
    let mut both = both.concat();
    both.sort_by_key(|span| span.period);
    record(&mut lab.begin(START), &both, 10 * MINUTE);
    let session =
        format!("INSERT INTO session VALUES ({START}, 1, {}, 1, 0, 0, 0, 0, 9)", START + HOUR);
    lab.execute(&session);
    lab.assert_sound();
    lab
}

fn assert_found(damage: &str, expected: &str) {
    let lab = sound();
    lab.execute(damage);
    let findings = lab.read().check().unwrap();
    let is_found = findings.iter().any(|finding| finding.detail.contains(expected));
    assert!(is_found, "{damage}: {expected}: {findings:?}");
}

#[test]
fn time_outside_of_runs_and_in_gaps_is_found() {
    let late = START + 80 * MINUTE;
    assert_found(&format!("UPDATE run SET until_ms = {late}"), "runs without their gaps have only");
    assert_found(
        &format!("INSERT INTO gap VALUES ({START}, {}, -2)", START + 5000),
        "a row of card 1 has 900000 ms, of which runs without their gaps have only 895000 ms",
    );
}

/// A tick of the Python gua counts as a whole, beyond the time that it covers.
#[test]
fn imported_time_may_exceed_its_run() {
    let lab = sound();
    let gap = format!("INSERT INTO gap VALUES ({START}, {}, -2)", START + 5000);
    lab.execute(&[&gap, "; UPDATE session SET unused_share_ms = 3600001"].concat());
    assert_eq!(lab.read().check().unwrap().len(), 3);
    lab.execute("UPDATE run SET imported = 1");
    lab.assert_sound();
}

#[test]
fn time_that_no_card_covers_is_found() {
    let quarter = START + 15 * MINUTE;
    let delete = |table| format!("DELETE FROM {table} WHERE from_ms = {quarter};");
    let damage = [delete("card_span"), delete("holder_span")].concat();
    assert_found(&damage, "no card has a row for 900000 ms, and no gap says why");
    // With a gap, it is known why.
    let lab = sound();
    let gap = format!("INSERT INTO gap VALUES ({quarter}, {}, -2)", quarter + 15 * MINUTE);
    lab.execute(&[&damage, &gap[..]].concat());
    let findings = lab.read().check().unwrap();
    assert!(findings.iter().all(|it| !it.detail.contains("no gap")), "{findings:?}");
}

/// One card may leave the driver's list, and a run may begin with a first poll that covers nothing.
#[test]
fn gaps_restarts_and_cards_that_go_are_sound() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let quarter = 15 * MINUTE;
    let both = |from, length| {
        let cards = [0, 1].map(|index| spans(&card(index), from, &[(length, 0)]));
        cards.concat()
    };
    record(&mut writer, &both(START, quarter), quarter);
    record(&mut writer, &spans(&card(0), START + quarter, &[(quarter, 0)]), quarter);
    let gap = Gap { period: period(START + 2 * quarter, START + HOUR), reason: GapReason::Late };
    let at = UnixMillis(START + HOUR);
    writer.tick(&Tick { gaps: &[gap], ..Tick::new(at, at) }).unwrap();
    record(&mut writer, &both(START + HOUR, quarter), quarter);
    drop(writer);
    let next = START + 2 * HOUR;
    record(&mut lab.begin(next), &both(next + 30_000, quarter - 30_000), quarter);
    lab.assert_sound();
}

/// Several spans within half a minute are one row, and a process may be listed after it began to work.
#[test]
fn active_card_that_is_held_for_a_part_of_a_row_is_sound() {
    let lab = Lab::new();
    let states = [(5000, 0), (5000, 0), (5000, 0)];
    let mut all = Vec::new();
    let mut at = START;
    for (length, state) in states {
        all.extend(spans(&card(0), at, &[(length, state)]));
        at += length;
    }
    all[0].holders.clear();
    record(&mut lab.begin(START), &all, MINUTE);
    assert_eq!(lab.number("SELECT count(*) FROM card_span"), 1);
    lab.assert_sound();
    // One that was there throughout has a share of everything.
    lab.execute("UPDATE holder_span SET idle_ms = idle_ms + 5000 WHERE holder = 2");
    let findings = lab.read().check().unwrap();
    assert!(
        findings[0].detail.contains("active shares of card 1 are 10000 of 15000"),
        "{findings:?}"
    );
}

#[test]
fn rows_of_a_wrong_length_are_found() {
    assert_found(
        "UPDATE card_span SET from_ms = from_ms + 1; UPDATE holder_span SET from_ms = from_ms + 1",
        "wrong begin or length",
    );
    assert_found(
        "UPDATE store SET fine_from_ms = hours_until_ms; DELETE FROM card_span;
             DELETE FROM holder_span; UPDATE card_hour SET length_ms = length_ms - 1",
        "wrong begin or length",
    );
}

/// Hour rows are verified on their own once their fine rows are gone.
#[test]
fn old_hours_are_verified() {
    let old = "UPDATE store SET fine_from_ms = hours_until_ms;
               DELETE FROM card_span WHERE from_ms < (SELECT fine_from_ms FROM store);
               DELETE FROM holder_span WHERE from_ms < (SELECT fine_from_ms FROM store);";
    let lab = sound();
    lab.execute(old);
    lab.assert_sound();
    let damaged = |damage: &str| [old, damage].concat();
    assert_found(&damaged("UPDATE card_hour SET idle_held_ms = 3600001"), "of 3600000 ms");
    assert_found(
        &damaged("UPDATE holder_hour SET unused_share_ms = 3600000"),
        "idle-held shares of card 1 are",
    );
    let late = START + 30 * MINUTE;
    assert_found(
        &damaged(&format!("INSERT INTO gap VALUES ({START}, {late}, -2)")),
        "a row of card 1 has 3600000 ms, of which runs without their gaps have only 1800000 ms",
    );
}

#[test]
fn hour_rows_alone_are_found() {
    let quarters = "DELETE FROM card_span WHERE from_ms < (SELECT hours_until_ms FROM store)";
    assert_found(quarters, "card_hour has rows of an hour that has no fine rows");
    assert_found(
        "UPDATE store SET hours_until_ms = fine_from_ms",
        "holder_hour has rows of an hour that is not complete yet",
    );
}

#[test]
fn references_to_nothing_are_found() {
    let references = [
        ("UPDATE card_hour SET card = 9 WHERE card = 1", "a row of card_hour name card 9"),
        ("UPDATE card_span SET card = 9 WHERE card = 1", "6 rows of card_span name card 9"),
        ("UPDATE holder_hour SET holder = 9 WHERE holder = 1", "holder_hour name holder 9"),
        ("UPDATE session SET holder = 9", "session name holder 9"),
        ("INSERT INTO sample VALUES (0, 9, 0, 0, 0, 0)", "sample name card 9"),
        ("INSERT INTO sign_span VALUES (0, 9, 0, 1)", "sign_span name process 9"),
        ("INSERT INTO latest VALUES (9, 0, '')", "latest name card 9"),
        ("UPDATE process SET person = 9 WHERE id = 1", "process 1 names a row of person"),
        ("UPDATE run SET host = 9", "run 1 names a row of host"),
    ];
    for (damage, expected) in references {
        assert_found(&format!("PRAGMA foreign_keys = OFF; {damage}"), expected);
    }
}

#[test]
fn sessions_that_cannot_be_are_found() {
    let insert = |from: i64, to: &str| {
        format!("INSERT INTO session VALUES ({}, 1, {to}, 1, 0, 0, 0, 0, NULL)", START + from)
    };
    let sessions = [
        (insert(HOUR - 1, "NULL"), "begins before the one before it ends"),
        (insert(-1, &(START - 1).to_string()), "begins outside of all runs"),
        (insert(3 * HOUR, "NULL"), "begins outside of all runs"),
        (format!("UPDATE session SET to_ms = {}", START + 2 * HOUR), "ends outside of all runs"),
        ("UPDATE session SET to_ms = from_ms".into(), "ends before it begins"),
        ("UPDATE session SET doubt_ms = 3600001".into(), "more doubt than it lasts"),
        ("UPDATE session SET unused_share_ms = 3600001".into(), "larger share than it lasts"),
    ];
    for (damage, expected) in sessions {
        assert_found(&damage, expected);
    }
}
