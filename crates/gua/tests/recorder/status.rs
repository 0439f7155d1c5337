//! What `gua status` says of a recorder, and how it exits.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::{Recorder, TWO_CARDS, at_home, gaps, is_clean, plain, status, until};
use crate::machine::Machine;

/// Longest time that a poll stands for.
const LONGEST_POLL_MS: i64 = 7_500;

#[test]
fn without_a_recorder_it_exits_with_three() {
    let machine = Machine::new(TWO_CARDS);
    let told = machine.gua(&["status"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(3), ""), "{told:?}");
    insta::assert_snapshot!(plain(&told.stdout, &machine), @"
    gua: not recording
      database   [DIR]/home/.gua/gua.db
      history    cannot be read: there is none
    ");
    assert!(!machine.home().join(".gua").exists(), "looking makes nothing");
}

#[test]
fn a_recorder_at_work() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.has_ticked(5);
    let (code, json) = status(&machine, &[]);
    assert_eq!(code, Some(0), "{json}");
    assert_eq!(json["schema"], "gua.status/2");
    assert_eq!(json["state"], "recording");
    assert_eq!(json["pid"], recorder.pid().as_raw_nonzero().get());
    assert_eq!((&json["interval_seconds"], &json["cards"]), (&0.1.into(), &2.into()));
    assert_eq!(json["database"]["path"], recorder.database.to_str().unwrap());
    assert!(json["database"]["size_bytes"].as_u64().unwrap() > 4096, "{json}");
    let age = json["last_tick_age_seconds"].as_f64().unwrap();
    assert!((0.0..20.0).contains(&age), "{json}");
    let coverage = json["last_hour_coverage"].as_f64().unwrap();
    assert!((0.0..0.1).contains(&coverage), "{json}");
    assert!(json["since"].as_str().unwrap() <= json["last_tick"].as_str().unwrap(), "{json}");
    assert_eq!((&json["last_trouble"], &json["doubt"]), (&Value::Null, &Value::Null));
    assert!(json["polls"].as_i64().unwrap() >= 5, "{json}");
    assert!(json["driver_calls"].as_i64().unwrap() >= 5, "{json}");
    assert!(json["final_until"].as_str().unwrap() <= json["last_tick"].as_str().unwrap(), "{json}");
    let text = machine.gua(&["status"]).stdout;
    assert!(text.starts_with("gua: recording, pid "), "{text}");
    for words in [
        " UTC, every 100ms\n",
        " ago (",
        "2 cards\n",
        "final to",
        " driver calls\n",
        " % of the last hour\n",
        "gua.db, ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    recorder.end();
    let (code, json) = status(&machine, &[]);
    assert_eq!((code, &json["state"]), (Some(3), &"not_running".into()));
    assert_eq!((&json["pid"], &json["since"]), (&Value::Null, &Value::Null));
    assert!(json["last_tick"].is_string(), "what was recorded is told all the same");
}

/// Its process is there, but it does nothing; and when it goes on, the time is a gap.
#[test]
fn a_recorder_that_no_longer_ticks() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.goes_on();
    recorder.signal(Signal::STOP);
    let stopped = Instant::now();
    until("it is noticed", || status(&machine, &[]).0 == Some(1));
    let (code, json) = status(&machine, &[]);
    assert_eq!((code, &json["state"]), (Some(1), &"stalled".into()));
    let text = machine.gua(&["status"]).stdout;
    assert!(text.contains(", but no longer recording\n"), "{text}");
    // It logs elsewhere, which must not look as if it had nothing to say.
    assert!(text.contains("  log        there is no "), "{text}");
    assert!(text.contains("gua.log: a recorder in the foreground logs to stderr"), "{text}");
    let log = "a line\n".repeat(100_000) + "the disk is full\n";
    std::fs::write(at_home(&machine, "gua.log"), log).unwrap();
    let (_, json) = status(&machine, &[]);
    let told = (&json["last_log_line"], &json["log_doubt"]);
    assert_eq!(told, (&"the disk is full".into(), &Value::Null));
    recorder.signal(Signal::CONT);
    let missing = stopped.elapsed();
    recorder.goes_on();
    assert_eq!(status(&machine, &[]).0, Some(0));
    assert!(recorder.said().contains("A poll came late; "), "{}", recorder.said());
    let path = recorder.database.clone();
    recorder.end();
    // The first seconds after a poll are the poll's.
    let missing = i64::try_from(missing.as_millis()).unwrap() - LONGEST_POLL_MS;
    let gaps = gaps(&path);
    let is_it = |length: i64| (missing - 1000..missing + 20_000).contains(&length);
    assert!(
        matches!(&gaps[..], [(reason, length)] if reason == "late" && is_it(*length)),
        "{gaps:?} of {missing}"
    );
}

