//! Which time a report is about, and by which lines.

use gua::store::Ending;

use super::record::{MINUTE, Recording};
use super::{BOTH_DAYS, DAY, HOUR, Histories, SATURDAY, lab};
use crate::machine::{program, run};

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_read() {
    let cases: [(&[&str], &str); 22] = [
        (&["--since", "0s"], "0s"),
        (&["--since", "-5m"], "-5m"),
        (&["--since", "5"], "expected a number and ms, s, m, h or d"),
        (&["--since", "1h", "--from", "2024-11-09"], "cannot be used with"),
        (&["--from", "2024-11-10", "--until", "2024-11-09"], "ends before it begins"),
        (&["--from", "yesterday"], "2026-11-08T20:00:00Z"),
        (&["--tz", "Nowhere/Town"], "Europe/Berlin"),
        (&["--width", "39"], "from 40 to 300"),
        (&["--width", "301"], "from 40 to 300"),
        (&["--active-percent", "0"], "above 0"),
        (&["--active-percent", "NaN"], "above 0"),
        (&["--held-mb", "-1"], "-1"),
        (&["--json", "--format", "csv"], "cannot be used with"),
        (&["--by", "wizard"], "notebook"),
        (&["--price", "-2"], "2.50"),
        (&["--price", "A100="], "A100=3.20"),
        (&["--currency", "my money"], "up to 8 characters"),
        (&["--sessions", "some"], "expected a number, or all"),
        (&["--compare", "yesterday"], "expected `previous`"),
        (&["--compare", "-7d"], "expected `previous`"),
        (&["--user", "bob", "--held-mb", "5"], "cannot be used with"),
        (&["--user", ""], "--user"),
    ];
    for (args, expected) in cases {
        let mut command = program(&["report", "--db", "/nowhere/gua.db"]);
        command.args(args);
        let run = run(command);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}: {run:?}");
        assert!(run.stderr.contains(expected), "{args:?}: {run:?}");
    }
}

#[test]
fn a_time_that_is_longer_than_all_time_is_taken() {
    let histories = Histories::two_days();
    for since in ["99999999999999999999999d", "400d", "1.5h", "1h30m"] {
        let run = histories.report(&["--since", since]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{since}");
    }
    let report = histories.json(&["--since", "99999999999d"]);
    assert_eq!(report["window"]["from"], "1970-01-01T00:00:00Z");
}

#[test]
fn back_from_another_end() {
    let args = ["--since", "90m", "--until", "2024-11-09 12:00", "--tz", "+02:00"];
    let window = &Histories::two_days().json(&args)["window"];
    assert_eq!(window["from"], "2024-11-09T08:30:00Z");
    assert_eq!(window["to"], "2024-11-09T10:00:00Z");
    assert_eq!((&window["seconds"], &window["coverage"]), (&5400.0.into(), &1.0.into()));
}

#[test]
fn the_heatmap_follows_the_zone() {
    let histories = Histories::two_days();
    let args = ["--from", "2024-11-09T08:00:00Z", "--until", "2024-11-09T09:00:00Z"];
    let hours = |zone: &str| -> Vec<_> {
        let report = histories.json(&[&args[..], &["--tz", zone]].concat());
        let cells = report["heatmap"].as_array().unwrap();
        cells.iter().map(|cell| (cell["hour"].clone(), cell["observed_seconds"].clone())).collect()
    };
    assert_eq!(hours("UTC"), [(8.into(), 10_800.0.into())]);
    assert_eq!(hours("-03:00"), [(5.into(), 10_800.0.into())]);
    assert_eq!(hours("Asia/Kolkata"), [(13.into(), 5_400.0.into()), (14.into(), 5_400.0.into())]);
}

#[test]
fn an_interval_changes_nothing_where_time_was_measured() {
    let histories = Histories::two_days();
    let run = histories.report(&[&BOTH_DAYS[..], &["--interval", "10s"]].concat());
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr,
        "gua: --interval changes nothing: the ticks of this history measured their time\n"
    );
    assert_eq!(run.stdout, histories.report(&BOTH_DAYS).stdout);
}

