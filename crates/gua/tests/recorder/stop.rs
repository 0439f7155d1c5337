//! How a recorder ends when it is told to: at once, and with all that it saw.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::process::Signal;

use super::{Background, POLLS, Recorder, TWO_CARDS, at_home, is_clean, number, plain, until};
use crate::machine::Machine;

/// It takes less than a second; the rest is for a machine that is busy with other tests.
const AT_ONCE: Duration = Duration::from_secs(3);

fn ends_at_once(recorder: &mut Recorder, signal: Signal) -> std::process::ExitStatus {
    let told = Instant::now();
    recorder.signal(signal);
    let status = recorder.ended();
    eprintln!("it took {:?}", told.elapsed());
    assert!(told.elapsed() < AT_ONCE, "{:?} {}", told.elapsed(), recorder.said());
    status
}

#[test]
fn the_last_tick_is_stored() {
    for signal in [Signal::TERM, Signal::INT] {
        let machine = Machine::new(TWO_CARDS);
        let mut recorder = Recorder::with(&machine, &["--interval", "1h"], |_| ());
        assert_eq!(ends_at_once(&mut recorder, signal).code(), Some(0), "{signal:?}");
        assert_eq!(recorder.number(POLLS), 2, "the first and the last");
        assert_eq!(recorder.number("SELECT count(*) FROM run WHERE ending = 'stopped'"), 1);
        assert_eq!(recorder.number("SELECT tick_ms - until_ms FROM run"), 0, "all of it is final");
        assert!(!at_home(&machine, "gua.pid").exists());
        assert!(recorder.said().ends_with("  stopping\n"), "{}", recorder.said());
        is_clean(&recorder.database);
    }
}

/// Two cards, the second of which does not answer.
fn hanging() -> String {
    format!("{TWO_CARDS}\n[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\nhang = true\n")
}

#[test]
fn a_card_that_hangs_does_not_hold_it_up() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    machine.becomes(&hanging());
    // From here on a look is under way nearly always.
    recorder.event("card");
    recorder.goes_on();
    let healthy = "SELECT count(*) FROM latest JOIN card ON card.id = card
                       WHERE uuid = 'GPU-a' AND body LIKE '%\"utilization_percent\":80%'";
    assert_eq!(recorder.number(healthy), 1, "the other card is recorded");
    assert_eq!(ends_at_once(&mut recorder, Signal::TERM).code(), Some(0));
    assert_eq!(recorder.number("SELECT count(*) FROM run WHERE ending = 'stopped'"), 1);
    assert!(!at_home(&machine, "gua.pid").exists());
    is_clean(&recorder.database);
}

/// Whatever the look is at that moment.
#[test]
fn a_look_that_does_not_return_is_not_waited_for() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    let all = "[[fault]]\ncall = \"nvmlDeviceGet*\"\nhang = true\n";
    machine.becomes(&format!("{TWO_CARDS}\n{all}"));
    let before = recorder.number(POLLS);
    assert_eq!(ends_at_once(&mut recorder, Signal::INT).code(), Some(0));
    assert!(recorder.number(POLLS) >= before);
    assert_eq!(recorder.number("SELECT count(*) FROM run WHERE ending = 'stopped'"), 1);
    is_clean(&recorder.database);
}

/// Trap: a signal that is caught before anybody acts on it is as good as ignored.
#[test]
fn a_driver_that_does_not_start_does_not_hold_it_up() {
    let machine = Machine::new("[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\nhang = true\n");
    let mut recorder = Recorder::spawn(&machine, &[], |_| ());
    let maps = format!("/proc/{}/maps", recorder.pid().as_raw_nonzero());
    until("the driver is being opened", || {
        fs::read_to_string(&maps).unwrap().contains("libnvidia-ml")
    });
    let status = ends_at_once(&mut recorder, Signal::TERM);
    assert!(status.signal() == Some(15) || status.code() == Some(0), "{status}");
    assert!(!recorder.database.exists());
}

#[test]
fn a_locked_database_does_not_hold_it_up() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    let other = Connection::open(&recorder.database).unwrap();
    other.busy_timeout(Duration::from_secs(20)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    until("it has noticed", || recorder.said().contains("cannot store"));
    assert_eq!(ends_at_once(&mut recorder, Signal::TERM).code(), Some(0));
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    let mut next = Recorder::start(&machine);
    assert_eq!(next.number("SELECT count(*) FROM run WHERE ending IS NULL"), 2);
    next.goes_on();
    next.end();
}

#[test]
fn the_command_waits_and_says_how_it_ended() {
    let machine = Machine::new(TWO_CARDS);
    let none = machine.gua(&["stop"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "gua is not recording\n"));
    let (_, recorder) = Background::start(&machine, &["--interval", "100ms"]);
    let process = format!("/proc/{}", recorder.pid().unwrap().as_raw_nonzero());
    let told = machine.gua(&["stop"]);
    // A process that nobody has asked about yet is still listed, with nothing behind it.
    let lives = fs::read_to_string(format!("{process}/cmdline")).is_ok_and(|it| !it.is_empty());
    assert!(!lives);
    let database = at_home(&machine, "gua.db");
    assert_eq!(number(&database, "SELECT count(*) FROM run WHERE ending = 'stopped'"), 1);
    assert!(plain(&told.stdout, &machine).starts_with("gua stopped after "), "{told:?}");
    is_clean(&database);
}

#[test]
fn the_command_says_when_the_end_was_not_written_down() {
    let machine = Machine::new(TWO_CARDS);
    let (_, _recorder) = Background::start(&machine, &["--interval", "100ms"]);
    let other = Connection::open(at_home(&machine, "gua.db")).unwrap();
    other.busy_timeout(Duration::from_secs(20)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let told = machine.gua(&["stop"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.stdout.contains("could not store the end of its run"), "{told:?}");
}
