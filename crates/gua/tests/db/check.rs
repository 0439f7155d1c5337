//! Findings, and the exit code. What is verified is tested in the crate of the record.

use super::{gua, lab, sql};

#[test]
fn sound_database_is_ok() {
    let (_dir, path) = lab();
    let run = gua(&path, &["check"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"ok: [DIR]/gua.db: layout 11, 2 runs, 28 fine rows, 4 hour rows, 0 sessions, 15 samples");
    insta::assert_snapshot!(gua(&path, &["check", "--json"]).stdout, @r#"
    {
      "schema": "gua.db_check/2",
      "path": "[DIR]/gua.db",
      "schema_version": 11,
      "ok": true,
      "rows": {
        "card": 2,
        "card_hour": 2,
        "card_span": 15,
        "event": 0,
        "gap": 0,
        "holder": 2,
        "holder_hour": 2,
        "holder_span": 13,
        "latest": 2,
        "person": 2,
        "policy_log": 0,
        "policy_state": 0,
        "process": 2,
        "push": 0,
        "run": 2,
        "sample": 15,
        "session": 0,
        "sign_span": 0,
        "total": 0,
        "workload": 0
      },
      "finding_count": 0,
      "findings": []
    }
    "#);
}

#[test]
fn findings_are_named_and_the_exit_code_is_1() {
    let (_dir, path) = lab();
    sql(
        &path,
        "UPDATE card_span SET active_ms = 25000 WHERE active_ms > 0 AND from_ms = 1767229080000;",
    );
    let run = gua(&path, &["check"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stdout, @"
    not ok: [DIR]/gua.db: 3 findings in layout 11, 2 runs, 28 fine rows, 4 hour rows, 0 sessions, 15 samples
    2026-01-01T00:00:00.000Z: rows of the hour are not the sum of its fine rows
    2026-01-01T00:58:00.000Z: times of card 1 add up to 25000 of 30000 ms
    2026-01-01T00:58:00.000Z: active shares of card 1 are 30000 of 25000 ms
    ");
    let json = gua(&path, &["check", "--json"]);
    assert_eq!(json.code, Some(1));
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["ok"], false);
    insta::assert_snapshot!(json["findings"][0], @r#"{"detail":"rows of the hour are not the sum of its fine rows","from":"2026-01-01T00:00:00Z"}"#);
}

#[test]
fn no_more_than_a_hundred_findings_are_shown() {
    let (_dir, path) = lab();
    sql(
        &path,
        "INSERT INTO session
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
             SELECT i, 1, i - 1, 1, 0, 0, 0, 0, 0 FROM n",
    );
    let run = gua(&path, &["check"]);
    assert_eq!(run.stdout.lines().count(), 102, "{}", run.stdout);
    assert!(run.stdout.ends_with(" more\n"), "{}", run.stdout);
}