#[test]
fn a_recorder_that_was_killed() {
    let machine = Machine::new(TWO_CARDS);
    let recorder = Recorder::start(&machine);
    let path = recorder.database.clone();
    recorder.kill();
    assert!(at_home(&machine, "gua.pid").exists());
    let (code, json) = status(&machine, &[]);
    assert_eq!((code, &json["state"]), (Some(3), &"not_running".into()), "{json}");
    is_clean(&path);
}

/// The pid file that is looked at need not be the recorder's; the lock on the database tells.
#[test]
fn a_recorder_with_another_pid_file() {
    let machine = Machine::new(TWO_CARDS);
    let (path, pid_file) = (machine.dir().join("x.db"), machine.dir().join("x.pid"));
    let (path, pid_file) = (path.to_str().unwrap(), pid_file.to_str().unwrap());
    let args = ["--db", path, "--pid-file", pid_file, "--interval", "100ms"];
    let recorder = Recorder::with(&machine, &args, |_| ());
    let (code, json) = status(&machine, &["--pid-file", pid_file]);
    assert_eq!((code, &json["state"]), (Some(0), &"recording".into()), "{json}");
    assert_eq!(json["database"]["path"], path, "the recorder's own");
    let (code, json) = status(&machine, &["--db", path]);
    assert_eq!((code, &json["state"]), (Some(0), &"recording".into()), "{json}");
    assert_eq!(json["pid"], Value::Null, "nobody said which");
    assert_eq!(status(&machine, &[]).0, Some(3), "at home nobody records");
    recorder.end();
    assert_eq!(status(&machine, &["--db", path]).0, Some(3));
}

/// Trap: the recorder at home was taken for one that no longer records, where another file was
/// asked about.
#[test]
fn a_recorder_of_another_database() {
    let machine = Machine::new(TWO_CARDS);
    let recorder = Recorder::start(&machine);
    let other = machine.dir().join("other.db");
    let other = other.to_str().unwrap();
    for _ in 0..2 {
        let (code, json) = status(&machine, &["--db", other]);
        assert_eq!((code, &json["state"]), (Some(3), &"not_running".into()), "{json}");
        assert_eq!(json["pid"], Value::Null);
        // Once without the file, once with a history in it.
        let demo = machine.gua(&["demo", "--db", other, "--ticks", "5"]);
        assert!(demo.code == Some(0) || demo.stderr.contains("exists already"), "{demo:?}");
    }
    let own = recorder.database.to_str().unwrap().to_owned();
    assert_eq!(status(&machine, &["--db", &own]).0, Some(0));
    recorder.end();
}

/// Trap: a lock that could not be looked at was taken for one that nobody has. A link that leads
/// to itself is what not even root can open.
#[test]
fn a_database_that_cannot_be_looked_at_may_be_recorded_into() {
    let machine = Machine::new(TWO_CARDS);
    let path = at_home(&machine, "gua.db");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let (code, json) = status(&machine, &[]);
    assert_eq!((code, &json["state"]), (Some(1), &"unsure".into()), "{json}");
    let text = machine.gua(&["status"]).stdout;
    assert!(text.starts_with("gua: maybe recording: its files cannot be read\n"), "{text}");
    let stop = machine.gua(&["stop"]);
    assert_eq!((stop.code, stop.stdout.as_str()), (Some(1), ""), "{stop:?}");
    insta::assert_snapshot!(plain(&stop.stderr, &machine), @"
    gua: it is unknown whether gua is recording: there is no [DIR]/home/.gua/gua.pid, and [DIR]/home/.gua/gua.db cannot be opened
         Stop it as the user who started it, or name its pid file with --pid-file PATH.
    ");
}

/// Somebody who has never heard of it still gets an answer soon.
#[test]
fn a_database_that_is_locked_for_writing_can_be_looked_at() {
    let machine = Machine::new(TWO_CARDS);
    let recorder = Recorder::start(&machine);
    let other = rusqlite::Connection::open(&recorder.database).unwrap();
    other.busy_timeout(Duration::from_secs(20)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (code, json) = status(&machine, &[]);
    assert_eq!((code, &json["cards"]), (Some(0), &2.into()), "{json}");
}
