//! What is too old goes, a little at a time, and nothing else.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use gua::classify::State;
use gua::ledger::Period;
use gua::store::{self, Finding, History, Keep, RecorderLock, Retention};
use probe::units::UnixMillis;

use super::{HOUR, MINUTE, Recording, card, gua, lab};
use crate::machine::{program, run};

const DAY: i64 = 24 * HOUR;

fn days(days: u64) -> Duration {
    Duration::from_secs(days * 86_400)
}

fn number(path: &Path, query: &str) -> i64 {
    let database = rusqlite::Connection::open(path).unwrap();
    database.query_row(query, [], |row| row.get(0)).unwrap()
}

/// All that a report could ask for of a window.
fn told(path: &Path, window: Period) -> Vec<String> {
    let history = History::open(path).unwrap();
    let mut told: Vec<_> =
        history.observed(window).unwrap().iter().map(|span| format!("{span:?}")).collect();
    history.card_spans(window, |span| told.push(format!("{span:?}"))).unwrap();
    history.owner_spans(window, |span| told.push(format!("{span:?}"))).unwrap();
    told
}

fn none_found(path: &Path) {
    assert_eq!(store::check(path).unwrap().findings, Vec::<Finding>::new());
}

/// One card with a tick every 20 minutes and another holder every 5 hours.
fn record_day(run: &mut Recording, day: i64) {
    run.writer.begin_batch().unwrap();
    for tick in 0..72 {
        let pid = u32::try_from(day * 5 + tick / 15).unwrap() + 1;
        let user = format!("user{}", day / 7);
        let state = if tick % 7 < 4 { State::Active } else { State::IdleHeld };
        run.tick(20 * MINUTE, vec![card(0, state, &[(pid, &user, "python", 9_000)])]);
    }
    run.writer.commit_batch().unwrap();
}

/// The law of retention: the file stops growing, and what is kept is as it was.
#[test]
fn a_file_stops_growing_and_the_kept_window_is_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let (path, all) = (dir.path().join("gua.db"), dir.path().join("all.db"));
    let start = 1_700_000_000_000 / DAY * DAY;
    let mut pruned = Recording::begin(&path, start);
    let mut whole = Recording::begin(&all, start);
    let mut retention = Retention::new(Keep { samples: days(3), spans: days(10) });
    let mut pages = Vec::new();
    for day in 0..500 {
        record_day(&mut pruned, day);
        if day >= 480 {
            // What is compared is only the end.
            whole.at = whole.at.max(pruned.at - DAY);
            record_day(&mut whole, day);
        }
        let now = UnixMillis(pruned.at);
        while pruned.writer.retain(&mut retention, now, None, 50).unwrap().more {}
        pages.push(number(&path, "SELECT page_count FROM pragma_page_count"));
    }
    let (settled, later) = (&pages[20..60], &pages[60..]);
    assert!(later.iter().max() <= settled.iter().max(), "{pages:?}");
    let window = Period::new(UnixMillis(pruned.at - 10 * DAY), UnixMillis(pruned.at));
    assert!(!told(&path, window).is_empty());
    // The numbers of identities are another file's own.
    let times = |told: Vec<String>| -> Vec<String> {
        told.into_iter().map(|span| span.split("period").nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(times(told(&path, window)), times(told(&all, window)));
    none_found(&path);
    for (table, most) in [("process", 60), ("holder", 60), ("identity", 4), ("run", 1), ("card", 1)]
    {
        let count = number(&path, &format!("SELECT count(*) FROM {table}"));
        assert!(count >= 1 && count <= most, "{table}: {count}");
    }
}

/// At every step the file is as it must be, and what is to be kept is as before.
#[test]
fn every_step_is_small_and_leaves_a_good_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let start = 1_700_000_000_000 / DAY * DAY;
    let mut run = Recording::begin(&path, start);
    // Who was there on the first day is gone on the others.
    [0, 8, 9, 10, 11, 12].into_iter().for_each(|day| record_day(&mut run, day));
    let window = Period::new(UnixMillis(run.at - 2 * DAY), UnixMillis(run.at));
    let before = told(&path, window);
    let mut retention = Retention::new(Keep { samples: days(1), spans: days(2) });
    let mut steps = 0;
    loop {
        let step = run.writer.retain(&mut retention, UnixMillis(run.at), None, 60).unwrap();
        assert!(step.deleted.total() <= 130, "{step:?}");
        none_found(&path);
        assert_eq!(told(&path, window), before);
        steps += 1;
        if !step.more {
            break;
        }
    }
    assert!(steps > 10, "{steps}");
    // Recording goes on, also with names that went meanwhile.
    record_day(&mut run, 13);
    record_day(&mut run, 0);
    run.end();
    none_found(&path);
}

/// Samples may be kept for longer than spans.
#[test]
fn the_other_way_round_is_good_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let mut run = Recording::begin(&path, 1_700_000_000_000 / DAY * DAY);
    (0..5).for_each(|day| record_day(&mut run, day));
    let mut retention = Retention::new(Keep { samples: days(3), spans: days(1) });
    while run.writer.retain(&mut retention, UnixMillis(run.at), None, 100).unwrap().more {
        none_found(&path);
    }
    run.end();
    none_found(&path);
}

