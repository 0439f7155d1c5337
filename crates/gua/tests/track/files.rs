//! Where the summary and the time line go.

use std::fs;

use serde_json::Value;

use super::{json, track};

#[test]
fn the_summary_goes_to_its_file_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary");
    fs::write(&path, "an older and much longer summary ".repeat(900)).unwrap();
    let file = path.to_str().unwrap();
    for (format, begin) in [
        ("text", "sh ended with 4 after "),
        ("csv", "name,pid,began,"),
        ("markdown", "# sh ended with 4"),
    ] {
        let run = track(&["--format", format, "-o", file, "--", "sh", "-c", "echo x; exit 4"]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(4), "x\n", ""));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(begin) && !text.contains("older"), "{text}");
    }
    let run = track(&["--json", "-o", file, "--", "true"]);
    assert_eq!(run.code, Some(0));
    let told: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(told["schema"], "gua.track/1");
}

/// The command takes away the folder that the summary is to go to.
#[test]
fn a_summary_that_cannot_be_written_at_the_end_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    let path = inner.join("summary");
    for (end, code) in [("true", 1), ("exit 7", 7)] {
        fs::create_dir(&inner).unwrap();
        let script = format!("rmdir {}; {end}", inner.display());
        let run = track(&["-o", path.to_str().unwrap(), "--", "sh", "-c", &script]);
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.starts_with("gua: cannot write "), "{}", run.stderr);
        assert!(run.stderr.contains("The summary is printed instead.\nsh ended with"), "{run:?}");
    }
}

#[test]
fn a_time_line_that_cannot_be_written_at_the_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.svg", "t.csv"] {
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let script = format!("rmdir {}", inner.display());
        let file = inner.join(name);
        // A table is made with the first sample, which must come after the folder is gone.
        let args =
            ["--every", "1h", "--timeline", file.to_str().unwrap(), "--", "sh", "-c", &script];
        let run = track(&args);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("is not whole: "), "{run:?}");
        assert!(run.stderr.contains("sh ended with 0 after "), "{run:?}");
    }
}

#[test]
fn each_kind_of_time_line_is_what_its_name_says() {
    let folder = tempfile::tempdir().unwrap();
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    for (name, begin) in [
        ("t.csv", &b"ram_unit,gpu_ram_unit"[..]),
        ("t.sqlite", b"SQLite format 3"),
        ("t.svg", b"<?xml version"),
        ("t.html", b"<!doctype html>"),
    ] {
        let path = folder.path().join(name);
        let file = path.to_str().unwrap();
        for more in [&[][..], &["--overwrite"]] {
            let args = [&["--every", "1ms", "--timeline", file], more, &["--", "sh", "-c", script]];
            let run = track(&args.concat());
            assert_eq!(run.code, Some(0), "{run:?}");
            let bytes = fs::read(&path).unwrap();
            assert!(bytes.starts_with(begin), "{name}: {} bytes", bytes.len());
        }
    }
    let picture = fs::read_to_string(folder.path().join("t.svg")).unwrap();
    assert!(picture.contains(">RAM</text>") && picture.contains(">CPU</text>"), "{picture}");
    assert!(!picture.contains(">GPU"), "no card was asked for");
}

/// A command that does not start leaves nothing behind, and replaces nothing.
#[test]
fn what_does_not_start_makes_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let (summary, line) = (folder.path().join("summary"), folder.path().join("t.csv"));
    fs::write(&line, "kept").unwrap();
    let run = track(&[
        "-o",
        summary.to_str().unwrap(),
        "--overwrite",
        "--timeline",
        line.to_str().unwrap(),
        "--",
        "no-such-command-here",
    ]);
    assert_eq!(run.code, Some(127));
    assert!(!summary.exists());
    assert_eq!(fs::read_to_string(&line).unwrap(), "kept");
}

#[test]
fn figures_are_those_of_the_command_and_of_what_was_asked() {
    let told = json(
        &["--every", "5ms", "--cores", "3"],
        "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done",
    );
    assert_eq!((&told["name"], &told["ending"]["code"]), (&"sh".into(), &0.into()));
    assert_eq!(
        (&told["asked"]["cores"], &told["asked"]["cores_source"]),
        (&3.0.into(), &"option".into())
    );
    let cpu = told["cpu"]["time_seconds"]["combined"].as_f64().unwrap();
    let wall = told["wall_seconds"].as_f64().unwrap();
    assert!(cpu > 0.01 && cpu <= wall * 1.1 + 0.02, "{told}");
    assert!(told["ram"]["peak"]["combined"]["total_bytes"].as_u64().unwrap() > 500_000, "{told}");
    assert_eq!(told["sampling"]["asked_seconds"], 0.005);
    assert_eq!((&told["gpu"], &told["unknown"]["gpu"]), (&Value::Null, &"not_asked".into()));
}

#[test]
fn a_job_of_slurm_says_what_was_asked_for() {
    let mut command = super::command(&["--json", "--", "true"]);
    command.env("SLURM_CPUS_PER_TASK", "1").env("SLURM_MEM_PER_NODE", "64");
    let run = crate::machine::run(command);
    let told: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (&told["asked"]["cores"], &told["asked"]["cores_source"]),
        (&1.0.into(), &"slurm".into())
    );
    assert_eq!(
        (&told["asked"]["ram_bytes"], &told["asked"]["ram_source"]),
        (&(64 << 20).into(), &"slurm".into())
    );
}

#[test]
fn the_unit_and_the_width_are_as_asked() {
    let run = track(&[
        "--unit",
        "KiB",
        "--width",
        "40",
        "--every",
        "1ms",
        "--",
        "sh",
        "-c",
        "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done",
    ]);
    assert!(run.stderr.contains(" KiB"), "{}", run.stderr);
    assert!(run.stderr.lines().all(|line| line.chars().count() <= 40), "{}", run.stderr);
    assert!(!run.stderr.contains('\x1b'));
    let run = track(&["--color", "always", "--", "true"]);
    assert!(run.stderr.contains("\x1b[1mtrue ended with 0"), "{}", run.stderr);
}

/// Regression: the account was called exact while the time of children was missing in it.
#[test]
fn times_of_a_program_that_ignores_its_children_are_lower_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary");
    let told = |format: &str, signals: &str| {
        let args = ["--format", format, "-o", path.to_str().unwrap(), "--", "env", signals, "true"];
        assert_eq!(track(&args).code, Some(0));
        fs::read_to_string(&path).unwrap()
    };
    let cpu = |signals: &str| {
        let told: Value = serde_json::from_str(&told("json", signals)).unwrap();
        (told["cpu"]["is_exact"].clone(), told["cpu"]["is_lower_bound"].clone())
    };
    assert_eq!(cpu("--default-signal=CHLD"), (Value::Bool(true), Value::Bool(false)));
    assert_eq!(cpu("--ignore-signal=CHLD"), (Value::Bool(false), Value::Bool(true)));
    for format in ["text", "markdown"] {
        let text = told(format, "--ignore-signal=CHLD");
        assert!(text.contains("Its CPU time was at least this"), "{text}");
    }
    let csv = told("csv", "--ignore-signal=CHLD");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = rows[0].iter().position(|name| *name == "cpu_is_lower_bound").unwrap();
    assert_eq!(rows[1][column], "true");
}
