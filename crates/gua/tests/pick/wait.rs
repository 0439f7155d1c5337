//! It waits until there are enough.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use nvidia_ml::skip::skipped;

use super::{free_cards, pick};
use crate::machine::{Machine, simulated};

const HELD: &str = "[[card]]\nuuid = \"GPU-a\"\nutilization = 0\n[[process]]\npid = 5\ncard = 0\n\
                    user = \"ann\"\nmemory = \"60GiB\"\n";

#[test]
fn it_goes_on_when_a_card_is_let_go() {
    let machine = Machine::new(HELD);
    let mut command = machine.command(&["pick", "--wait", "--format", "uuids"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(
        said.next().unwrap().unwrap(),
        "gua: waiting; 1 card wanted: no suitable card among 1"
    );
    machine.becomes("[[card]]\nuuid = \"GPU-a\"\nutilization = 0\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"GPU-a\n"[..]));
}

#[test]
fn it_waits_for_a_reservation_to_end() {
    let machine = Machine::new(&free_cards(1));
    assert!(pick(&machine, &["--reserve", "500ms"]).is_ok());
    assert!(pick(&machine, &["--wait", "60s", "--", "true"]).is_ok());
}

#[test]
fn it_gives_up_when_the_time_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let (run, time) = simulated(&["pick", "--wait", "1200ms"], HELD, dir.path());
    assert_eq!((run.code, time), (Some(1), Duration::from_millis(1200)), "{run:?}");
    assert!(run.stderr.contains("held by ann, 19.4 GiB left"), "{run:?}");
}

#[test]
fn free_card_is_taken_at_the_next_look() {
    let dir = tempfile::tempdir().unwrap();
    let (run, time) =
        simulated(&["pick", "--wait"], &format!("{HELD}end = \"90.5s\"\n"), dir.path());
    assert_eq!((run.code, time), (Some(0), Duration::from_secs(91)), "{run:?}");
    assert_eq!(run.stdout, "CUDA_VISIBLE_DEVICES=GPU-a\n");
}

#[test]
fn more_cards_than_there_are_is_not_waited_for() {
    let machine = Machine::new(&free_cards(2));
    let (code, said) = pick(&machine, &["-n", "3", "--wait"]).unwrap_err();
    assert_eq!(code, Some(1));
    assert!(said.contains("gua: 3 cards wanted: 2 suitable among 2\n"), "{said}");
    assert!(said.contains("Ask for fewer"), "{said}");
}

#[test]
fn a_driver_that_is_away_is_waited_for() {
    let away = "[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n";
    let machine = Machine::new(HELD);
    let mut command = machine.command(&["pick", "--wait", "--format", "uuids"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().starts_with("gua: waiting; 1 card wanted"));
    machine.becomes(&format!("{HELD}{away}"));
    let line = said.next().unwrap().unwrap();
    assert!(line.starts_with("gua: waiting; the driver cannot be read: "), "{line}");
    machine.becomes("[[card]]\nuuid = \"GPU-a\"\nutilization = 0\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"GPU-a\n"[..]));
}

/// Trap: a line that is wrapped cannot be taken away, and left a row a second.
#[test]
fn the_progress_fits_a_narrow_terminal() {
    if Command::new("script").arg("--version").output().is_err() {
        return skipped("the_progress_fits_a_narrow_terminal", "script(1) is not installed");
    }
    let machine = Machine::new(HELD);
    let gua = machine.command(&["pick", "--wait", "1500ms"]);
    let program = gua.get_program().to_str().unwrap().to_owned();
    let line = format!("stty cols 40 rows 10; exec {program} pick --wait 1500ms");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).env("TERM", "xterm");
    command.envs(gua.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let progress: Vec<_> = shown.split("\r\x1b[K").filter(|l| l.contains("waiting for")).collect();
    assert!(!progress.is_empty(), "{shown:?}");
    for line in progress {
        assert!(line.chars().count() < 40 && !line.contains('\n'), "{line:?}");
    }
}
