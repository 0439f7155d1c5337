//! A disk that is full, and a file that another program has locked.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

use gua_core::units::UnixMillis;
use gua_store::{Database, Problem, Tick, Writer};
use rusqlite::Connection;

use crate::lab::*;

/// Names the folder on a small disk in the environment of a child.
const CHILD_FOLDER: &str = "GUA_STORE_FULL_DISK";

const INTERVAL: i64 = 30_000;

fn skip(what: &str, why: &str) {
    let Some(path) = env::var_os("GUA_TEST_SKIPS") else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "SKIPPED: {what}: {why}").unwrap();
}

/// Stores an interval of short spans.
fn tick(writer: &mut Writer, from: i64) -> Result<(), gua_store::StoreError> {
    let closed = spans(&card(0), from, &[(INTERVAL / 2, 0), (INTERVAL / 2, 1)]);
    let at = UnixMillis(from + INTERVAL);
    writer.tick(&Tick { closed: &closed, recorded_ms: INTERVAL, ..Tick::new(at, at) })
}

/// Runs the child below in a mount namespace of its own, where its folder is a disk of 1 MB.
#[test]
fn full_disk_loses_nothing_and_writing_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let child = env::current_exe().unwrap();
    let script = "mount -t tmpfs -o size=1m none \"$0\" || exit 77
                  exec \"$1\" --exact disk::full_disk_child --nocapture";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .args([folder.path(), &child])
        .env(CHILD_FOLDER, folder.path())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return skip("a full disk", "there is no unshare");
        }
        Err(error) => panic!("{error}"),
    };
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let is_denied = output.status.code() == Some(77) || text[1].starts_with("unshare:");
    if is_denied {
        return skip("a full disk", "no mount namespace may be made");
    }
    assert!(output.status.success() && text[0].contains("1 passed"), "{text:?}");
}

/// The child: without its variable in the environment it does nothing.
#[test]
fn full_disk_child() {
    let Some(folder) = env::var_os(CHILD_FOLDER).map(PathBuf::from) else { return };
    let (path, ballast) = (folder.join("gua.db"), folder.join("ballast"));
    Database::create(&path).unwrap();
    fs::write(&ballast, vec![1; 300_000]).unwrap();
    let mut writer = Writer::begin(Database::open_to_write(&path).unwrap(), run(START)).unwrap();
    let mut committed = fill(&mut writer, START);
    assert!(committed > START + 10 * INTERVAL, "it was full at once");
    // It stays full, and what was committed stays.
    assert_eq!(fill(&mut writer, committed), committed);
    assert_whole(&path, committed);
    fs::remove_file(&ballast).unwrap();
    for _ in 0..10 {
        tick(&mut writer, committed).unwrap();
        committed += INTERVAL;
    }
    assert_whole(&path, committed);
    // After a crash on the full disk too.
    committed = fill(&mut writer, committed);
    drop(writer);
    assert_whole(&path, committed);
    // Not a byte is left for what SQLite writes beside the file when it is opened after a crash.
    fs::remove_file(folder.join("gua.db-shm")).unwrap();
    fill_up(&folder);
    for error in [Database::open(&path).unwrap_err(), Database::open_to_write(&path).unwrap_err()] {
        assert!(matches!(error.problem, Problem::Full), "{error}");
    }
    fs::remove_file(folder.join("rest")).unwrap();
    assert_whole(&path, committed);
}

fn fill_up(folder: &Path) {
    let mut file = fs::File::create(folder.join("rest")).unwrap();
    while file.write_all(&[1; 512]).is_ok() {}
}

/// Records until the disk is full. Returns the time up to which it was recorded.
fn fill(writer: &mut Writer, from: i64) -> i64 {
    let mut at = from;
    loop {
        match tick(writer, at) {
            Ok(()) => at += INTERVAL,
            Err(error) => {
                assert!(matches!(error.problem, Problem::Full), "{error}");
                return at;
            }
        }
    }
}

fn assert_whole(path: &Path, until: i64) {
    let database = Database::open(path).unwrap();
    assert_eq!(database.final_until().unwrap(), Some(UnixMillis(until)));
    assert_eq!(database.check().unwrap(), []);
    let sums = database.usage(period(START, until)).unwrap();
    assert_eq!(sums.cards[&1].times.observed_ms(), (until - START) as f64);
}

#[test]
fn tick_on_a_locked_file_fails_and_the_next_one_succeeds() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    tick(&mut writer, START).unwrap();
    let other = Connection::open(lab.path()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = tick(&mut writer, START + INTERVAL).unwrap_err();
    assert!(matches!(error.problem, Problem::Locked), "{error}");
    // Reading goes on.
    assert_eq!(lab.read().final_until().unwrap(), Some(UnixMillis(START + INTERVAL)));
    other.execute_batch("COMMIT").unwrap();
    tick(&mut writer, START + INTERVAL).unwrap();
    tick(&mut writer, START + 2 * INTERVAL).unwrap();
    assert_whole(&lab.path(), START + 3 * INTERVAL);
}

/// Names the database in the environment of a child.
const CHILD_FILE: &str = "GUA_STORE_OTHER_PROGRAM";

/// The child: another program that wants the database to itself. Without its variable in the environment
/// it does nothing.
#[test]
fn other_program_child() {
    let Some(path) = env::var_os(CHILD_FILE) else { return };
    let other = Connection::open(path).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE").unwrap();
    let runs = other.query_row("SELECT count(*) FROM run", [], |row| row.get::<_, i64>(0));
    assert!(runs.is_err(), "it has the database to itself: {runs:?}");
}

/// Returns true if another program cannot have the database to itself.
fn is_shared(path: &Path) -> bool {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "disk::other_program_child", "--nocapture"])
        .env(CHILD_FILE, path)
        .output()
        .unwrap();
    child.status.success()
}

/// Trap: closing any handle of a file drops the POSIX locks that the process has on it, SQLite's included.
#[test]
fn opening_and_closing_in_the_writers_process_keeps_its_posix_locks() {
    let lab = Lab::new();
    let path = lab.path();
    let mut writer = lab.begin(START);
    tick(&mut writer, START).unwrap();
    assert!(is_shared(&path));
    // What the process of a recorder does with its file besides.
    drop(lab.read());
    lab.read().check().unwrap();
    Database::identify(&path).unwrap();
    Database::create(&path).unwrap_err();
    assert!(writer.database().is_in_place());
    assert!(is_shared(&path), "the locks are gone");
    tick(&mut writer, START + INTERVAL).unwrap();
    let database = writer.into_database();
    // What must not be done.
    drop(fs::File::open(&path).unwrap());
    assert!(!is_shared(&path), "the test would not notice");
    drop(database);
}

/// Somebody may have made the file to set its permissions.
#[test]
fn empty_file_becomes_a_database_with_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gua.db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    Database::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    Database::open(&path).unwrap();
    assert!(Database::create(&path).is_err(), "it has contents now");
}

#[test]
fn link_that_leads_nowhere_yet_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let [link, target] = ["link.db", "data/gua.db"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink("data/gua.db", &link).unwrap();
    Database::create(&link).unwrap();
    assert!(link.is_symlink() && target.is_file());
    Database::open(&link).unwrap();
}
