//! What `gua report` says of files that are missing, foreign, damaged or in use.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nvidia_ml::skip::skipped;

use super::{BOTH_DAYS, HOUR, Histories, SATURDAY, lab};
use crate::history::{MINUTE, Recording};
use crate::machine::{program, run};

/// What it says on stderr of a file with this in it.
fn refused(histories: &Histories) -> String {
    let run = histories.report(&[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    run.stderr.replace(histories.dir().to_str().unwrap(), "DIR")
}

#[test]
fn a_history_that_is_not_there() {
    insta::assert_snapshot!(refused(&Histories::new()), @"
    gua: cannot use DIR/gua.db: there is no such file; `gua daemon` starts recording, or choose another file with --db
    ");
}

#[test]
fn the_usual_place_is_in_the_home() {
    let home = tempfile::tempdir().unwrap();
    let mut command = program(&["report"]);
    command.env("HOME", home.path());
    assert!(run(command).stderr.contains("/.gua/gua.db: there is no such file"));
    let mut command = program(&["report"]);
    command.env_remove("HOME");
    let run = run(command);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("--db PATH"), "{run:?}");
}

#[test]
fn what_is_no_history_of_ours() {
    let histories = Histories::new();
    fs::write(histories.path(), "some text that goes on for a while").unwrap();
    insta::assert_snapshot!(refused(&histories), @"
    gua: cannot use DIR/gua.db: it is not a database of gua (not an SQLite file); choose another file with --db
    ");
    fs::write(histories.path(), "").unwrap();
    assert!(refused(&histories).contains("not a database of gua (an empty file)"));
    fs::remove_file(histories.path()).unwrap();
    fs::create_dir(histories.path()).unwrap();
    assert!(refused(&histories).contains("not a database of gua (a folder)"));
}

#[test]
fn a_history_of_a_newer_or_an_earlier_gua() {
    let histories = Histories::two_days();
    for version in [999, 3] {
        let database = rusqlite::Connection::open(histories.path()).unwrap();
        database.pragma_update(None, "user_version", version).unwrap();
        drop(database);
        let refused = refused(&histories);
        let expected = match version {
            999 => "it has layout 999 of a newer gua",
            _ => "it has layout 3 of an earlier gua",
        };
        assert!(refused.contains(expected) && refused.contains("--db"), "{refused}");
    }
}

#[test]
fn a_damaged_history() {
    let histories = Histories::two_days();
    let mut bytes = fs::read(histories.path()).unwrap();
    bytes[100..4096].fill(0xa5);
    fs::write(histories.path(), bytes).unwrap();
    insta::assert_snapshot!(refused(&histories), @"
    gua: cannot use DIR/gua.db: it is damaged (database disk image is malformed); move it away, or restore a copy
    ");
}

/// The recorder has the database open, with its last ticks in the log only.
#[test]
fn it_reads_while_the_recorder_writes() {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, MINUTE);
    let window = ["--from", "2024-11-09", "--until", "2024-11-09 02:00"];
    let observed = || histories.json(&window)["window"]["observed_seconds"].clone();
    recording.until(SATURDAY + HOUR / 2, 1, lab);
    assert_eq!(observed(), 1800.0);
    recording.tick(MINUTE, &lab(SATURDAY + HOUR / 2));
    assert_eq!(observed(), 1860.0);
    let gaps = &histories.json(&window)["gaps"];
    assert_eq!(gaps[0]["reason"], "stalled", "no tick for long: {gaps}");
    recording.end("stopped");
    assert_eq!(observed(), 1860.0);
    assert_eq!(histories.json(&window)["gaps"][0]["reason"], "stopped");
}

/// As another user who may read the file and write nothing, in a folder that is closed
/// for writing, also while the recorder writes.
#[test]
fn it_reads_what_it_may_not_write() {
    reads_what_it_may_not_write(&Histories::two_days());
}

fn reads_what_it_may_not_write(histories: &Histories) {
    let expected = histories.report(&BOTH_DAYS).stdout;
    fs::set_permissions(histories.path(), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(histories.dir(), fs::Permissions::from_mode(0o555)).unwrap();
    let Some(mut command) = as_nobody() else {
        return skipped("a report of a read-only history", "this user cannot play another");
    };
    command.args(["report", "--db"]).arg(histories.path()).args(BOTH_DAYS);
    let before = fs::read_dir(histories.dir()).unwrap().count();
    let bytes = fs::read(histories.path()).unwrap();
    let run = run(command);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout, expected);
    assert_eq!(fs::read_dir(histories.dir()).unwrap().count(), before);
    assert!(fs::read(histories.path()).unwrap() == bytes);
    fs::set_permissions(histories.dir(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// The program as a user who owns nothing; `None` where that cannot be played.
fn as_nobody() -> Option<Command> {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let nobody = |args: &[&str]| {
        let mut command = program(args);
        command.uid(NOBODY).gid(NOBODY);
        command
    };
    // The program itself may lie in a folder that is closed to others.
    let trial = nobody(&["version"]).output();
    trial.is_ok_and(|output| output.status.success()).then(|| nobody(&[]))
}

#[test]
fn a_pipe_that_is_closed_is_no_failure() {
    let histories = Histories::two_days();
    let script = format!(
        "{} report --db {} --since 400d --json | head -c 1",
        env!("CARGO_BIN_EXE_gua"),
        histories.path().display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
