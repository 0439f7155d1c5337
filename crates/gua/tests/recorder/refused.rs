//! Databases that a recorder must not write to: refused, with what to do, and left alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nvidia_ml::skip::skipped;
use rusqlite::Connection;

use super::{Recorder, TWO_CARDS, at_home, plain};
use crate::machine::{Machine, PYTHON_GUA, program, run};

fn sqlite(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Every file of a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn lay(folder: &Path) -> Vec<PathBuf> {
    fs::create_dir_all(folder).unwrap();
    let at = |name: &str| folder.join(name);
    fs::write(at("notes.txt"), "SQLite is a library\n").unwrap();
    sqlite(&at("other.db"), "CREATE TABLE t (x);");
    sqlite(&at("newer.db"), "PRAGMA application_id = 0x47554131; PRAGMA user_version = 99;");
    sqlite(&at("older.db"), "PRAGMA application_id = 0x47554131; PRAGMA user_version = 4;");
    let mut broken = b"SQLite format 3\0".to_vec();
    broken.resize(4096, 0x5a);
    fs::write(at("broken.db"), broken).unwrap();
    ["notes.txt", "other.db", "newer.db", "older.db", "broken.db"].map(at).to_vec()
}

#[test]
fn what_is_not_ours_is_left_as_it_is() {
    let machine = Machine::new(TWO_CARDS);
    let folder = machine.dir().join("theirs");
    let mut paths = lay(&folder);
    sqlite(&folder.join("python.db"), PYTHON_GUA);
    paths.extend([folder.join("python.db"), folder.clone(), "/dev/null".into()]);
    let before = files(&folder);
    let mut told = String::new();
    for path in &paths {
        let path = path.to_str().unwrap();
        for args in [&["--append"][..], &[], &["--append", "--foreground"]] {
            let run = machine.gua(&[&["daemon", "--db", path], args].concat());
            assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{path} {args:?} {run:?}");
            if args == ["--append"] {
                told.push_str(&plain(&run.stderr, &machine));
            }
        }
    }
    assert!(files(&folder) == before);
    assert!(!machine.home().join(".gua").exists(), "nothing was made");
    insta::assert_snapshot!(told, @"
    gua: cannot use [DIR]/theirs/notes.txt: it is not a database of gua (not an SQLite file); choose another file with --db
    gua: cannot use [DIR]/theirs/other.db: it is not a database of gua (a database of another program); choose another file with --db
    gua: cannot use [DIR]/theirs/newer.db: it has layout 99 of a newer gua, and this version knows 11; update gua, or choose another file with --db
    gua: cannot use [DIR]/theirs/older.db: it has layout 4 of an earlier gua, which this version does not read; move it away, or choose another file with --db
    gua: cannot use [DIR]/theirs/broken.db: it is not a database of gua (not an SQLite file); choose another file with --db
    gua: cannot use [DIR]/theirs/python.db: it is a history of the Python gua; convert it with `gua db import`
    gua: cannot use [DIR]/theirs: it is not a database of gua (a folder); choose another file with --db
    gua: cannot use /dev/null: it is not a database of gua (not a file); choose another file with --db
    ");
}

/// At home nobody named it, so it is no mistake of whoever typed.
#[test]
fn what_is_not_ours_at_home_is_left_as_it_is_too() {
    let machine = Machine::new(TWO_CARDS);
    let home = machine.home().join(".gua");
    let path = at_home(&machine, "gua.db");
    for from in lay(&machine.dir().join("theirs")) {
        fs::create_dir_all(&home).unwrap();
        fs::copy(&from, &path).unwrap();
        let before = files(&home);
        let run = machine.gua(&["start"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{from:?} {run:?}");
        assert!(run.stderr.starts_with("gua: cannot use "), "{run:?}");
        assert!(files(&home) == before, "{from:?}");
    }
}

#[test]
fn a_database_that_was_named_is_not_gone_on_with_by_accident() {
    let machine = Machine::new(TWO_CARDS);
    let path = machine.dir().join("x.db");
    let path = path.to_str().unwrap();
    let first = Recorder::with(&machine, &["--db", path], |_| ());
    first.end();
    let before = fs::read(path).unwrap();
    for args in [&["daemon", "--db", path][..], &["daemon", "--foreground", "--db", path]] {
        let run = machine.gua(args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(plain(&run.stderr, &machine), @"gua: the database [DIR]/x.db exists already; add --append to record into it, or use another path");
        }
    }
    assert!(fs::read(path).unwrap() == before);
    let second = Recorder::with(&machine, &["--db", path, "--append"], |_| ());
    second.end();
    assert_eq!(super::number(Path::new(path), "SELECT count(*) FROM run"), 2);
}

/// A file with nothing in it may have been made for us, with its rights.
#[test]
fn an_empty_file_is_taken_when_told_to() {
    let machine = Machine::new(TWO_CARDS);
    let path = machine.dir().join("x.db");
    fs::write(&path, "").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(machine.gua(&["daemon", "--db", path]).code, Some(2));
    Recorder::with(&machine, &["--db", path, "--append"], |_| ()).end();
}

/// A folder that nobody can write to, not even root; `None` where it cannot be made.
struct ReadOnly(PathBuf);

impl ReadOnly {
    fn mount(folder: &Path) -> Option<Self> {
        let mount = |args: &[&str]| {
            let mounted = Command::new("mount").args(args).arg(folder).output();
            mounted.is_ok_and(|mounted| mounted.status.success()).then_some(())
        };
        let folder_name = folder.to_str().unwrap();
        mount(&["--bind", folder_name])?;
        let made = Self(folder.to_owned());
        mount(&["-o", "remount,bind,ro"])?;
        Some(made)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        Command::new("umount").arg("--lazy").arg(&self.0).status().unwrap();
    }
}

#[test]
fn where_nothing_can_be_written_it_does_not_start() {
    let machine = Machine::new(TWO_CARDS);
    let folder = machine.dir().join("ro");
    let path = folder.join("gua.db");
    let new = folder.join("new.db");
    Recorder::with(&machine, &["--db", path.to_str().unwrap()], |_| ()).end();
    let Some(_mount) = ReadOnly::mount(&folder) else {
        return skipped("where_nothing_can_be_written", "nothing can be mounted here");
    };
    let mut told = String::new();
    for path in [&path, &new] {
        let run = machine.gua(&["daemon", "--append", "--db", path.to_str().unwrap()]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        told.push_str(&plain(&run.stderr, &machine));
    }
    insta::assert_snapshot!(told, @"
    gua: the recorder did not start; the end of its log:
    [TIME]  gua records every 30s into [DIR]/ro/gua.db
    [TIME]  cannot store: it may not be written; run as the recorder's user, or choose another file with --db; trying again at each tick
    gua: cannot use [DIR]/ro/gua.db: it may not be written; run as the recorder's user, or choose another file with --db
    gua: the recorder did not start; the end of its log:
    [TIME]  gua records every 30s into [DIR]/ro/new.db
    [TIME]  cannot store: Read-only file system (os error 30); check the path and its permissions; trying again at each tick
    gua: cannot use [DIR]/ro/new.db: Read-only file system (os error 30); check the path and its permissions
    ");
    assert!(!at_home(&machine, "gua.pid").exists());
}

#[test]
fn another_users_database_is_not_recorded_into() {
    let machine = Machine::new(TWO_CARDS);
    let path = machine.dir().join("x.db");
    Recorder::with(&machine, &["--db", path.to_str().unwrap()], |_| ()).end();
    let Some(mut command) = as_nobody(&machine, &["daemon", "--foreground", "--append"]) else {
        return skipped("another_users_database", "no other user can be played");
    };
    command.arg("--db").arg(&path).arg("--pid-file").arg("/nowhere/gua.pid");
    let run = run(command);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("permission denied; run as the recorder's user"), "{run:?}");
}

/// The program as a user who owns nothing; `None` where that cannot be played.
pub fn as_nobody(machine: &Machine, args: &[&str]) -> Option<Command> {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(machine.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut trial = program(&["version"]);
    trial.uid(NOBODY).gid(NOBODY);
    let mut command = machine.command(args);
    command.uid(NOBODY).gid(NOBODY);
    trial.output().is_ok_and(|output| output.status.success()).then_some(command)
}
