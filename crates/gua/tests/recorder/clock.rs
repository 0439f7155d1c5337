//! The wall clock is set while it records. Only the recorder sees it set: a library that is
//! loaded before the host's own tells it the time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use nvidia_ml::skip::skipped;
use probe::units::UnixMillis;
use serde_json::Value;

use super::{Recorder, TWO_CARDS, is_clean};
use crate::history::{Recording, card};
use crate::machine::{Machine, program, run};

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

/// What is observed after the clock was set, in milliseconds by the time stamps.
fn observed(recorder: &Recorder, run: i64) -> i64 {
    recorder.number(&format!("SELECT ifnull(sum(covers_ms), 0) FROM tick WHERE run = {run}"))
}

/// `gua report --json` over all of it, by the clock that was set.
fn report(clock: &Clock, path: &Path) -> Value {
    let mut command = program(&["report", "--json", "--since", "5h", "--db"]);
    command.arg(path);
    clock.give(&mut command);
    let told = run(command);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    serde_json::from_str(&told.stdout).unwrap()
}

#[test]
fn an_hour_forward() {
    let Some((_machine, clock, mut recorder)) = recorder() else { return };
    clock.set(3600);
    let told = recorder.event("clock_set");
    assert!(told.starts_with("the clock was set; since the last tick it moved by 36"), "{told}");
    let before = observed(&recorder, 1);
    recorder.goes_on();
    assert!(observed(&recorder, 1) > before, "it goes on at once");
    let gap = "SELECT until_ms - at_ms FROM event WHERE kind = 'clock_set'";
    assert!((recorder.number(gap) - HOUR).abs() < 20_000);
    let in_gap = "SELECT count(*) FROM event, observed WHERE kind = 'clock_set'
                      AND from_ms < until_ms AND from_ms + ifnull(length_ms, 0) > at_ms";
    assert_eq!(recorder.number(in_gap), 0, "nothing speaks for the hour that was not");
    assert_eq!(recorder.number("SELECT max(covers_ms) <= 150 FROM tick"), 1);
    assert_eq!(recorder.number("SELECT count(*) FROM run"), 1, "the same run");
    let report = is_sane(&clock, recorder);
    let gaps = report["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|gap| gap["reason"] == "clock_set"), "{report:#}");
}

#[test]
fn an_hour_back() {
    let Some((_machine, clock, mut recorder)) = recorder() else { return };
    clock.set(-3600);
    let told = recorder.event("clock_set");
    assert!(told.contains("it moved by -3"), "{told}");
    recorder.goes_on();
    assert!(observed(&recorder, 2) > 0, "it goes on at once");
    let ended = "SELECT count(*) FROM run WHERE id = 1 AND ending = 'clock_set_back'";
    assert_eq!(recorder.number(ended), 1);
    assert_eq!(recorder.number("SELECT goes_back FROM run WHERE id = 2"), 1);
    is_clean(&recorder.database);
    // And back to the right time: over what is recorded there already.
    clock.set(0);
    recorder.goes_on();
    recorder.goes_on();
    is_sane(&clock, recorder);
}

/// Ends it, and looks at the whole: the report tells what the ticks spoke for, once.
fn is_sane(clock: &Clock, recorder: Recorder) -> Value {
    let path = recorder.database.clone();
    recorder.end();
    is_clean(&path);
    let report = report(clock, &path);
    let told = report["window"]["observed_seconds"].as_f64().unwrap();
    let spoken_for = super::ask(&path, "SELECT sum(covers_ms) / 1000.0 FROM tick");
    let spoken_for: f64 = spoken_for.unwrap();
    assert!((told - spoken_for).abs() < 0.01, "{told} s of {spoken_for} s: {report:#}");
    report
}

/// Regression: a start at a clock 500 days ahead, a restart and ten minutes deleted the history
/// without a word.
#[test]
fn a_clock_far_ahead_and_a_restart_delete_nothing() {
    let machine = Machine::new(TWO_CARDS);
    let Some(clock) = Clock::new(machine.dir()) else {
        skipped("a clock far ahead and a restart", "libfaketime is not installed");
        return;
    };
    let database = super::at_home(&machine, "gua.db");
    let until = UnixMillis::from(SystemTime::now()).0;
    let mut history = Recording::begin(&database, until - 48 * HOUR, 30_000);
    for _ in 0..48 {
        history.tick(HOUR, &[card("NVIDIA H100", 80.0).held_by("ann", 1000, 9_000)]);
    }
    history.end("stopped");
    let rows = || -> Vec<i64> {
        let count = |what: &str| super::number(&database, &format!("SELECT count(*) FROM {what}"));
        [
            format!("tick WHERE at_ms <= {until}"),
            format!("sample, tick WHERE tick.id = sample.tick AND at_ms <= {until}"),
            format!("card_span WHERE from_ms < {until}"),
            format!("holder_span WHERE from_ms < {until}"),
        ]
        .map(|what| count(&what))
        .to_vec()
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
    let notices: Vec<_> = said.lines().filter(|line| line.contains("pruning waits")).collect();
    let [first, second] = notices[..] else { panic!("one notice a start: {said}") };
    assert!(first.contains("it is 500 days ahead of the last record"), "{first}");
    assert!(second.contains("24 h of recording"), "{second}");
    recorder.end();
}
