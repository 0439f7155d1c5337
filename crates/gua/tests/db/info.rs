//! What is in a file.

use std::fs;

use gua_store::Database;

use super::{gua, lab};
use crate::machine::{assert_fits, program, run};

#[test]
fn info_as_lines() {
    let (_dir, path) = lab();
    let run = gua(&path, &["info"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"
    database       [DIR]/gua.db
    layout         11
    size           168.0 KiB, 0 B of it free for new rows; log 0 B
    recorder       none writes to it now
    host           lab-a100
    recorded       2026-01-01 00:58:00 UTC to 2026-01-01 01:58:30 UTC
    runs           2; the newest: gua 0.1.0 every 30s since 2026-01-01 01:58:00 UTC, not ended: it was killed, or the machine went down
    cards          2
    users          2
    processes      2
    hours          since 2026-01-01 00:00:00 UTC
    exact spans    since 2026-01-01 00:58:00 UTC
    samples        since 2026-01-01 00:58:30 UTC
    ");
}

/// Regression: lines were as long as their texts.
#[test]
fn it_fits_a_narrow_screen() {
    let (_dir, path) = lab();
    for columns in [20, 30, 50, 80, 120] {
        for what in [&["info"][..], &["check"], &["prune", "--dry-run"], &["prune", "--yes"]] {
            let mut command = program(&["db"]);
            command.args(what).arg("--db").arg(&path);
            command.env("COLUMNS", columns.to_string());
            let run = run(command);
            assert_eq!(run.code, Some(0), "{run:?}");
            assert_fits(&run.stdout, columns);
        }
    }
    let mut command = program(&["db", "info", "--db", path.to_str().unwrap()]);
    command.env("COLUMNS", "50");
    let text = run(command).stdout;
    let runs: Vec<_> = text.lines().skip_while(|line| !line.starts_with("runs")).take(3).collect();
    assert_eq!(runs[1].find(|c| c != ' '), Some(15), "it goes on below itself: {text}");
}

#[test]
fn info_as_json() {
    let (_dir, path) = lab();
    insta::assert_snapshot!(gua(&path, &["info", "--json"]).stdout, @r#"
    {
      "schema": "gua.db_info/2",
      "is_being_recorded": false,
      "path": "[DIR]/gua.db",
      "schema_version": 11,
      "file_bytes": 172032,
      "log_bytes": 0,
      "free_bytes": 0,
      "hosts": [
        "lab-a100"
      ],
      "kept": [
        {
          "kind": "hours",
          "oldest": "2026-01-01T00:00:00Z",
          "newest": "2026-01-01T00:00:00Z"
        },
        {
          "kind": "exact",
          "oldest": "2026-01-01T00:58:00Z",
          "newest": "2026-01-01T01:58:00Z"
        },
        {
          "kind": "samples",
          "oldest": "2026-01-01T00:58:30Z",
          "newest": "2026-01-01T01:58:30Z"
        }
      ],
      "rows": {
        "card": 2,
        "card_hour": 2,
        "card_span": 15,
        "event": 0,
        "gap": 0,
        "holder": 2,
        "holder_hour": 2,
        "holder_span": 13,
        "latest": 2,
        "person": 2,
        "policy_log": 0,
        "policy_state": 0,
        "process": 2,
        "push": 0,
        "run": 2,
        "sample": 15,
        "session": 0,
        "sign_span": 0,
        "total": 0,
        "workload": 0
      },
      "first": "2026-01-01T00:58:00Z",
      "last": "2026-01-01T01:58:30Z",
      "newest_run": {
        "recorder": "gua 0.1.0",
        "driver": "560.35.05",
        "interval_seconds": 30.0,
        "started": "2026-01-01T01:58:00Z",
        "ended": null,
        "ending": null
      },
      "cards": [
        {
          "uuid": "GPU-00000000",
          "index": 0,
          "mig_slot": null,
          "name": "NVIDIA H100",
          "memory_bytes": 83886080000
        },
        {
          "uuid": "GPU-00000001",
          "index": 1,
          "mig_slot": null,
          "name": "NVIDIA H100",
          "memory_bytes": 83886080000
        }
      ]
    }
    "#);
}

#[test]
fn running_recorder_is_seen() {
    let (_dir, path) = lab();
    let _recorder = Database::open_to_write(&path).unwrap();
    let text = gua(&path, &["info"]).stdout;
    assert!(text.contains("\nrecorder       writes to it now\n"), "{text}");
    assert!(text.contains("still going on"), "{text}");
}

#[test]
fn empty_database_has_nothing_yet() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gua.db");
    Database::create(&path).unwrap();
    insta::assert_snapshot!(gua(&path, &["info"]).stdout, @"
    database       [DIR]/gua.db
    layout         11
    size           168.0 KiB, 0 B of it free for new rows; log 0 B
    recorder       none writes to it now
    host           none
    recorded       nothing yet
    runs           none
    cards          0
    users          0
    processes      0
    ");
}

/// The one at home is used if none is named.
#[test]
fn default_database_is_at_home() {
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
    assert!(homeless.stderr.contains("neither GUA_HOME nor HOME is set"), "{homeless:?}");
}
