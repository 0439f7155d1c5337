//! What fails while it records: it goes on, the time is a gap, and it recovers by itself.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nvidia_ml::skip::skipped;
use rusqlite::Connection;

use super::{Recorder, TWO_CARDS, gaps, is_clean, number, status, until};
use crate::machine::Machine;

/// Between what was observed before and after there is a gap, with the event that explains
/// it.
fn has_a_gap(recorder: &Recorder, kind: &str) {
    let uncovered = format!(
        "SELECT count(*) FROM event WHERE kind = '{kind}' AND until_ms > at_ms
             AND NOT EXISTS (SELECT 1 FROM observed
                 WHERE from_ms < until_ms AND from_ms + ifnull(length_ms, 0) > at_ms)"
    );
    assert_eq!(recorder.number(&uncovered), 1, "{}", recorder.said());
    let gaps = gaps(&recorder.database);
    assert!(gaps.iter().any(|reason| reason == kind), "{gaps:?}");
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
        self.fill_but(0);
    }

    /// Until no more than this goes in.
    fn fill_but(&self, room: u64) {
        let mut ballast = File::create(self.0.join("ballast")).unwrap();
        while ballast.write_all(&[0; 4096]).is_ok() {}
        while ballast.write_all(&[0]).is_ok() {}
        let length = ballast.metadata().unwrap().len();
        ballast.set_len(length - room).unwrap();
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
    until("it notices", || recorder.said().contains("cannot store: the disk is full; trying"));
    is_clean(&path);
    disk.make_room();
    assert_eq!(recorder.event("storage"), "the disk is full");
    recorder.goes_on();
    has_a_gap(&recorder, "storage");
    assert!(recorder.said().contains("storing again; "), "{}", recorder.said());
    recorder.end();
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
    has_a_gap(&recorder, "storage");
    recorder.end();
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
        let words = "cannot store: another program has it locked";
        let seen = recorder.said().matches("storing again; ").count();
        until("it notices", || recorder.said().matches(words).count() > seen);
        other.execute_batch("ROLLBACK").unwrap();
        until("it stores again", || recorder.said().matches("storing again; ").count() > seen);
        recorder.goes_on();
    }
    assert_eq!(recorder.event("storage"), "another program has it locked");
    assert_eq!(recorder.number("SELECT count(*) FROM event WHERE kind = 'storage'"), 2);
    assert_eq!(recorder.number("SELECT count(*) FROM run"), 1, "the same run goes on");
    recorder.end();
}

#[test]
fn a_driver_that_vanishes() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.goes_on();
    let gone = "[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n";
    machine.becomes(&format!("{TWO_CARDS}\n{gone}"));
    assert_eq!(recorder.event("driver_gone"), "the NVIDIA kernel driver is not loaded");
    recorder.goes_on();
    let (code, json) = status(&machine, &[]);
    assert_eq!((code, &json["last_trouble"]["kind"]), (Some(0), &"driver_gone".into()), "{json}");
    let last = "FROM tick ORDER BY id DESC LIMIT 1";
    assert_eq!(recorder.number(&format!("SELECT covers_ms {last}")), 0);
    let cards = format!("SELECT count(*) FROM sample WHERE tick = (SELECT id {last})");
    assert_eq!(recorder.number(&cards), 0, "nothing is known of the cards");
    machine.becomes(TWO_CARDS);
    assert!(recorder.event("driver").starts_with("the driver is "));
    recorder.goes_on();
    assert_eq!(recorder.number(&cards), 2);
    assert!(recorder.number(&format!("SELECT covers_ms {last}")) > 0);
    let gaps = gaps(&recorder.database);
    assert!(gaps.iter().any(|reason| reason == "driver_gone"), "{gaps:?}");
    recorder.end();
}

#[test]
fn a_card_that_does_not_answer_for_a_while() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    // Longer than it is waited for; the one call that is under way ends some time later.
    let slow = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\nlatency = \"4s\"\n";
    machine.becomes(&format!("{TWO_CARDS}\n{slow}"));
    let told = recorder.event("card");
    assert!(told.starts_with("card 1 (GPU-b): "), "{told}");
    let states = "SELECT count(DISTINCT card.id) FROM sample JOIN card ON card.id = card
                      WHERE tick = (SELECT max(id) FROM tick)";
    recorder.goes_on();
    assert_eq!(recorder.number(states), 2, "the other card is there, and so is this one");
    let unknown = "SELECT count(*) FROM sample WHERE utilization IS NULL
                       AND card = (SELECT id FROM card WHERE uuid = 'GPU-b')";
    assert!(recorder.number(unknown) > 0);
    machine.becomes(TWO_CARDS);
    until("it is well again", || recorder.event("card") == "card 1 (GPU-b) is well again");
    recorder.end();
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
    assert!(number(&moved, "SELECT count(*) FROM tick") >= 3, "the old one is whole");
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
    until("it notices", || recorder.said().contains("cannot store: it is not a database"));
    assert_eq!(fs::read_to_string(&recorder.database).unwrap(), "my notes\n");
    fs::remove_file(&recorder.database).unwrap();
    recorder.has_ticked(3);
    assert_eq!(recorder.event("storage"), "it is not a database");
    recorder.end();
}
