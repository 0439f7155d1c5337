//! What fails while it records: it goes on, and recovers by itself.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nvidia_ml::skip::skipped;
use rusqlite::Connection;

use super::{OBSERVED, POLLS, Recorder, TWO_CARDS, gaps, is_clean, number, status, until};
use crate::machine::Machine;

/// Ends a recorder that could store nothing for a while: what was polled meanwhile is stored all the same.
fn nothing_is_missing(recorder: Recorder) {
    assert!(recorder.said().contains("storing again; nothing is missing"), "{}", recorder.said());
    let path = recorder.database.clone();
    recorder.end();
    assert_eq!(gaps(&path), []);
}

/// A disk of a few megabytes.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m", "none"]).arg(folder);
        mount.output().is_ok_and(|it| it.status.success()).then(|| Self(folder.to_owned()))
    }

    /// Until nothing goes in any more.
    fn fill(&self) {
        let mut ballast = File::create(self.0.join("ballast")).unwrap();
        while ballast.write_all(&[0; 4096]).is_ok() {}
        while ballast.write_all(&[0]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg("--lazy").arg(&self.0).status().unwrap();
    }
}

#[test]
fn a_full_disk() {
    let machine = Machine::new(TWO_CARDS);
    let Some(disk) = Disk::mount(&machine.dir().join("disk")) else {
        return skipped("a_full_disk", "nothing can be mounted here");
    };
    let path = disk.0.join("gua.db");
    let args = ["--interval", "100ms", "--db", path.to_str().unwrap()];
    let mut recorder = Recorder::with(&machine, &args, |_| ());
    recorder.goes_on();
    disk.fill();
    until("it notices", || recorder.said().contains("the disk is full; free some space; trying"));
    is_clean(&path);
    disk.make_room();
    assert_eq!(recorder.event("storage"), "the disk is full; free some space");
    recorder.goes_on();
    nothing_is_missing(recorder);
}

/// A file that may not grow: the host tells with a signal that ends who does not expect it.
#[test]
fn a_limit_on_the_size_of_files() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.goes_on();
    let limit = |bytes: &str| {
        let mut prlimit = Command::new("prlimit");
        prlimit.arg(format!("--pid={}", recorder.pid().as_raw_nonzero()));
        let limited = prlimit.arg(format!("--fsize={bytes}:")).output();
        limited.is_ok_and(|it| it.status.success())
    };
    if !limit("20000") {
        return skipped("a_limit_on_the_size_of_files", "prlimit is not there");
    }
    until("it notices", || recorder.said().contains("cannot store: "));
    assert!(limit("unlimited"));
    recorder.event("storage");
    recorder.goes_on();
    nothing_is_missing(recorder);
}

#[test]
fn a_locked_database() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.goes_on();
    for begin in ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"] {
        let other = Connection::open(&recorder.database).unwrap();
        other.busy_timeout(Duration::from_secs(20)).unwrap();
        other.execute_batch(begin).unwrap();
        let words = "another program has it locked; try again when that has finished; trying";
        let seen = recorder.said().matches("storing again; ").count();
        until("it notices", || recorder.said().matches(words).count() > seen);
        other.execute_batch("ROLLBACK").unwrap();
        until("it stores again", || recorder.said().matches("storing again; ").count() > seen);
        recorder.goes_on();
    }
    assert!(recorder.event("storage").contains("another program has it locked"));
    assert_eq!(recorder.number("SELECT count(*) FROM event WHERE kind = 'storage'"), 2);
    assert_eq!(recorder.number("SELECT count(*) FROM run"), 1, "the same run goes on");
    nothing_is_missing(recorder);
}

#[test]
fn a_driver_that_vanishes() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.goes_on();
    let gone = "[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n";
    machine.becomes(&format!("{TWO_CARDS}\n{gone}"));
    let event = recorder.event("driver-away");
    assert!(event.starts_with("The driver is away: "), "{event}");
    recorder.goes_on();
    let (code, json) = status(&machine, &[]);
    assert_eq!((code, &json["last_trouble"]["kind"]), (Some(0), &"driver-away".into()), "{json}");
    machine.becomes(TWO_CARDS);
    assert!(recorder.event("driver").starts_with("The driver is back; it is "));
    recorder.goes_on();
    let path = recorder.database.clone();
    recorder.end();
    let gaps = gaps(&path);
    assert!(matches!(&gaps[..], [(reason, _)] if reason == "driver_gone"), "{gaps:?}");
}

#[test]
fn a_card_that_does_not_answer_for_a_while() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    // Longer than it is waited for; the one call that is under way ends some time later.
    let slow = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\nlatency = \"4s\"\n";
    machine.becomes(&format!("{TWO_CARDS}\n{slow}"));
    let event = recorder.event("card");
    assert!(event.starts_with("Card 1 (GPU-b) cannot be read: "), "{event}");
    recorder.goes_on();
    machine.becomes(TWO_CARDS);
    until("it is well again", || recorder.event("card") == "Card 1 (GPU-b) can be read again.");
    recorder.goes_on();
    let path = recorder.database.clone();
    recorder.end();
    let unknown = |uuid: &str| {
        let card = format!("card = (SELECT id FROM card WHERE uuid = '{uuid}')");
        number(&path, &format!("SELECT sum(unknown_ms) FROM card_span WHERE {card}"))
    };
    assert!(unknown("GPU-b") > 0);
    assert_eq!(unknown("GPU-a"), 0, "the other card was read");
}

#[test]
fn a_database_that_is_deleted_or_moved_away() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.goes_on();
    let moved = machine.dir().join("moved.db");
    fs::rename(&recorder.database, &moved).unwrap();
    recorder.has_ticked(3);
    assert_eq!(recorder.number("SELECT count(*) FROM run"), 1, "a new one at the path");
    is_clean(&moved);
    assert!(number(&moved, POLLS) >= 3, "the old one is whole");
    assert_eq!(number(&moved, "SELECT count(*) FROM run WHERE ending = 'moved'"), 1);
    fs::remove_dir_all(recorder.database.parent().unwrap()).unwrap();
    recorder.has_ticked(3);
    recorder.end();
}

/// What somebody put in its place is not written to.
#[test]
fn a_database_that_is_replaced() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.goes_on();
    let notes = machine.dir().join("notes");
    fs::write(&notes, "my notes\n").unwrap();
    fs::rename(&notes, &recorder.database).unwrap();
    until("it notices", || recorder.said().contains("it is not a database of gua (not an SQLite"));
    assert_eq!(fs::read_to_string(&recorder.database).unwrap(), "my notes\n");
    fs::remove_file(&recorder.database).unwrap();
    recorder.has_ticked(3);
    assert!(recorder.event("storage").contains("it is not a database of gua"));
    let path = recorder.database.clone();
    recorder.end();
    assert!(number(&path, OBSERVED) > 0);
}
