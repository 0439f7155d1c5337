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
    insta::assert_snapshot!(run.stdout, @"");
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
    insta::assert_snapshot!(gua(&path, &["info", "--json"]).stdout, @"");
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
    insta::assert_snapshot!(gua(&path, &["info"]).stdout, @"");
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
