//! Each rule is broken alone, and exactly that is found.

use gua::store::{self, Finding, SpanId, Table};
use probe::units::UnixMillis;

use super::{HOUR, MINUTE, START, gua, lab, sql};

/// What is found after this was done to a good database.
fn found(change: &str) -> Vec<Finding> {
    let (_dir, path) = lab();
    assert_eq!(store::check(&path).unwrap().findings, []);
    sql(&path, change);
    let check = store::check(&path).unwrap();
    assert_eq!(check.finding_count, check.findings.len() as u64);
    check.findings
}

fn span(table: Table, from: i64, id: i64, run: i64) -> SpanId {
    SpanId { table, from: UnixMillis(from), id, run }
}

#[test]
fn what_the_writer_made_is_ok() {
    let (_dir, path) = lab();
    let run = gua(&path, &["check"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"ok: [DIR]/gua.db: layout 4, 2 runs, 17 spans, 10 ticks, 18 samples");
    insta::assert_snapshot!(gua(&path, &["check", "--json"]).stdout, @r#"
    {
      "schema": "gua.db_check/1",
      "path": "[DIR]/gua.db",
      "layout": 4,
      "ok": true,
      "run_count": 2,
      "span_count": 17,
      "tick_count": 10,
      "sample_count": 18,
      "finding_count": 0,
      "findings": []
    }
    "#);
}

#[test]
fn findings_are_told_and_the_exit_code_is_1() {
    let (_dir, path) = lab();
    sql(&path, "UPDATE holder_span SET length_ms = 0, state = 7 WHERE holder = 1;");
    let run = gua(&path, &["check"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stdout, @"
    not ok: [DIR]/gua.db: 3 findings in layout 4, 2 runs, 17 spans, 10 ticks, 18 samples
    length: holder_span 1 of run 1 from 2026-01-01T00:58:00.000Z is 0 ms long: it must be more than 0 and end within its hour
    length: holder_span 1 of run 1 from 2026-01-01T01:00:00.000Z is 0 ms long: it must be more than 0 and end within its hour
    unknown_state: holder_span has the state 7, which nobody knows
    ");
    insta::assert_snapshot!(gua(&path, &["check", "--json"]).stdout, @r#"
    {
      "schema": "gua.db_check/1",
      "path": "[DIR]/gua.db",
      "layout": 4,
      "ok": false,
      "run_count": 2,
      "span_count": 17,
      "tick_count": 10,
      "sample_count": 18,
      "finding_count": 3,
      "findings": [
        {
          "kind": "length",
          "detail": "holder_span 1 of run 1 from 2026-01-01T00:58:00.000Z is 0 ms long: it must be more than 0 and end within its hour"
        },
        {
          "kind": "length",
          "detail": "holder_span 1 of run 1 from 2026-01-01T01:00:00.000Z is 0 ms long: it must be more than 0 and end within its hour"
        },
        {
          "kind": "unknown_state",
          "detail": "holder_span has the state 7, which nobody knows"
        }
      ]
    }
    "#);
}

#[test]
fn more_than_a_hundred_findings_are_counted() {
    let (_dir, path) = lab();
    sql(
        &path,
        "INSERT INTO event (run, at_ms, kind, detail)
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
             SELECT 99, i, 'card', '' FROM n",
    );
    let run = gua(&path, &["check"]);
    assert_eq!(run.stdout.lines().count(), 102);
    assert!(run.stdout.ends_with("\nand 50 more\n"), "{}", run.stdout);
}

#[test]
fn a_row_that_names_one_that_is_not_there() {
    for parent in ["identity", "workload"] {
        let change = format!("UPDATE process SET {parent} = 77 WHERE id = 1");
        let expected = Finding::Reference { table: "process".into(), parent: parent.into() };
        assert_eq!(found(&change), [expected]);
    }
}

#[test]
fn a_span_without_length_or_over_a_full_hour() {
    let id = span(Table::HolderSpan, START, 1, 1);
    for millis in [0, -5, 2 * MINUTE + 1, i64::MAX / 2] {
        let change = format!(
            "UPDATE holder_span SET length_ms = {millis} WHERE from_ms = {START} AND holder = 1"
        );
        assert_eq!(found(&change), [Finding::Length { span: id, millis }]);
    }
}

#[test]
fn an_open_span_of_a_run_that_ended() {
    let change =
        format!("UPDATE holder_span SET length_ms = NULL WHERE from_ms = {START} AND holder = 1");
    assert_eq!(found(&change), [Finding::Open(span(Table::HolderSpan, START, 1, 1))]);
}

#[test]
fn two_spans_of_one_thing_at_one_time() {
    let from = START + 1;
    let change = format!(
        "INSERT INTO holder_span (from_ms, holder, run, state, length_ms) VALUES ({from}, 1, 1, 0, 5)"
    );
    let expected = Finding::Overlap {
        span: span(Table::HolderSpan, from, 1, 1),
        other_from: UnixMillis(START),
    };
    assert_eq!(found(&change), [expected]);
}

/// A run that went back may speak for the same time again.
#[test]
fn two_runs_at_one_time() {
    let from = START + 1;
    let change = format!("INSERT INTO observed (from_ms, run, length_ms) VALUES ({from}, 2, 5);");
    let expected = Finding::OverlapOfRuns { span: span(Table::Observed, from, 0, 2), other_run: 1 };
    assert_eq!(found(&change), [expected]);
    let change = format!("{change} UPDATE run SET goes_back = 1 WHERE id = 2;");
    assert_eq!(found(&change), []);
}

#[test]
fn a_part_without_its_whole() {
    let after = START + 10 * MINUTE;
    let cases = [
        (
            "owner_span (from_ms, card, identity, run, state, length_ms)",
            "1, 1, 1, 0, 5",
            Table::OwnerSpan,
        ),
        ("holder_span (from_ms, holder, run, state, length_ms)", "1, 1, 0, 5", Table::HolderSpan),
        (
            "unseen_span (from_ms, card, run, memory_kib, length_ms)",
            "1, 1, 9, 5",
            Table::UnseenSpan,
        ),
    ];
    for (into, values, table) in cases {
        let change = format!("INSERT INTO {into} VALUES ({after}, {values})");
        assert_eq!(found(&change), [Finding::Uncovered(span(table, after, 1, 1))]);
    }
}

/// It is a part of no observed time, and no sample counts it.
#[test]
fn a_card_that_nobody_observed() {
    let after = START + 10 * MINUTE;
    let change = format!(
        "INSERT INTO card_span (from_ms, card, run, state, length_ms) VALUES ({after}, 1, 1, 0, 5)"
    );
    let uncovered = Finding::Uncovered(span(Table::CardSpan, after, 1, 1));
    let sum = Finding::StateSum {
        run: 1,
        card: 1,
        code: 0,
        samples_millis: 210_000,
        spans_millis: 210_005,
    };
    assert_eq!(found(&change), [uncovered, sum]);
}

#[test]
fn observed_time_that_no_tick_covers() {
    let change = format!(
        "UPDATE observed SET length_ms = length_ms + 1 WHERE run = 1 AND from_ms > {START}"
    );
    let expected = Finding::ObservedSum { run: 1, ticks_millis: 210_000, spans_millis: 210_001 };
    assert_eq!(found(&change), [expected]);
}

#[test]
fn a_state_that_the_samples_do_not_count() {
    let expected = Finding::StateSum {
        run: 1,
        card: 1,
        code: 0,
        samples_millis: 180_000,
        spans_millis: 210_000,
    };
    assert_eq!(found("DELETE FROM sample WHERE tick = 3 AND card = 1"), [expected]);
}

#[test]
fn ticks_out_of_order() {
    let change = "UPDATE tick SET at_ms = (SELECT at_ms FROM tick WHERE id = 3) WHERE id = 4";
    assert_eq!(found(change), [Finding::TickOrder { run: 1, tick: 4 }]);
}

#[test]
fn a_tick_that_covers_less_than_nothing() {
    let change = "UPDATE tick SET covers_ms = -5 WHERE id = 1";
    assert_eq!(found(change), [Finding::TickCovers { tick: 1, millis: -5 }]);
}

#[test]
fn states_that_nobody_knows() {
    let change = "UPDATE holder_span SET state = 7; UPDATE owner_span SET state = -1";
    let expected = [(Table::OwnerSpan, -1), (Table::HolderSpan, 7)];
    assert_eq!(found(change), expected.map(|(table, code)| Finding::UnknownState { table, code }));
}

/// A state and its samples may be wrong together.
#[test]
fn a_state_that_nobody_knows_in_the_samples_too() {
    let change =
        "UPDATE sample SET state = 9 WHERE card = 1; UPDATE card_span SET state = 9 WHERE card = 1";
    let expected = [Table::CardSpan, Table::Sample];
    assert_eq!(found(change), expected.map(|table| Finding::UnknownState { table, code: 9 }));
}

/// Imported ticks count for something else than the time between them.
#[test]
fn what_is_counted_is_held_against_the_ticks() {
    let import = "UPDATE observed SET counted_ms = length_ms + 7 WHERE run = 1;
        UPDATE card_span SET counted_ms = length_ms WHERE run = 1;";
    let expected = Finding::ObservedSum { run: 1, ticks_millis: 210_000, spans_millis: 210_014 };
    assert_eq!(found(import), [expected]);
    let both = format!("{import} UPDATE observed SET counted_ms = length_ms WHERE run = 1;");
    assert_eq!(found(&both), []);
}

/// Times that no clock shows must not make it run for ever or fall over.
#[test]
fn absurd_times_are_found() {
    for from in [i64::MIN, i64::MAX - HOUR, i64::MAX] {
        let change = format!(
            "INSERT INTO observed (from_ms, run, length_ms) VALUES ({from}, 1, {})",
            i64::MAX
        );
        let _ = found(&change);
    }
    let absurd = format!("UPDATE tick SET at_ms = {}, covers_ms = {}", i64::MIN, i64::MAX);
    assert_ne!(found(&absurd), []);
}
