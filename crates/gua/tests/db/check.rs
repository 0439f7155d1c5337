//! Findings, and the exit code. What is verified is tested in the crate of the record.

use super::{gua, lab, sql};

#[test]
fn sound_database_is_ok() {
    let (_dir, path) = lab();
    let run = gua(&path, &["check"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"");
    insta::assert_snapshot!(gua(&path, &["check", "--json"]).stdout, @"");
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
    insta::assert_snapshot!(run.stdout, @"");
    let json = gua(&path, &["check", "--json"]);
    assert_eq!(json.code, Some(1));
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["ok"], false);
    insta::assert_snapshot!(json["findings"][0], @"");
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
