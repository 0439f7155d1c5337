//! `gua demo`: the report on a machine that does not exist.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::machine::{NOW, Run, in_process_without_cards, program, run};

const AT: [&str; 2] = ["--at", "2026-11-15T20:00:00Z"];
const FULL_WEEK: [&str; 4] = ["--days", "7", AT[0], AT[1]];
/// The same week with another interval.
const WEEK: [&str; 6] = ["--days", "7", AT[0], AT[1], "--interval", "2m"];

fn demo(args: &[&str]) -> Run {
    in_process_without_cards(&[&["demo"], args].concat())
}

fn json(args: &[&str]) -> Value {
    let run = demo(&[args, &["--json"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

/// The demo kept in a file.
fn kept(path: &Path, args: &[&str]) -> Run {
    demo(&[args, &["--db", path.to_str().unwrap()]].concat())
}

#[test]
fn three_cards() {
    let run = demo(&AT);
    assert_eq!(run.code, Some(0), "{run:?}");
    insta::assert_snapshot!(run.stdout, @"
    gua — lab-a100 (driver 560.35.05)
    15 Nov 2026 19:45 → 20:00 UTC, 15m, 100.0 % observed

    §1 Headline
      basis: card time. A card is active during every 5 seconds whose mean
      utilization reaches the threshold, from the first to the last busy moment in
      them. Thresholds: active ≥ 10 % utilization, held > 100 MiB, working ≥ 1 % of
      the SMs.
      ████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░░░░░
      active      █  13.3 %  0.10 GPU-h
      idle-held   ▒  46.7 %  0.35 GPU-h
      truly-idle  ░  40.0 %  0.30 GPU-h
      energy: 0.071 kWh (active 0.033, idle-held 0.020, truly-idle 0.018)

    §2 Idle capacity
      idle-held   0.35 GPU-h, as much as 1.4 of 3 cards held all the time
      truly-idle  0.30 GPU-h, as much as 1.2 of 3 cards free all the time

    §3 Per-GPU
      #  card            active  idle-held  truly-idle    kWh
      0  A100-SXM4-80GB  40.0 %     40.0 %      20.0 %  0.042  ████████▒▒▒▒▒▒▒▒▒░░░░
      1  A100-SXM4-80GB   0.0 %    100.0 %       0.0 %  0.015  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
      2  A100-SXM4-80GB   0.0 %      0.0 %     100.0 %  0.014  ░░░░░░░░░░░░░░░░░░░░░

    §4 Accounts (GPU-hours; shared cards are split; columns add up to §1)
      user          active  idle-held  = unused  + low use  unknown  total  share
      bob                0       0.24      0.24          0        0   0.24   54 %
      alice           0.10       0.10      0.10          0        0   0.20   45 %
      unattributed       0       0.01      0.01          0        0   0.01    1 %
      all             0.10       0.35      0.35          0        0   0.45  100 %
      unused: memory held, no work. low use: work below 10 % of the card.

    Energy (kWh; accounts have that of active and idle-held)
      user           active  idle-held  truly-idle   total
      alice           0.033      0.006               0.039
      bob                        0.014               0.014
      unattributed              <0.001              <0.001
      of no account                          0.018   0.018
      all             0.033      0.020       0.018   0.071

    §5 Time-of-day heatmap (UTC)
           00       03       06       09       12       15       18       21
      Sun                                                           ░░░
      Mon
      Tue
      Wed
      Thu
      Fri
      Sat
      share of card time active: · none, ░ under 25 %, ▒ under 50 %, ▓ under 75 %, █
      more; blank: not observed

    Holding sessions
      commands are for lab-a100
      now, longest first
      idle  who           card   memory  what         pid  when
      ≥15m  bob              1  7.8 GiB  jupyter-l…  5678  since before 15 Nov 19:45
        → ask: `gua who --user bob`, end: `sudo kill 5678`
      ≥15m  unattributed     1  0.2 GiB  not known…  9999  since before 15 Nov 19:45

    Verdict
      Idle-held is 46.7 % of the observed card time, over the 20 % line: a matter of
      allocation, not of too few cards. It rests on little: 15 minutes, 100.0 % of
      the window.
      Two sessions make up 71.4 % of it:
      bob           jupyter-lab         card 1  ≥15m, still on  → gua who --user bob
      unattributed  not known (bare C…  card 1  ≥15m, still on
    ");
    insta::assert_snapshot!(run.stderr, @"
    gua: this history is made up, and not kept
         `gua demo --db PATH` keeps it.
    ");
}

/// Thirty ticks are thirty ticks' worth of time on each card, and the cycle is exact.
#[test]
fn every_tick_counts() {
    for (args, seconds) in [
        (&AT[..], 900.0),
        (&[&AT[..], &["--ticks", "5"]].concat(), 150.0),
        (&[&AT[..], &["--ticks", "1"]].concat(), 30.0),
        (&[&AT[..], &["--ticks", "2000", "--interval", "10s"]].concat(), 20_000.0),
        (&[&AT[..], &["--ticks", "4000", "--interval", "100ms"]].concat(), 400.0),
    ] {
        let report = json(args);
        assert_eq!(report["window"]["seconds"], seconds, "{args:?}");
        assert_eq!(report["window"]["observed_seconds"], seconds, "{args:?}");
        assert_eq!(report["gaps"].as_array().unwrap().len(), 0);
        let share =
            |card: usize, state: &str| report["cards"][card]["states"][state]["share"].clone();
        assert_eq!(share(1, "idle_held"), 1.0);
        assert_eq!(share(2, "truly_idle"), 1.0);
        // One tick shows no pause, and short pauses count as work.
        if seconds != 30.0 && seconds != 400.0 {
            assert_eq!(share(0, "active"), 0.4, "{args:?}");
            assert_eq!(share(0, "idle_held"), 0.4);
            assert_eq!(share(0, "truly_idle"), 0.2);
        }
    }
}

#[test]
fn without_a_time_it_ends_now() {
    assert_eq!(json(&[])["window"]["to"], NOW);
}

#[test]
fn with_a_time_it_prints_the_same_every_time() {
    for args in [&AT[..], &WEEK, &[&WEEK[..], &["--json"]].concat()] {
        let (first, second) = (demo(args), demo(args));
        assert_eq!(first.stdout, second.stdout);
        assert_eq!(first.stderr, second.stderr);
    }
}

#[test]
fn a_week_in_the_lab() {
    let report = json(&WEEK);
    assert_eq!(report["host"]["name"], "lab-a100");
    assert_eq!(report["host"]["driver_version"], "560.35.05");
    assert_eq!(report["window"]["seconds"], 7.0 * 86_400.0);
    let cards = report["cards"].as_array().unwrap();
    assert_eq!(cards.len(), 10, "seven whole cards, two instances and what these leave");
    let people = report["accounts"].as_array().unwrap();
    assert!(people.len() >= 12, "{people:?}");
    // Its driver offers the counters of instances.
    let instance = &cards[8]["states"];
    assert!(instance["active"]["share"].as_f64().unwrap() > 0.01, "{instance}");
    for state in ["active", "idle_held", "truly_idle", "unknown"] {
        assert!(report["states"][state]["gpu_hours"].as_f64().unwrap() > 0.5, "{state}");
    }
    assert_eq!(report["verdict"]["exceeded"], true);
    assert!(report["window"]["coverage"].as_f64().unwrap() > 0.95);
    let reasons: Vec<_> =
        report["gaps"].as_array().unwrap().iter().map(|gap| &gap["reason"]).collect();
    for reason in ["stopped", "crashed", "driver_gone"] {
        assert!(reasons.iter().any(|found| *found == reason), "{reasons:?}");
    }
}

/// The machine sleeps now and then too, and says so.
#[test]
fn a_month_has_a_sleep_in_it() {
    let report = json(&["--days", "20", AT[0], AT[1], "--interval", "5m"]);
    let gaps = report["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|gap| gap["reason"] == "suspended"), "{gaps:?}");
}

/// What happened on a date does not depend on how far back it is looked.
#[test]
fn a_day_is_the_same_in_a_week_as_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (week, day) = (dir.path().join("week.db"), dir.path().join("day.db"));
    assert_eq!(kept(&week, &WEEK).code, Some(0));
    assert_eq!(kept(&day, &["--days", "1", AT[0], AT[1], "--interval", "2m"]).code, Some(0));
    let last_day = |path: &Path| {
        let mut command = program(&["report", "--json", "--from", "2026-11-14T20:00:00Z"]);
        command.args(["--until", "2026-11-15T20:00:00Z", "--db"]).arg(path);
        let mut report: Value = serde_json::from_str(&run(command).stdout).unwrap();
        report["data"].take();
        // What began before that day is told from its beginning on, where that is known.
        report["sessions"].take();
        report["verdict"]["largest_sessions"]["sessions"].take();
        report
    };
    assert_eq!(last_day(&week), last_day(&day));
}

#[test]
fn a_history_that_is_kept_is_sound_and_can_be_reported_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/week.db");
    let made = kept(&path, &FULL_WEEK);
    assert_eq!(made.code, Some(0), "{made:?}");
    let told = made.stderr.replace(dir.path().to_str().unwrap(), "DIR");
    insta::assert_snapshot!(told, @"
    gua: this history is made up, and kept in DIR/new/week.db
         `gua report --db DIR/new/week.db --from 2026-11-08T20:00:00Z --until 2026-11-15T20:00:00Z` reports on it.
    ");
    let files: Vec<_> =
        fs::read_dir(dir.path().join("new")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["week.db"], "nothing is left beside it");
    let on_it = |args: &[&str]| {
        let mut command = program(args);
        command.arg("--db").arg(&path);
        run(command)
    };
    let check = on_it(&["db", "check"]);
    assert_eq!(check.code, Some(0), "{check:?}");
    let report = on_it(&["report", "--from", "2026-11-08T20:00:00Z", "--until", AT[1]]);
    assert_eq!(report.code, Some(0));
    // Of a week that is over nobody is still on a card, and nothing is to be typed.
    let (kept, shown) = (report.stdout, demo(&FULL_WEEK).stdout);
    let figures = |text: &str| text.split("\nHolding sessions").next().unwrap().to_owned();
    assert_eq!(figures(&kept), figures(&shown));
    assert!(shown.contains("\n  now, longest first\n"), "{shown}");
    assert!(kept.contains("\n  on at the end, longest first\n"), "{kept}");
}

/// A long history has rows of all kinds: exact spans, quarter hours and hours.
#[test]
fn long_history_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.db");
    let long = ["--days", "33", AT[0], AT[1]];
    assert_eq!(kept(&path, &long).code, Some(0));
    let mut command = program(&["db", "check", "--json", "--db"]);
    command.arg(&path);
    let check = run(command);
    assert_eq!(check.code, Some(0), "{check:?}");
    let database = rusqlite::Connection::open(&path).unwrap();
    let first_day = |table: &str, column: &str| -> i64 {
        let first = format!("SELECT min({column}) / 86400000 FROM {table}");
        database.query_row(&first, [], |row| row.get(0)).unwrap()
    };
    let (hours, samples) = (first_day("card_hour", "from_ms"), first_day("sample", "at_ms"));
    assert!(samples - hours >= 20, "{samples} {hours}");
}

/// What the recorder would have seen last is there for commands that do not look at the machine.
#[test]
fn kept_history_has_what_was_last_seen() {
    let dir = tempfile::tempdir().unwrap();
    for (name, days) in [("cycle.db", None), ("lab.db", Some("2"))] {
        let path = dir.path().join(name);
        let args: Vec<&str> = days.iter().flat_map(|days| ["--days", days]).collect();
        assert_eq!(kept(&path, &[&args[..], &AT].concat()).code, Some(0));
        let database = gua_store::Database::open(&path).unwrap();
        let at: jiff::Timestamp = AT[1].parse().unwrap();
        let snapshot = gua_query::snapshot::recorded(&database, at.into()).unwrap().unwrap();
        assert_eq!((snapshot.time, snapshot.host.host.as_deref()), (at, Some("lab-a100")));
        let holders = || snapshot.cards.iter().flat_map(|card| &card.holders);
        let idle = holders().filter(|holder| holder.idle.idle_since.is_some());
        match days {
            None => {
                assert_eq!(snapshot.cards.len(), 3);
                let users: Vec<_> = holders().map(|it| it.user.as_deref()).collect();
                assert_eq!(users, [Some("bob"), None]);
                // One of them is a process without a start: idle for at least that long.
                assert_eq!(idle.count(), 2);
            }
            Some(_) => {
                assert_eq!(snapshot.cards.len(), 9);
                assert!(idle.count() > 0);
            }
        }
    }
}

#[test]
fn a_file_that_is_there_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.db");
    fs::write(&path, "mine").unwrap();
    let run = kept(&path, &AT);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(run.stderr.replace(dir.path().to_str().unwrap(), "DIR"), @"
    gua: DIR/mine.db exists already, and a demo needs a new file
         Name another --db, or leave it out: `gua demo` then keeps nothing. `gua report --db PATH` reports on what is there.
    ");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_place_where_nothing_can_be_made() {
    let run = kept(Path::new("/proc/none/demo.db"), &AT);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.starts_with("gua: cannot use /proc/none/demo.db: "), "{run:?}");
}

/// It needs neither a home nor a place for files, and leaves none.
#[test]
fn it_needs_no_home() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = program(&["demo", AT[0], AT[1]]);
    command.env_clear().env("TMPDIR", dir.path()).current_dir(dir.path());
    let run = run(command);
    assert_eq!((run.code, run.stdout), (Some(0), demo(&AT).stdout));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for args in [
        &["--days", "0"][..],
        &["--days", "3651"],
        &["--days", "-1"],
        &["--days", "2", "--ticks", "5"],
        &["--ticks", "0"],
        &["--ticks", "many"],
        &["--interval", "50ms"],
        &["--interval", "-1s"],
        &["--at", "yesterday"],
        &["--at", "1970-01-01"],
        &["--at", "1969-01-01", "--days", "1"],
        &["--days", "3650", "--at", "1979-12-01"],
        &["--tz", "Nowhere/Town"],
        &["--width", "39"],
    ] {
        let run = demo(args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?} {run:?}");
    }
}

#[test]
fn times_are_shown_in_the_zone_that_is_asked_for() {
    let run = demo(&["--at", "2026-11-15 20:00", "--tz", "+02:00", "--width", "60"]);
    assert!(run.stdout.contains("19:45 → 20:00 +02:00"), "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 60), "{}", run.stdout);
}
