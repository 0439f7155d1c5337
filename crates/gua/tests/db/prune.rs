//! Rows that are too old are summed up and deleted, and nothing else.

use std::path::Path;
use std::time::SystemTime;

use gua_core::units::UnixMillis;
use gua_store::Database;

use super::{DAY, HOUR, gua, lab, record_days};
use crate::history::{Recording, card};

fn number(path: &Path, query: &str) -> i64 {
    let database = rusqlite::Connection::open(path).unwrap();
    database.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Returns the begin of this hour.
fn this_hour() -> i64 {
    UnixMillis::from(SystemTime::now()).0 / HOUR * HOUR
}

fn assert_sound(path: &Path) {
    assert_eq!(Database::open(path).unwrap().check().unwrap(), []);
}

/// Options that keep nothing longer than a number of days.
fn keep(days: &str) -> [String; 4] {
    ["exact", "quarters", "hours", "samples"].map(|kind| format!("--keep-{kind}={days}"))
}

fn prune(path: &Path, days: &str, more: &[&str]) -> crate::machine::Run {
    let keep = keep(days);
    let keep: Vec<&str> = keep.iter().map(String::as_str).collect();
    gua(path, &[&["prune"], &keep[..], more].concat())
}

#[test]
fn deleted_rows_and_sizes_are_printed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    record_days(&path, 1_700_000_000_000 / DAY * DAY, 30);
    let size = || std::fs::metadata(&path).unwrap().len();
    let before = size();
    let run = gua(&path, &["prune", "--yes", "--keep-hours", "36500d"]);
    insta::assert_snapshot!(run.stdout, @"
    [DIR]/gua.db: 8,683 rows deleted; 680.0 KiB before, 260.0 KiB now
    Rows: card_span 4,320, holder_span 4,320, person 13, sample 30.
    ");
    let json = gua(&path, &["prune", "--yes", "--json"]);
    insta::assert_snapshot!(json.stdout, @r#"
    {
      "schema": "gua.db_prune/2",
      "path": "[DIR]/gua.db",
      "deleted_rows": 1844,
      "deleted_rows_by_table": {
        "card_hour": 720,
        "holder": 29,
        "holder_hour": 720,
        "person": 29,
        "process": 29,
        "session": 317
      },
      "before_bytes": 266240,
      "after_bytes": 172032,
      "keep_exact_seconds": 172800.0,
      "keep_quarters_seconds": 2592000.0,
      "keep_hours_seconds": 34560000.0,
      "keep_samples_seconds": 604800.0,
      "are_names_left": false
    }
    "#);
    assert!(size() < before / 2, "{before} → {}", size());
    assert_sound(&path);
}

#[test]
fn dry_run_shows_the_rows_and_deletes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    record_days(&path, 1_700_000_000_000 / DAY * DAY, 5);
    let before = std::fs::read(&path).unwrap();
    let run = gua(&path, &["prune", "--dry-run"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let (rows, clock) = run.stdout.split_once("The clock").unwrap();
    insta::assert_snapshot!(rows, @"
    [DIR]/gua.db: this would delete rows from 2023-11-14T00:00:00Z to 2023-11-19T00:00:00Z (card_hour 120, card_span 720, holder_hour 120, holder_span 720, sample 5, session 52).
    It is more than two days of history.
    ");
    assert!(clock.contains(" ahead of the newest record: is it right?"), "{clock}");
    let json = gua(&path, &["prune", "--dry-run", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["schema"], "gua.db_prune_plan/1");
    assert_eq!(json["is_much"], true);
    let due = serde_json::json!({
        "rows": 120,
        "oldest": "2023-11-14T00:00:00Z",
        "newest": "2023-11-18T23:00:00Z",
    });
    assert_eq!(json["due"]["card_hour"], due);
    assert!(std::fs::read(&path).unwrap() == before);
    let (_dir, path) = lab();
    let run = gua(
        &path,
        &[
            "prune",
            "-n",
            "--keep-hours",
            "36500d",
            "--keep-quarters",
            "36500d",
            "--keep-exact",
            "36500d",
            "--keep-samples",
            "36500d",
        ],
    );
    assert_eq!(run.stdout, "[DIR]/gua.db: no row is too old\n");
}

/// The names keep their ids: a recorder that is running remembers them.
#[test]
fn beside_a_recorder_only_rows_go() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let now = this_hour();
    record_days(&path, now - 30 * DAY, 29);
    let holders = || number(&path, "SELECT count(*) FROM holder");
    let before = holders();
    let mut run = Recording::begin(&path, now - HOUR, 30_000);
    run.tick(30_000, &[card("NVIDIA H100", 80.0).held_by("ann", 1000, 9_000)]);
    let pruned = prune(&path, "20d", &["--yes"]);
    assert_eq!((pruned.code, pruned.stderr.as_str()), (Some(0), ""));
    assert!(pruned.stdout.contains("\nA recorder writes to the database:"), "{}", pruned.stdout);
    assert!(holders() >= before);
    assert!(number(&path, "SELECT min(from_ms) FROM card_hour") >= now - 20 * DAY - HOUR);
    run.tick(30_000, &[card("NVIDIA H100", 80.0).held_by("ann", 1000, 9_000)]);
    run.end("stopped");
    assert_sound(&path);
}

/// Regression: rows were kept for less than asked for, and nobody was told.
#[test]
fn rows_that_would_outlast_their_sums_are_refused_or_named() {
    let (_dir, path) = lab();
    let rows = || number(&path, "SELECT count(*) FROM card_span");
    let before = rows();
    let refused = gua(&path, &["prune", "--keep-quarters", "10d", "--keep-hours", "1d"]);
    assert_eq!((refused.code, refused.stdout.as_str(), rows()), (Some(2), "", before));
    insta::assert_snapshot!(refused.stderr, @"
    gua: `--keep-quarters 10d` is too long: `hours` are kept for 1d (flag --keep-hours)
         Rows are summed up as `hours`: keep those as long (--keep-hours), or `quarters` no longer.
    ");
    let refused = gua(&path, &["prune", "--keep-exact", "31d"]);
    assert_eq!((refused.code, rows()), (Some(2), before), "{refused:?}");
    let run = gua(&path, &["prune", "--keep-hours", "1d", "--yes"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    insta::assert_snapshot!(run.stderr.lines().next().unwrap(), @"gua: `quarters` is 1d instead of 30d (default), as `hours` are kept for 1d (flag --keep-hours)");
}

#[test]
fn keeping_nothing_is_refused() {
    let (_dir, path) = lab();
    let before = std::fs::read(&path).unwrap();
    for option in ["--keep-exact", "--keep-quarters", "--keep-hours", "--keep-samples"] {
        let run = gua(&path, &["prune", option, "0s"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
        assert!(run.stderr.contains("at least 1ms"), "{}", run.stderr);
    }
    assert!(std::fs::read(&path).unwrap() == before);
}

/// Regression: a wrong clock and one command deleted a history.
#[test]
fn more_than_two_days_at_once_need_a_yes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let now = this_hour();
    record_days(&path, now - 10 * DAY, 10);
    let before = std::fs::read(&path).unwrap();
    for json in [&[][..], &["--json"]] {
        let refused = prune(&path, "7d", json);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
        let from = jiff::Timestamp::from_millisecond(now - 10 * DAY).unwrap();
        let expected = format!("this would delete rows from {from} to ");
        assert!(refused.stderr.contains(&expected), "{refused:?}");
        assert!(refused.stderr.contains("card_hour 72"), "{refused:?}");
        let next = "It is more than two days of history. Nothing was deleted; --yes deletes it.";
        assert!(refused.stderr.contains(next), "{refused:?}");
        assert!(std::fs::read(&path).unwrap() == before, "the file is as it was");
    }
    let pruned = prune(&path, "8d", &[]);
    assert_eq!((pruned.code, pruned.stderr.as_str()), (Some(0), ""), "two days: {pruned:?}");
    let pruned = prune(&path, "1d", &["--yes"]);
    assert_eq!((pruned.code, pruned.stderr.as_str()), (Some(0), ""), "{pruned:?}");
    assert_eq!(number(&path, "SELECT min(from_ms) FROM card_hour"), now - DAY);
    assert_sound(&path);
}

#[test]
fn clock_ahead_of_the_newest_record_needs_a_yes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let now = this_hour();
    record_days(&path, now - 31 * DAY, 1);
    let expected = " is 30 days ahead of the newest record: is it right?";
    let refused = prune(&path, "1d", &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains(expected), "{refused:?}");
    assert!(!refused.stderr.contains("two days"), "{refused:?}");
    assert_eq!(number(&path, "SELECT count(*) FROM card_hour"), 24);
    let pruned = prune(&path, "1d", &["--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert!(pruned.stderr.contains(expected), "{pruned:?}");
    assert_eq!(number(&path, "SELECT count(*) FROM card_hour"), 0);
    // Nothing is left to delete, so there is nothing to confirm.
    let again = prune(&path, "1d", &[]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "{again:?}");
}
