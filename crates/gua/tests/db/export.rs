//! Rows for other programs.

use std::fs;
use std::process::Stdio;

use gua_store::ExportTable;
use gua_store::export::SUMMED_ROWS;
use serde_json::Value;

use super::{START, gua, lab};
use crate::history::{Recording, card};
use crate::machine::program;

#[test]
fn cards_as_csv() {
    let (_dir, path) = lab();
    let run = gua(&path, &["export", "--from", "2026-01-01T01:01:00Z"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"
    row,from,to,length_ms,card_uuid,card_index,mig_slot,slices,slices_of,unknown_reason,active_ms,idle_held_ms,free_ms,unknown_ms,utilization_mean_percent,utilization_unknown_ms,memory_mean_bytes,memory_unknown_ms,active_joules,idle_held_joules,other_joules,energy_unknown_ms,energy_estimated_ms
    span,2026-01-01T01:01:00.000Z,2026-01-01T01:01:30.000Z,30000,GPU-00000000,0,,1,1,,30000,0,0,0,80.0,0,73400320000,0,,,,30000,0
    span,2026-01-01T01:01:00.000Z,2026-01-01T01:01:30.000Z,30000,GPU-00000001,1,,1,1,,0,0,30000,0,0.0,0,0,0,,,,30000,0
    span,2026-01-01T01:58:00.000Z,2026-01-01T01:58:30.000Z,30000,GPU-00000000,0,,1,1,lost,0,0,0,30000,,30000,,30000,,,,30000,0
    ");
    let cards = gua(&path, &["export", "--what", "cards"]).stdout;
    assert_eq!(gua(&path, &["export"]).stdout, cards);
    assert_eq!(cards.lines().count(), 16);
}

/// In CSV, a name is no formula of a spreadsheet.
#[test]
fn holders_as_csv() {
    let (_dir, path) = lab();
    let args = ["export", "--what", "holders", "--from", "2026-01-01T01:00:30Z"];
    insta::assert_snapshot!(gua(&path, &args).stdout, @"
    row,from,to,length_ms,card_uuid,card_index,mig_slot,slices,slices_of,user,uid,pid,process_started,program,job,container,pod,notebook,script,command,working_ms,idle_ms,work_unknown_ms,idle_beside_ms,active_share_ms,low_use_share_ms,unused_share_ms,unknown_share_ms,memory_mean_bytes,memory_mib_seconds,working_memory_mib_seconds,memory_unknown_ms,memory_peak_bytes,active_joules,idle_held_joules,energy_unknown_ms
    span,2026-01-01T01:00:30.000Z,2026-01-01T01:01:00.000Z,30000,GPU-00000000,0,,1,1,alice,1000,100,1970-01-01T00:00:00.000Z,python,,,,,,,30000,0,0,0,30000,0,0,0,73400320000,2100000,2100000,0,73400320000,,,30000
    span,2026-01-01T01:00:30.000Z,2026-01-01T01:01:00.000Z,30000,GPU-00000001,1,,1,1,'=SUM(A1),1001,200,1970-01-01T00:00:00.000Z,python,,,,,,,0,30000,0,0,0,0,30000,0,8388608000,240000,0,0,8388608000,,,30000
    span,2026-01-01T01:01:00.000Z,2026-01-01T01:01:30.000Z,30000,GPU-00000000,0,,1,1,alice,1000,100,1970-01-01T00:00:00.000Z,python,,,,,,,30000,0,0,0,30000,0,0,0,73400320000,2100000,2100000,0,73400320000,,,30000
    ");
}

#[test]
fn samples_as_json() {
    let (_dir, path) = lab();
    let args =
        ["export", "--what", "samples", "--format", "jsonl", "--from", "2026-01-01T01:01:30Z"];
    insta::assert_snapshot!(gua(&path, &args).stdout, @r#"
    {"at":"2026-01-01T01:01:30.000Z","card_uuid":"GPU-00000000","card_index":0,"mig_slot":null,"utilization_percent":80,"memory_used_bytes":73400320000,"power_watts":null,"temperature_celsius":null}
    {"at":"2026-01-01T01:01:30.000Z","card_uuid":"GPU-00000001","card_index":1,"mig_slot":null,"utilization_percent":0,"memory_used_bytes":0,"power_watts":null,"temperature_celsius":null}
    {"at":"2026-01-01T01:58:30.000Z","card_uuid":"GPU-00000000","card_index":0,"mig_slot":null,"utilization_percent":null,"memory_used_bytes":null,"power_watts":null,"temperature_celsius":null}
    "#);
}

/// The header has the columns of the help, which also says how old rows are summed.
#[test]
fn every_table_has_the_columns_of_the_help() {
    let (_dir, path) = lab();
    let help = crate::machine::run(program(&["db", "export", "--help"])).stdout;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&help).contains(&words(SUMMED_ROWS)), "{help}");
    for table in ExportTable::ALL {
        let csv = gua(&path, &["export", "--what", table.slug()]).stdout;
        let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        assert_eq!(header, table.columns().iter().map(|column| column.name).collect::<Vec<_>>());
        let columns = help.split(&format!("Columns of {}:", table.slug())).nth(1).unwrap();
        let columns = columns.split("Columns of").next().unwrap();
        for name in header {
            assert!(columns.contains(&format!("  {name}: ")), "{name}: {help}");
        }
    }
}

#[test]
fn dash_is_stdout() {
    let (dir, path) = lab();
    let args = ["db", "export", "--db", path.to_str().unwrap()];
    let mut command = program(&[&args[..], &["-o", "-"]].concat());
    command.current_dir(dir.path());
    let run = crate::machine::run(command);
    assert_eq!((run.code, run.stdout), (Some(0), gua(&path, &["export"]).stdout));
    assert!(!dir.path().join("-").exists());
}

/// JSON has names as they are.
#[test]
fn window_has_the_rows_that_begin_in_it() {
    let (_dir, path) = lab();
    let export = |args: &[&str]| {
        let what = ["export", "--what", "holders", "--format", "jsonl"];
        gua(&path, &[&what, args].concat()).stdout
    };
    let whole = export(&[]);
    let before = export(&["--until", "2026-01-01T01:00:00Z"]);
    let after = export(&["--from", "2026-01-01T01:00:00Z"]);
    assert!(!before.is_empty() && !after.is_empty());
    assert_eq!(format!("{before}{after}"), whole);
    assert!(whole.contains(r#""user":"=SUM(A1)""#), "{whole}");
    assert_eq!(export(&["--since", "1h"]), "");
    for line in whole.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert!(row["length_ms"].as_i64().unwrap() > 0, "{line}");
    }
}

#[test]
fn file_is_created_and_never_overwritten() {
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
    gua: cannot create [DIR]/out.csv: it exists already
         Name a new file, or move that one away.
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn wrong_windows_are_refused() {
    let (_dir, path) = lab();
    let from_until = ["--from", "2026-01-02", "--until", "2026-01-01"];
    let since_from = ["--since", "1h", "--from", "2026-01-01"];
    for args in [&["--since", "0"][..], &["--from", "x"], &from_until, &since_from] {
        let run = gua(&path, &[&["export"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
    }
}

#[test]
fn reader_that_goes_away_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    let mut run = Recording::begin(&path, START, 60_000);
    run.until(START + 1_500 * 60_000, 1, |_| {
        vec![card("NVIDIA H100", 80.0).held_by("ann", 1, 500)]
    });
    run.end("stopped");
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
