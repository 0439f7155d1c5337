//! What is in a file.

use std::fs;

use gua::store::RecorderLock;

use super::{gua, lab};
use crate::machine::{assert_fits, program, run};

#[test]
fn a_person_reads_lines() {
    let (_dir, path) = lab();
    let told = gua(&path, &["info"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(told.stdout, @"
    database  [DIR]/gua.db
    layout    4
    size      128.0 KiB, of which 0 B to be used again; log 0 B
    recorder  none writes to it now
    host      lab
    recorded  2026-01-01 00:58:00 UTC to 2026-01-01 01:58:30 UTC
    runs      2; the newest: gua 0.1.0 every 30s since 2026-01-01 01:58:00 UTC, never ended: killed, or the machine went down
    cards     2
    users     2
    samples   18, kept from 2026-01-01 00:58:00 UTC
    spans     17, kept from 2026-01-01 00:58:00 UTC
    ");
}

/// Regression: lines were as long as their texts.
#[test]
fn it_fits_a_narrow_screen() {
    let (_dir, path) = lab();
    for columns in [20, 30, 50, 80, 120] {
        for what in [&["info"][..], &["check"], &["prune", "--yes"]] {
            let mut command = program(&["db"]);
            command.args(what).arg("--db").arg(&path);
            command.env("COLUMNS", columns.to_string());
            let told = run(command);
            assert_eq!(told.code, Some(0), "{told:?}");
            assert_fits(&told.stdout, columns);
        }
    }
    let mut command = program(&["db", "info", "--db", path.to_str().unwrap()]);
    command.env("COLUMNS", "50");
    let told = run(command).stdout;
    let runs: Vec<_> = told.lines().skip_while(|line| !line.starts_with("runs")).take(3).collect();
    assert_eq!(runs[1].find(|c| c != ' '), Some(10), "it goes on below itself: {told}");
}

#[test]
fn a_program_reads_json() {
    let (_dir, path) = lab();
    insta::assert_snapshot!(gua(&path, &["info", "--json"]).stdout, @r#"
    {
      "schema": "gua.db_info/1",
      "path": "[DIR]/gua.db",
      "layout": 4,
      "file_bytes": 131072,
      "log_bytes": 0,
      "free_bytes": 0,
      "is_being_recorded": false,
      "hosts": [
        "lab"
      ],
      "first": "2026-01-01T00:58:00Z",
      "last": "2026-01-01T01:58:30Z",
      "run_count": 2,
      "newest_run": {
        "recorder": "gua 0.1.0",
        "driver": "570.86",
        "interval_seconds": 30.0,
        "started": "2026-01-01T01:58:00Z",
        "ended": null,
        "ending": null
      },
      "cards": [
        {
          "uuid": "GPU-0",
          "index": 0,
          "mig_slot": null,
          "name": "NVIDIA H100",
          "memory_bytes": 85899345920
        },
        {
          "uuid": "GPU-1",
          "index": 1,
          "mig_slot": null,
          "name": "NVIDIA H100",
          "memory_bytes": 85899345920
        }
      ],
      "identities": [
        {
          "user": "alice",
          "uid": 1000
        },
        {
          "user": "bob",
          "uid": 1000
        }
      ],
      "samples_kept_from": "2026-01-01T00:58:00Z",
      "spans_kept_from": "2026-01-01T00:58:00Z",
      "rows": {
        "card": 2,
        "card_span": 6,
        "event": 0,
        "holder": 2,
        "holder_span": 4,
        "identity": 2,
        "observed": 3,
        "owner_span": 4,
        "process": 2,
        "run": 2,
        "sample": 18,
        "tick": 10,
        "unseen_span": 0,
        "workload": 0
      }
    }
    "#);
}

#[test]
fn a_recorder_that_has_it_is_seen() {
    let (_dir, path) = lab();
    let _lock = RecorderLock::take(&path).unwrap();
    let told = gua(&path, &["info"]).stdout;
    assert!(told.contains("\nrecorder  writes to it now\n"), "{told}");
    assert!(told.contains("still going on"), "{told}");
}

#[test]
fn an_empty_database_is_told_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    gua::store::create(&path).unwrap();
    insta::assert_snapshot!(gua(&path, &["info"]).stdout, @"
    database  [DIR]/gua.db
    layout    4
    size      128.0 KiB, of which 0 B to be used again; log 0 B
    recorder  none writes to it now
    host      none
    recorded  nothing yet
    runs      none
    cards     0
    users     0
    samples   none
    spans     none
    ");
}

/// The one at home is used where none is named.
#[test]
fn home_is_where_it_is_looked_for() {
    let (_dir, path) = lab();
    let home = tempfile::tempdir().unwrap();
    fs::copy(&path, home.path().join("gua.db")).unwrap();
    let mut command = program(&["db", "info"]);
    command.env("GUA_HOME", home.path());
    assert_eq!(run(command).code, Some(0));
    let mut command = program(&["db", "info"]);
    command.env_remove("HOME");
    let homeless = run(command);
    assert_eq!((homeless.code, homeless.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(homeless.stderr, @"
    gua: neither GUA_HOME nor HOME is set, so it cannot be told where the history is
         Name it with --db PATH.
    ");
}