/// A clock that once showed the future must not stop it for ever.
#[test]
fn ticks_from_the_future_do_not_keep_those_after_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let now = 1_700_000_000_000 / DAY * DAY;
    let mut run = Recording::begin(&path, now + 9_000 * DAY);
    record_day(&mut run, 0);
    run.end();
    let mut run = Recording::begin(&path, now - 5 * DAY);
    (0..5).for_each(|day| record_day(&mut run, day));
    let mut retention = Retention::new(Keep { samples: days(1), spans: days(2) });
    while run.writer.retain(&mut retention, UnixMillis(now), None, 100).unwrap().more {}
    run.end();
    assert_eq!(number(&path, "SELECT count(*) FROM tick WHERE run = 1"), 72);
    assert_eq!(number(&path, "SELECT count(*) FROM tick WHERE run = 2"), 73);
    none_found(&path);
}

/// Where the recorder died long ago, its open spans still end at its last tick.
#[test]
fn the_last_tick_stays_however_old() {
    let (_dir, path) = lab();
    let run = gua(&path, &["prune", "--keep-samples", "1s", "--keep-spans", "99999d", "--yes"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(number(&path, "SELECT count(*) FROM tick"), 1);
    none_found(&path);
    let row = gua(&path, &["export", "--format", "jsonl", "--from", "2026-01-01T01:30:00Z"]).stdout;
    assert!(row.contains(r#""seconds":30.0"#), "{row}");
}

#[test]
fn the_command_says_before_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let mut run = Recording::begin(&path, 1_700_000_000_000 / DAY * DAY);
    (0..30).for_each(|day| record_day(&mut run, day));
    run.end();
    let size = || std::fs::metadata(&path).unwrap().len();
    let before = size();
    insta::assert_snapshot!(gua(&path, &["prune", "--yes", "--keep-spans", "99999d"]).stdout, @r"
    [DIR]/gua.db: 4318 rows deleted; 328.0 KiB before, 208.0 KiB now
    Rows: sample 2159, tick 2159.
    ");
    let json = gua(&path, &["prune", "--yes", "--json"]);
    insta::assert_snapshot!(json.stdout, @r#"
    {
      "schema": "gua.db_prune/1",
      "path": "[DIR]/gua.db",
      "deleted_rows": 3605,
      "deleted_rows_by_table": {
        "card_span": 1140,
        "holder": 150,
        "holder_span": 720,
        "identity": 5,
        "observed": 720,
        "owner_span": 720,
        "process": 150
      },
      "before_bytes": 212992,
      "after_bytes": 131072,
      "keep_samples_seconds": 2592000.0,
      "keep_spans_seconds": 34560000.0,
      "names_left": false,
      "older_kept": null
    }
    "#);
    assert!(size() < before / 2, "{before} → {}", size());
    none_found(&path);
}

/// A recorder goes on meanwhile, and its names stay what they are.
#[test]
fn beside_a_recorder_only_rows_go() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let now = UnixMillis::from(SystemTime::now()).0;
    let mut run = Recording::begin(&path, now - 60 * DAY);
    let _lock = RecorderLock::take(&path).unwrap();
    (0..60).for_each(|day| record_day(&mut run, day));
    let holders = number(&path, "SELECT count(*) FROM holder");
    let mut prune =
        program(&["db", "prune", "--yes", "--keep-samples", "20d", "--keep-spans", "20d", "--db"])
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    while prune.try_wait().unwrap().is_none() {
        let last = card(0, State::Active, &[(1, "ann", "python", 9_000)]);
        run.tick(1_000, vec![last]);
        // A recorder leaves others some time; without any, nobody else would ever get in.
        std::thread::sleep(Duration::from_millis(2));
    }
    let pruned = prune.wait_with_output().unwrap();
    assert_eq!((pruned.status.code(), pruned.stderr.len()), (Some(0), 0));
    let told = String::from_utf8(pruned.stdout).unwrap();
    assert!(told.contains("\nA recorder writes to it;"), "{told}");
    assert!(number(&path, "SELECT count(*) FROM holder") > holders);
    assert!(number(&path, "SELECT min(at_ms) FROM tick") >= now - 20 * DAY - HOUR);
    run.end();
    none_found(&path);
}

/// Regression: samples were cut to what spans were kept for, and nobody was told.
#[test]
fn samples_that_would_outlast_spans_are_refused_or_told() {
    let (_dir, path) = lab();
    let ticks = || number(&path, "SELECT count(*) FROM tick");
    for more in [&["--keep-samples", "10d", "--keep-spans", "1d"][..], &["--keep-samples", "999d"]]
    {
        let refused = gua(&path, &[&["prune"], more].concat());
        assert_eq!((refused.code, refused.stdout.as_str(), ticks()), (Some(2), "", 10));
        let next = "Samples are held against spans: keep spans as long (--keep-spans)";
        assert!(refused.stderr.contains(next), "{refused:?}");
    }
    let refused = gua(&path, &["prune", "--keep-samples", "10d", "--keep-spans", "1d"]);
    insta::assert_snapshot!(refused.stderr);
    let told = gua(&path, &["prune", "--keep-spans", "1d", "--yes"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let told = told.stderr.lines().next().unwrap();
    insta::assert_snapshot!(told);
}

/// Regression: of time that was recorded and pruned, a report said that nobody had recorded.
#[test]
fn what_is_no_longer_kept_is_not_a_time_in_which_nobody_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let now = UnixMillis::from(SystemTime::now()).0 / HOUR * HOUR;
    for start in [now - 5 * DAY, now - 4 * DAY, now - DAY] {
        let mut run = Recording::begin(&path, start);
        record_day(&mut run, 0);
        run.end();
    }
    let pruned = gua(&path, &["prune", "--yes", "--keep-spans", "1d", "--keep-samples", "1d"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert_eq!(number(&path, "SELECT count(*) FROM run"), 2, "the first and the last");
    let db = path.to_str().unwrap();
    let told = run(program(&["report", "--since", "7d", "--json", "--db", db]));
    let json: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    let gaps = json["gaps"].as_array().unwrap();
    let at = |gap: &serde_json::Value, end: &str| -> jiff::Timestamp {
        gap[end].as_str().unwrap().parse().unwrap()
    };
    let days = |reason: &str| -> f64 {
        let of = gaps.iter().filter(|gap| gap["reason"] == reason);
        of.map(|gap| at(gap, "to").duration_since(at(gap, "from")).as_secs_f64()).sum::<f64>()
            / 86_400.0
    };
    assert!((3.9..4.1).contains(&days("not_kept")), "{gaps:?}");
    assert!((1.9..2.1).contains(&days("not_recorded")), "{gaps:?}");
    none_found(&path);
}

#[test]
fn to_keep_nothing_is_refused() {
    let (_dir, path) = lab();
    for option in ["--keep-samples", "--keep-spans"] {
        let mut command = program(&["db", "prune", option, "0s", "--db"]);
        command.arg(&path);
        let run = run(command);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
        assert!(run.stderr.contains("at least 1ms"), "{}", run.stderr);
    }
    assert_eq!(number(&path, "SELECT count(*) FROM tick"), 10);
}

/// Regression: a wrong clock and one command deleted a history.
#[test]
fn more_than_two_days_at_once_need_a_yes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let now = UnixMillis::from(SystemTime::now()).0 / HOUR * HOUR;
    let mut run = Recording::begin(&path, now - 10 * DAY);
    (0..10).for_each(|day| record_day(&mut run, day));
    run.end();
    let keep = |days: &'static str, more: &'static [&'static str]| {
        gua(&path, &[&["prune", "--keep-samples", days, "--keep-spans", days], more].concat())
    };
    let before = std::fs::read(&path).unwrap();
    for json in [&[][..], &["--json"]] {
        let refused = keep("7d", json);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
        let from = jiff::Timestamp::from_millisecond(now - 10 * DAY).unwrap();
        assert!(refused.stderr.contains(&format!("spans from {from} to ")), "{refused:?}");
        assert!(refused.stderr.contains(" observed 72,"), "{refused:?}");
        assert!(refused.stderr.contains(" sample 215, tick 215"), "{refused:?}");
        let next = "It is more than two days of history. Nothing was deleted; --yes deletes it.";
        assert!(refused.stderr.contains(next), "{refused:?}");
        assert!(std::fs::read(&path).unwrap() == before, "the file is as it was");
    }
    let pruned = keep("8d", &[]);
    assert_eq!((pruned.code, pruned.stderr.as_str()), (Some(0), ""), "two days: {pruned:?}");
    let pruned = keep("1d", &["--yes"]);
    assert_eq!((pruned.code, pruned.stderr.as_str()), (Some(0), ""), "{pruned:?}");
    assert_eq!(number(&path, "SELECT min(from_ms) FROM observed"), now - DAY);
    none_found(&path);
}

#[test]
fn clock_ahead_of_the_newest_record_needs_a_yes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let now = UnixMillis::from(SystemTime::now()).0 / HOUR * HOUR;
    let mut run = Recording::begin(&path, now - 31 * DAY);
    record_day(&mut run, 0);
    run.end();
    let keep = ["prune", "--keep-samples", "1d", "--keep-spans", "1d"];
    let said = " is 30 days ahead of the newest record: is it right?";
    let refused = gua(&path, &keep);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains(said), "{refused:?}");
    let to = jiff::Timestamp::from_millisecond(now - 30 * DAY).unwrap();
    assert!(refused.stderr.contains(&format!(" to {to};")), "up to the last row: {refused:?}");
    assert!(!refused.stderr.contains("two days"), "{refused:?}");
    assert_eq!(number(&path, "SELECT count(*) FROM tick"), 72);
    let pruned = gua(&path, &[&keep[..], &["--yes"]].concat());
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert!(pruned.stderr.contains(said), "{pruned:?}");
    assert_eq!(number(&path, "SELECT count(*) FROM tick"), 1);
    // Nothing is left to delete, and nothing to ask.
    let again = gua(&path, &keep);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "{again:?}");
}
