//! Nobody else is given the cards meanwhile.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use nvidia_ml::skip::skipped;

use super::{free_cards, pick};
use crate::machine::{Machine, run};
use crate::recorder::refused::as_nobody;
use crate::recorder::until;

#[test]
fn twenty_at_once_are_given_different_cards() {
    let machine = Machine::new(&free_cards(8));
    let start = || -> Child {
        let mut command =
            machine.command(&["pick", "--format", "uuids", "--reserve", "10m", "--wait", "1ms"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..20).map(|_| start()).collect();
    let outputs: Vec<_> =
        children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let (given, refused): (Vec<_>, Vec<_>) =
        outputs.iter().partition(|output| output.status.code() == Some(0));
    assert_eq!((given.len(), refused.len()), (8, 12));
    let cards: HashSet<_> = given.iter().map(|output| output.stdout.clone()).collect();
    assert_eq!(cards.len(), 8, "each card once");
    for output in refused {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
        assert_eq!(said.matches("reserved by root for another ").count(), 8, "{said}");
    }
}

#[test]
fn a_reservation_ends_by_itself() {
    let machine = Machine::new(&free_cards(1));
    assert!(pick(&machine, &["--reserve", "300ms"]).is_ok());
    assert!(pick(&machine, &["--reserve", "1m", "--wait", "1m"]).is_ok(), "it ends");
    for more in ["--reserve=1m", "--no-reserve"] {
        let (code, said) = pick(&machine, &["--wait", "1ms", more]).unwrap_err();
        assert_eq!(code, Some(1), "{more}");
        assert!(said.contains(" for another "), "{said}");
    }
}

#[test]
fn own_reservation_refuses_nobody_who_asks_again() {
    let machine = Machine::new(&free_cards(2));
    let first = pick(&machine, &["--reserve", "10m"]).unwrap();
    let second = pick(&machine, &["--reserve", "20m"]).unwrap();
    assert_ne!(first, second, "another card comes first");
    assert_eq!(pick(&machine, &["--reserve", "30m"]).unwrap(), first, "the oldest comes next");
}

#[test]
fn a_command_has_its_cards_as_long_as_it_runs() {
    let machine = Machine::new(&free_cards(1));
    let mut command = machine.command(&["pick", "--", "sh", "-c", "echo here; exec sleep 600"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufRead::read_line(&mut BufReader::new(stdout), &mut line).unwrap();
    let (code, said) = pick(&machine, &[]).unwrap_err();
    assert_eq!(code, Some(1));
    let words = format!("while its command runs (pid {})", child.id());
    assert!(said.contains(&words), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(pick(&machine, &["--reserve", "10s"]).is_ok(), "a kill leaves nothing behind");
}

/// Trap: what the command leaves running works on the card, too.
#[test]
fn what_a_command_leaves_running_keeps_the_card() {
    let machine = Machine::new(&free_cards(1));
    let script = "sleep 600 >/dev/null 2>&1 & echo $!";
    let run = machine.gua(&["pick", "--", "sh", "-c", script]);
    let pid = rustix::process::Pid::from_raw(run.stdout.trim().parse().unwrap()).unwrap();
    assert!(pick(&machine, &[]).is_err());
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("it is free again", || pick(&machine, &["--reserve", "1m"]).is_ok());
}

#[test]
fn a_command_that_cannot_run_leaves_no_reservation() {
    let machine = Machine::new(&free_cards(1));
    let run = machine.gua(&["pick", "--", "/nowhere/python"]);
    assert_eq!(run.code, Some(127), "{run:?}");
    assert!(pick(&machine, &[]).is_ok());
}

#[test]
fn where_nothing_can_be_reserved_nothing_is_given() {
    let machine = Machine::new(&free_cards(1));
    fs::write(machine.reservations(), "a file").unwrap();
    let (code, said) = pick(&machine, &[]).unwrap_err();
    assert_eq!(code, Some(1));
    assert!(said.starts_with("gua: cards cannot be reserved: "), "{said}");
    assert!(said.contains("--no-reserve"), "{said}");
    let run = machine.gua(&["pick", "--no-reserve"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.starts_with("gua: what is reserved is not known: "), "{run:?}");
}

/// Trap: a file that may not be read was taken for none.
#[test]
fn a_reservation_that_is_kept_from_us_stands() {
    let machine = Machine::new(&free_cards(1));
    assert!(pick(&machine, &["--reserve", "10m"]).is_ok());
    for file in fs::read_dir(machine.reservations()).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o600)).unwrap();
    }
    for args in [&["pick"][..], &["pick", "--no-reserve"]] {
        let Some(command) = as_nobody(&machine, args) else {
            return skipped("a_reservation_that_is_kept_from_us_stands", "nobody cannot be played");
        };
        let run = run(command);
        assert_eq!(run.code, Some(1), "{run:?}");
        let words = "reserved by root, who does not let others read for how long";
        assert!(run.stderr.contains(words), "{run:?}");
    }
}

/// Trap: the first of several cards stayed reserved when the second could not be.
#[test]
fn all_cards_are_reserved_or_none() {
    let machine = Machine::new(&free_cards(2));
    assert!(pick(&machine, &["--id", "1", "--reserve", "1ms"]).is_ok());
    fs::remove_file(machine.reservations().join("GPU-00000001.0")).unwrap();
    fs::create_dir(machine.reservations().join("GPU-00000001.0")).unwrap();
    let (code, said) = pick(&machine, &["-n", "2", "--reserve", "10m"]).unwrap_err();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cards cannot be reserved"), "{said}");
    assert!(pick(&machine, &["--id", "0"]).is_ok());
}

#[test]
fn files_of_others_are_not_believed() {
    let machine = Machine::new(&free_cards(1));
    let folder = machine.reservations();
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
    // It speaks for a user who did not write it.
    let far = i64::MAX;
    fs::write(folder.join("GPU-00000000.4242"), format!("gua 1 0 1 until {far}\n")).unwrap();
    assert!(pick(&machine, &[]).is_ok());
}