/// By a line of 3 % the card of bob, at 5 %, is at work.
#[test]
fn other_lines_judge_again() {
    let histories = Histories::two_days();
    let report = histories
        .json(&[&BOTH_DAYS[..], &["--active-percent", "3", "--held-mb", "80000"]].concat());
    let share = |card: usize, state: &str| report["cards"][card]["states"][state]["share"].clone();
    assert_eq!(share(1, "active"), 1.0);
    assert_eq!(share(0, "idle_held"), 0.0);
    assert_eq!(report["thresholds"]["active_percent"], 3.0);
    assert_eq!(report["judged_again"]["share_of_observed"], 1.0);
    assert_eq!(report["judged_again"]["covers_seconds"], 46.0 * 3600.0);
    let shown = histories.report(&[&BOTH_DAYS[..], &["--active-percent", "3"]].concat()).stdout;
    assert!(shown.contains("active ≥ 3 % utilization"), "{shown}");
    assert!(shown.contains("judged again from samples"), "{shown}");
    assert!(shown.contains("accounts and sessions are as they were recorded"), "{shown}");
    let usual = histories.json(&BOTH_DAYS);
    for part in ["identities", "accounts", "sessions"] {
        assert_eq!(report[part], usual[part], "{part}");
    }
}

/// The samples and the spans say the same where the lines are the same, or nearly.
#[test]
fn judging_again_by_the_same_lines_tells_the_same() {
    let histories = Histories::two_days();
    let usual = histories.json(&BOTH_DAYS);
    let again = histories.json(&[&BOTH_DAYS[..], &["--active-percent", "10.01"]].concat());
    for part in ["states", "cards", "heatmap", "equivalent_gpus", "gaps", "window"] {
        assert_eq!(usual[part], again[part], "{part}");
    }
    let same = histories.json(&[&BOTH_DAYS[..], &["--active-percent", "10"]].concat());
    assert_eq!(usual, same);
}

#[test]
fn where_samples_are_no_longer_kept_it_says_so() {
    let histories = Histories::two_days();
    let database = rusqlite::Connection::open(histories.path()).unwrap();
    let delete = "DELETE FROM sample WHERE tick IN (SELECT id FROM tick WHERE at_ms <= ?1)";
    database.execute(delete, [SATURDAY + DAY]).unwrap();
    let args = [&BOTH_DAYS[..], &["--active-percent", "3"]].concat();
    let judged = &histories.json(&args)["judged_again"];
    assert_eq!(judged["from"], "2024-11-10T00:00:00Z");
    assert_eq!(judged["covers_seconds"], 22.0 * 3600.0);
    database.execute("DELETE FROM sample", []).unwrap();
    let run = histories.report(&args);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("No samples are kept of this window"), "{run:?}");
}

/// A clock that was set back: the later run counts, and nothing counts twice.
#[test]
fn no_hour_counts_twice() {
    let histories = Histories::new();
    let mut first = Recording::begin(&histories.path(), SATURDAY, MINUTE);
    first.until(SATURDAY + 2 * HOUR, 1, lab);
    first.end(Ending::ClockSetBack);
    let mut second = Recording::begin(&histories.path(), SATURDAY + HOUR, MINUTE);
    second.until(SATURDAY + 3 * HOUR, 1, lab);
    second.end(Ending::Stopped);
    let window = ["--from", "2024-11-09", "--until", "2024-11-09 03:00"];
    for lines in [&[][..], &["--held-mb", "101"]] {
        let report = histories.json(&[&window[..], lines].concat());
        assert_eq!(report["window"]["observed_seconds"], 3.0 * 3600.0);
        let hours = |state: &str| report["states"][state]["gpu_hours"].as_f64().unwrap();
        assert!((hours("idle_held") + hours("truly_idle") - 9.0).abs() < 1e-9, "{report}");
        assert_eq!(report["gaps"].as_array().unwrap().len(), 0);
    }
}
