//! The log: a line each with the time, and a new file when the old one was moved away.

use std::fs;

use rustix::process::Signal;

use super::{Recorder, TWO_CARDS, until};
use crate::machine::Machine;

#[test]
fn every_line_has_its_time() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.signal(Signal::TERM);
    recorder.ended();
    let said = recorder.said();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    for line in lines {
        let (time, words) = line.split_once("  ").unwrap();
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{line}");
        assert!(
            words == "stopping" || words.starts_with("gua records every 100ms into "),
            "{line}"
        );
    }
}

#[test]
fn a_log_that_is_moved_away_is_begun_anew() {
    let machine = Machine::new(TWO_CARDS);
    let (log, moved) = (machine.dir().join("gua.log"), machine.dir().join("gua.log.1"));
    let args = ["--interval", "100ms", "--log-file", log.to_str().unwrap()];
    let mut recorder = Recorder::with(&machine, &args, |_| ());
    fs::rename(&log, &moved).unwrap();
    let before = fs::read_to_string(&moved).unwrap();
    assert!(before.contains("gua records every 100ms"), "{before}");
    recorder.signal(Signal::HUP);
    until("there is a new one", || log.exists());
    recorder.goes_on();
    recorder.signal(Signal::TERM);
    assert_eq!(recorder.ended().code(), Some(0));
    assert!(fs::read_to_string(&log).unwrap().ends_with("  stopping\n"));
    assert_eq!(fs::read_to_string(&moved).unwrap(), before);
    assert_eq!(recorder.said(), "", "all of it is in the log");
}

/// Where there is no new one to be had, the old one is gone on with, and so is recording.
#[test]
fn a_log_that_cannot_be_begun_anew_is_gone_on_with() {
    let machine = Machine::new(TWO_CARDS);
    let folder = machine.dir().join("log");
    let moved = machine.dir().join("old");
    let log = folder.join("gua.log");
    let args = ["--interval", "100ms", "--log-file", log.to_str().unwrap()];
    let mut recorder = Recorder::with(&machine, &args, |_| ());
    fs::rename(&folder, &moved).unwrap();
    recorder.signal(Signal::HUP);
    let words = "cannot reopen the log: ";
    until("it says so", || fs::read_to_string(moved.join("gua.log")).unwrap().contains(words));
    recorder.goes_on();
    recorder.end();
}

#[test]
fn a_log_that_cannot_be_opened_is_wrong_usage() {
    let machine = Machine::new(TWO_CARDS);
    for args in [&["daemon", "--foreground"][..], &["daemon"]] {
        let told = machine.gua(&[args, &["--log-file", "/dev/null/gua.log"]].concat());
        assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{told:?}");
        assert!(told.stderr.contains("cannot open the log /dev/null/gua.log"), "{told:?}");
        assert!(told.stderr.contains("--log-file PATH"), "{told:?}");
    }
}
