//! Rows for other programs.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;

use probe::who::{Job, Source, Told, Who};
use serde_json::Value;

use super::{Recording, START, card, gua, lab};
use crate::machine::program;
use gua::classify::{Kib, State, Work};

#[test]
fn spans_as_csv() {
    let (_dir, path) = lab();
    let run = gua(&path, &["export"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"
    kind,from,to,seconds,counted_seconds,card_uuid,card_index,card_slot,state,reason,user,uid,pid,program,memory_bytes,run,script,job,container,pod,notebook,command
    card,2026-01-01T00:58:00.000Z,2026-01-01T01:00:00.000Z,120.0,120.0,GPU-0,0,,active,,,,,,,1,,,,,,
    card,2026-01-01T00:58:00.000Z,2026-01-01T01:00:00.000Z,120.0,120.0,GPU-1,1,,idle-held,,,,,,,1,,,,,,
    card,2026-01-01T01:00:00.000Z,2026-01-01T01:01:30.000Z,90.0,90.0,GPU-0,0,,active,,,,,,,1,,,,,,
    card,2026-01-01T01:00:00.000Z,2026-01-01T01:01:00.000Z,60.0,60.0,GPU-1,1,,idle-held,,,,,,,1,,,,,,
    card,2026-01-01T01:01:00.000Z,2026-01-01T01:01:30.000Z,30.0,30.0,GPU-1,1,,truly-idle,,,,,,,1,,,,,,
    card,2026-01-01T01:58:00.000Z,2026-01-01T01:58:30.000Z,30.0,30.0,GPU-0,0,,unknown,lost,,,,,,2,,,,,,
    owner,2026-01-01T00:58:00.000Z,2026-01-01T01:00:00.000Z,120.0,120.0,GPU-0,0,,holding,,alice,1000,,,,1,,,,,,
    owner,2026-01-01T00:58:00.000Z,2026-01-01T01:00:00.000Z,120.0,120.0,GPU-1,1,,holding,,bob,1000,,,,1,,,,,,
    owner,2026-01-01T01:00:00.000Z,2026-01-01T01:01:30.000Z,90.0,90.0,GPU-0,0,,holding,,alice,1000,,,,1,,,,,,
    owner,2026-01-01T01:00:00.000Z,2026-01-01T01:01:00.000Z,60.0,60.0,GPU-1,1,,holding,,bob,1000,,,,1,,,,,,
    holder,2026-01-01T00:58:00.000Z,2026-01-01T01:00:00.000Z,120.0,120.0,GPU-0,0,,holding,,alice,1000,100,python,73400320000,1,,,,,,
    holder,2026-01-01T00:58:00.000Z,2026-01-01T01:00:00.000Z,120.0,120.0,GPU-1,1,,holding,,bob,1000,200,'=SUM(A1),8388608000,1,,,,,,
    holder,2026-01-01T01:00:00.000Z,2026-01-01T01:01:30.000Z,90.0,90.0,GPU-0,0,,holding,,alice,1000,100,python,73400320000,1,,,,,,
    holder,2026-01-01T01:00:00.000Z,2026-01-01T01:01:00.000Z,60.0,60.0,GPU-1,1,,holding,,bob,1000,200,'=SUM(A1),8388608000,1,,,,,,
    ");
}

#[test]
fn a_dash_is_stdout() {
    let (dir, path) = lab();
    let args = ["db", "export", "--db", path.to_str().unwrap()];
    let mut command = program(&[&args[..], &["-o", "-"]].concat());
    command.current_dir(dir.path());
    let run = crate::machine::run(command);
    assert_eq!((run.code, run.stdout), (Some(0), gua(&path, &["export"]).stdout));
    assert!(!dir.path().join("-").exists());
}

/// A holder that works beside one that does not, and memory that is nobody's.
#[test]
fn what_holders_did_and_ran_for_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let mut run = Recording::begin(&path, START);
    let ann = (100, "ann", "python", 9_000);
    let mut busy = card(0, State::Active, &[ann, (200, "bob", "python", 4_000)]);
    busy.unseen = Some(Kib(5 << 20));
    let crew = Arc::get_mut(&mut busy.crew).unwrap();
    crew.holders[0].work = Work::Works;
    crew.holders[1].work = Work::Idle;
    crew.holders[1].workload = Some(Arc::new(Who {
        job: Some(Told { value: Job { id: "=42".into(), step: None }, source: Source::Cgroup }),
        script: Some("serve.py".into()),
        ..Who::default()
    }));
    run.tick(1_000, vec![busy]);
    run.end();
    let csv = gua(&path, &["export"]).stdout;
    let rows: Vec<&str> = csv.lines().filter(|line| !line.starts_with("owner")).collect();
    insta::assert_snapshot!(rows.join("\n"), @"
    kind,from,to,seconds,counted_seconds,card_uuid,card_index,card_slot,state,reason,user,uid,pid,program,memory_bytes,run,script,job,container,pod,notebook,command
    card,2026-01-01T00:58:00.000Z,2026-01-01T00:58:01.000Z,1.0,1.0,GPU-0,0,,active,,,,,,,1,,,,,,
    holder,2026-01-01T00:58:00.000Z,2026-01-01T00:58:01.000Z,1.0,1.0,GPU-0,0,,active,,ann,1000,100,python,9437184000,1,,,,,,
    holder,2026-01-01T00:58:00.000Z,2026-01-01T00:58:01.000Z,1.0,1.0,GPU-0,0,,idle-held,,bob,1000,200,python,4194304000,1,serve.py,'=42,,,,
    unseen,2026-01-01T00:58:00.000Z,2026-01-01T00:58:01.000Z,1.0,1.0,GPU-0,0,,holding,,,,,,5368709120,1,,,,,,
    ");
    assert!(gua(&path, &["check"]).stdout.starts_with("ok"));
}

#[test]
fn samples_as_csv() {
    let (_dir, path) = lab();
    let run = gua(&path, &["export", "--what", "samples", "--from", "2026-01-01T01:01:00Z"]);
    insta::assert_snapshot!(run.stdout, @"
    at,covers_seconds,card_uuid,card_index,card_slot,state,reason,utilization_percent,utilization_reason,basis,held_bytes,unseen_bytes,hidden_reason,holders,used_bytes,power_watts,temperature_celsius,run
    2026-01-01T01:01:00.000Z,30.0,GPU-0,0,,active,,80.5,,instant,73400320000,0,,1,73400320000,71.5,,1
    2026-01-01T01:01:00.000Z,30.0,GPU-1,1,,idle-held,,0.0,,instant,8388608000,0,,1,8388608000,71.5,,1
    2026-01-01T01:01:30.000Z,30.0,GPU-0,0,,active,,80.5,,instant,73400320000,0,,1,73400320000,71.5,,1
    2026-01-01T01:01:30.000Z,30.0,GPU-1,1,,truly-idle,,0.0,,instant,0,0,,0,0,71.5,,1
    2026-01-01T01:58:00.000Z,0.0,GPU-0,0,,unknown,lost,,lost,,0,0,,0,,,,2
    2026-01-01T01:58:30.000Z,30.0,GPU-0,0,,unknown,lost,,lost,,0,0,,0,,,,2
    ");
}

#[test]
fn samples_as_json() {
    let (_dir, path) = lab();
    let run = gua(
        &path,
        &["export", "--what", "samples", "--format", "jsonl", "--from", "2026-01-01 01:30"],
    );
    insta::assert_snapshot!(run.stdout, @r#"
    {"at":"2026-01-01T01:58:00.000Z","covers_seconds":0.0,"card_uuid":"GPU-0","card_index":0,"card_slot":null,"state":"unknown","reason":"lost","utilization_percent":null,"utilization_reason":"lost","basis":null,"held_bytes":0,"unseen_bytes":0,"hidden_reason":null,"holders":0,"used_bytes":null,"power_watts":null,"temperature_celsius":null,"run":2}
    {"at":"2026-01-01T01:58:30.000Z","covers_seconds":30.0,"card_uuid":"GPU-0","card_index":0,"card_slot":null,"state":"unknown","reason":"lost","utilization_percent":null,"utilization_reason":"lost","basis":null,"held_bytes":0,"unseen_bytes":0,"hidden_reason":null,"holders":0,"used_bytes":null,"power_watts":null,"temperature_celsius":null,"run":2}
    "#);
}

/// JSON has names as they are.
#[test]
fn a_window_takes_what_begins_in_it() {
    let (_dir, path) = lab();
    let whole = gua(&path, &["export", "--format", "jsonl"]).stdout;
    let part =
        |args: &[&str]| gua(&path, &[&["export", "--format", "jsonl"], args].concat()).stdout;
    let (before, after) =
        (part(&["--until", "2026-01-01T01:00:00Z"]), part(&["--from", "2026-01-01T01:00:00Z"]));
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&format!("{before}{after}")), sorted(&whole));
    assert!(whole.contains(r#""program":"=SUM(A1)""#), "{whole}");
    assert_eq!(part(&["--since", "1h"]), "");
    for line in whole.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert!(row["seconds"].as_f64().unwrap() > 0.0, "{line}");
    }
}

#[test]
fn hostile_names_stay_one_field() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let mut run = Recording::begin(&path, START);
    for (pid, program) in (1..).zip(["a,\"b\"", "@x", "é\u{1b}[2J\n", ""]) {
        run.tick(1_000, vec![card(0, State::Active, &[(pid, "ann", program, 1)])]);
    }
    run.end();
    let csv = gua(&path, &["export"]).stdout;
    let programs: Vec<String> = csv::Reader::from_reader(csv.as_bytes())
        .records()
        .map(|record| record.unwrap())
        .filter(|record| &record[0] == "holder")
        .map(|record| record[13].to_owned())
        .collect();
    assert_eq!(programs, ["a,\"b\"", "'@x", "é?[2J?", ""]);
}

#[test]
fn a_file_is_made_and_never_written_over() {
    let (dir, path) = lab();
    let file = dir.path().join("out.csv");
    let args = ["export", "-o", file.to_str().unwrap()];
    let run = gua(&path, &args);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_to_string(&file).unwrap(), gua(&path, &["export"]).stdout);
    fs::write(&file, "mine").unwrap();
    let run = gua(&path, &args);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(run.stderr, @"
    gua: [DIR]/out.csv is there already
         Name a file that is still to be made, or move that one away.
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn wrong_windows_are_refused() {
    let (_dir, path) = lab();
    let from_until = ["export", "--from", "2026-01-02", "--until", "2026-01-01"];
    insta::assert_snapshot!(gua(&path, &from_until).stderr, @"
    gua: the time from 2026-01-02T00:00:00Z until 2026-01-01T00:00:00Z is none: it ends before it begins
         Name an earlier --from or a later --until; --until is now when left out.
    ");
    for args in
        [&["--since", "0"][..], &["--from", "x"], &["--since", "1h", "--from", "2026-01-01"]]
    {
        let run = gua(&path, &[&["export"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let mut run = Recording::begin(&path, START);
    for pid in 1..1_500 {
        run.tick(1_000, vec![card(0, State::Active, &[(pid, "ann", "python", 1)])]);
    }
    run.end();
    for format in ["csv", "jsonl"] {
        let mut child = program(&["db", "export", "--format", format, "--db"])
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    }
}
