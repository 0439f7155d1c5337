//! The wall clock is set while it records. Only the recorder sees it set: a library that is
//! loaded before the host's own tells it the time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use gua_core::units::UnixMillis;
use nvidia_ml::skip::skipped;

use super::{OBSERVED, Recorder, TWO_CARDS, gaps, is_clean, number};
use crate::history;
use crate::machine::Machine;

const HOUR: i64 = 3_600_000;

/// A clock that can be set.
pub(crate) struct Clock {
    library: PathBuf,
    offset: PathBuf,
}

impl Clock {
    /// `None` where libfaketime is not installed.
    pub fn new(folder: &Path) -> Option<Self> {
        let architectures = fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
        let library = architectures
            .map(|folder| folder.join("faketime/libfaketimeMT.so.1"))
            .find(|path| path.is_file())?;
        let clock = Self { library, offset: folder.join("offset") };
        clock.set(0);
        Some(clock)
    }

    /// So many seconds ahead of the real time, at once for who has it.
    pub fn set(&self, seconds: i64) {
        let new = self.offset.with_extension("new");
        fs::write(&new, format!("{seconds:+}\n")).unwrap();
        fs::rename(new, &self.offset).unwrap();
    }

    pub fn give(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.offset)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
}

/// A recorder whose clock can be set, after some ticks.
fn recorder() -> Option<(Machine, Clock, Recorder)> {
    let machine = Machine::new(TWO_CARDS);
    let Some(clock) = Clock::new(machine.dir()) else {
        skipped("the clock is set while it records", "libfaketime is not installed");
        return None;
    };
    let mut recorder =
        Recorder::with(&machine, &["--interval", "100ms"], |command| clock.give(command));
    recorder.has_ticked(4);
    Some((machine, clock, recorder))
}

#[test]
fn clock_set_forward_is_a_gap() {
    let Some((_machine, clock, mut recorder)) = recorder() else { return };
    clock.set(3600);
    assert!(recorder.event("clock-set").starts_with("The clock was set forward by 3"));
    recorder.goes_on();
    assert_eq!(recorder.number("SELECT count(*) FROM run"), 1, "the same run");
    let path = recorder.database.clone();
    end(recorder);
    let gaps = gaps(&path);
    assert!(
        matches!(&gaps[..], [(reason, length)] if reason == "clock_set" && (length - HOUR).abs() < 20_000),
        "{gaps:?}"
    );
    let spans = "SELECT count(*) FROM card_span, gap
                     WHERE card_span.from_ms < to_ms AND card_span.from_ms + length_ms > gap.from_ms";
    assert_eq!(number(&path, spans), 0, "nothing is recorded of the hour that was not");
}

#[test]
fn clock_set_back_begins_a_run() {
    let Some((_machine, clock, mut recorder)) = recorder() else { return };
    clock.set(-3600);
    assert!(recorder.event("clock-set").starts_with("The clock was set back by 3"));
    recorder.goes_on();
    let ended = "SELECT count(*) FROM run WHERE id = 1 AND ending = 'clock_set_back'";
    assert_eq!(recorder.number(ended), 1);
    assert_eq!(recorder.number("SELECT goes_back FROM run WHERE id = 2"), 1);
    is_clean(&recorder.database);
    // And back to the right time: over what is recorded there already.
    clock.set(0);
    recorder.goes_on();
    recorder.goes_on();
    let path = recorder.database.clone();
    end(recorder);
    assert!(number(&path, OBSERVED) > 0);
}

/// Ends it, and asserts that no more time is stored than there was, for either card.
fn end(recorder: Recorder) {
    let path = recorder.database.clone();
    recorder.end();
    is_clean(&path);
    let recorded = "SELECT sum(until_ms - started_ms) FROM run";
    assert!(number(&path, OBSERVED) <= 2 * number(&path, recorded));
}

/// Regression: a start at a clock 500 days ahead, a restart and ten minutes deleted the history
/// without a word.
#[test]
fn clock_far_ahead_and_a_restart_delete_nothing() {
    let machine = Machine::new(TWO_CARDS);
    let Some(clock) = Clock::new(machine.dir()) else {
        skipped("a clock far ahead and a restart", "libfaketime is not installed");
        return;
    };
    let database = super::at_home(&machine, "gua.db");
    let until = UnixMillis::from(SystemTime::now()).0;
    let mut history = history::Recording::begin(&database, until - 48 * HOUR, HOUR);
    for _ in 0..48 {
        history.tick(HOUR, &[history::card("A100", 0.0).held_by("ann", 1000, 9_000)]);
    }
    history.end("stopped");
    let rows = || {
        ["sample WHERE at_ms", "card_span WHERE from_ms", "holder_span WHERE from_ms"]
            .map(|rows| number(&database, &format!("SELECT count(*) FROM {rows} < {until}")))
    };
    let before = rows();
    let ahead = 500 * 86_400;
    clock.set(ahead);
    let start =
        || Recorder::with(&machine, &["--interval", "100ms"], |command| clock.give(command));
    start().end();
    let mut recorder = start();
    clock.set(ahead + 11 * 60);
    recorder.goes_on();
    recorder.goes_on();
    assert_eq!(rows(), before);
    let said = recorder.said();
    assert!(said.contains("500 days"), "the log says why it waits: {said}");
    recorder.end();
}
