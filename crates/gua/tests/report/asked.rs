//! Which time a report is about.

use super::{BOTH_DAYS, HOUR, Histories, SATURDAY, lab};
use crate::history::{MINUTE, Recording};
use crate::machine::{program, run};

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_read() {
    let cases: [(&[&str], &str); 35] = [
        (&["--since", "0s"], "0s"),
        (&["--since", "-5m"], "-5m"),
        (&["--since", "5"], "expected a number and ms, s, m, h, d, w or mo"),
        (&["--since", "1h", "--from", "2024-11-09"], "cannot be used with"),
        (&["--from", "2024-11-10", "--until", "2024-11-09"], "ends before it begins"),
        (&["--from", "yesterday"], "2026-11-08T20:00:00Z"),
        (&["--period", "soon"], "expected today, yesterday, this-week"),
        (&["--period", "2026-13"], "a week such as 2026-W46"),
        (&["--period", "today", "--since", "1h"], "cannot be used with"),
        (&["--period", "today", "--until", "now"], "cannot be used with"),
        (&["--period", "9998-12"], "it has not begun: it begins on 9998-12-01 00:00:00 UTC"),
        (&["--output", "report.pdf"], "the name of `report.pdf` says no format"),
        (&["--tz", "Nowhere/Town"], "Europe/Berlin"),
        (&["--width", "39"], "from 40 to 300"),
        (&["--width", "301"], "from 40 to 300"),
        (&["--active-percent", "10"], "set them below [thresholds]"),
        (&["--held-mb"], "thresholds belong to the recorder"),
        (&["--sort", "name"], "total, idle, active, cost"),
        (&["--sort", "cost"], "--price 2.50"),
        (&["--json", "--format", "csv"], "cannot be used with"),
        (&["--by", "wizard"], "notebook"),
        (&["--price", "-2"], "2.50"),
        (&["--price", "A100="], "A100=3.20"),
        (&["--currency", "my money"], "up to 8 characters"),
        (&["--sessions", "some"], "expected a number, or all"),
        (&["--compare", "yesterday"], "expected `previous`"),
        (&["--compare", "-7d"], "expected `previous`"),
        (&["--user", "bob", "--prometheus", "http://localhost"], "cannot be used with"),
        (&["--user", ""], "--user"),
        (&["--table", "cards"], "Add --format csv"),
        (&["--format", "csv", "--table", "totals"], "accounts, cards, sessions, hours, gaps"),
        (&["--format", "csv", "--by", "job,user"], "--by job, --by user"),
        (&["--format", "csv", "--table", "hours", "--user", "bob"], "Leave out --user"),
        (&["--format", "svg", "--picture", "habit", "--user", "bob"], "Leave out --user"),
        (
            &["--format", "csv", "--table", "gaps", "--prometheus", "http://localhost"],
            "run the report on a host",
        ),
    ];
    for (args, expected) in cases {
        let mut command = program(&["report"]);
        command.args(args);
        if !args.contains(&"--prometheus") {
            command.args(["--db", "/nowhere/gua.db"]);
        }
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
        "gua: --interval has no effect: it applies only to a history of the Python gua\n"
    );
    assert_eq!(run.stdout, histories.report(&BOTH_DAYS).stdout);
}

/// A window that reaches up to now ends where the record is final, and says so.
#[test]
fn window_ends_where_the_record_is_final() {
    let histories = Histories::new();
    let now = jiff::Timestamp::now().as_millisecond();
    let begin = (now - 2 * HOUR) / 1000 * 1000;
    let mut recording = Recording::begin(&histories.path(), begin, MINUTE);
    recording.until(begin + HOUR + 59 * MINUTE, 1, lab);
    let report = histories.json(&["--since", "1h"]);
    let window = &report["window"];
    assert_eq!(window["to"], moment(begin + HOUR + 59 * MINUTE), "{window}");
    assert!(window["requested_to"].as_str() > window["to"].as_str(), "{window}");
    assert_eq!((&window["coverage"], &report["gaps"]), (&1.0.into(), &serde_json::json!([])));
    let shown = histories.report(&["--since", "1h"]).stdout;
    assert!(shown.contains("up to where the record is final\n"), "{shown}");
    drop(recording);
}

fn moment(at: i64) -> String {
    jiff::Timestamp::from_millisecond(at).unwrap().to_string()
}

/// A clock that was set back: the later run counts, and nothing counts twice.
#[test]
fn no_hour_counts_twice() {
    let histories = Histories::new();
    let mut first = Recording::begin(&histories.path(), SATURDAY, MINUTE);
    first.until(SATURDAY + 2 * HOUR, 1, lab);
    first.end("clock_set_back");
    let mut second = Recording::begin(&histories.path(), SATURDAY + HOUR, MINUTE);
    second.until(SATURDAY + 3 * HOUR, 1, lab);
    second.end("stopped");
    let window = ["--from", "2024-11-09", "--until", "2024-11-09 03:00"];
    let report = histories.json(&window);
    assert_eq!(report["window"]["observed_seconds"], 3.0 * 3600.0);
    let hours = |state: &str| report["states"][state]["gpu_hours"].as_f64().unwrap();
    assert!((hours("idle_held") + hours("truly_idle") - 9.0).abs() < 1e-9, "{report}");
    assert_eq!(report["gaps"].as_array().unwrap().len(), 0);
}

#[test]
fn file_has_the_format_of_its_name() {
    let histories = Histories::two_days();
    let path = |name: &str| histories.dir().join(name).display().to_string();
    let written = |name: &str, more: &[&str]| {
        let file = path(name);
        let run = histories.report(&[&BOTH_DAYS, &["-o", &file][..], more].concat());
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        (run, text)
    };
    for (name, begin) in [
        ("a.txt", "gua"),
        ("a.JSON", "{\n"),
        ("a.csv", ""),
        ("a.md", "# "),
        ("a.html", "<!DOCTYPE html>"),
        ("a.svg", "<?xml"),
        ("plain", "gua"),
    ] {
        let (run, text) = written(name, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{name}: {run:?}");
        let head = text.lines().next().unwrap();
        assert!(text.trim_start().starts_with(begin), "{name}: {head}");
        assert_eq!(head.matches(',').count() > 5, name == "a.csv", "{name}: {head}");
    }
    let (run, text) = written("b.html", &["--format", "json"]);
    assert!(run.code == Some(0) && text.starts_with("{\n"), "{run:?}");
}

#[test]
fn file_that_is_there_is_not_replaced_without_force() {
    let histories = Histories::two_days();
    let file = histories.dir().join("report.txt");
    std::fs::write(&file, "kept").unwrap();
    let args = [&BOTH_DAYS[..], &["-o", file.to_str().unwrap()]].concat();
    let run = histories.report(&args);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("is there already") && run.stderr.contains("--force"), "{run:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    let run = histories.report(&[&args[..], &["--force"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("gua"));
    let run = histories.report(&[&BOTH_DAYS[..], &["-o", "/dev/null"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
}
