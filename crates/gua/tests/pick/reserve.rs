//! Nobody else is given the cards meanwhile.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use super::{free_cards, pick};
use crate::machine::Machine;
use crate::recorder::until;

#[test]
fn twenty_at_once_are_given_different_cards() {
    let machine = Machine::new(&free_cards(8));
    let start = || -> Child {
        let mut command = machine.command(&["pick", "--format", "uuids", "--reserve", "10m"]);
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
        assert_eq!(said.matches("reserved by uid ").count(), 8, "{said}");
    }
}

#[test]
fn a_reservation_ends_by_itself() {
    let machine = Machine::new(&free_cards(1));
    assert!(pick(&machine, &["--reserve", "300ms"]).is_ok());
    until("it ends", || pick(&machine, &["--reserve", "1m"]).is_ok());
    let (code, said) = pick(&machine, &[]).unwrap_err();
    assert_eq!(code, Some(1));
    assert!(said.contains(" for another "), "{said}");
    assert!(pick(&machine, &["--no-reserve"]).is_ok(), "who only looks is told what is free");
}

#[test]
fn a_command_has_its_cards_as_long_as_it_runs() {
    let machine = Machine::new(&free_cards(1));
    let mut command = machine.command(&["pick", "--", "sh", "-c", "echo here; exec sleep 600"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until("it runs", || pick(&machine, &["--no-reserve"]).is_ok() && has_a_file(&machine));
    let (code, said) = pick(&machine, &[]).unwrap_err();
    assert_eq!(code, Some(1));
    let words = format!("while its command runs (pid {})", child.id());
    assert!(said.contains(&words), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(pick(&machine, &["--reserve", "10s"]).is_ok(), "a kill leaves nothing behind");
}

fn has_a_file(machine: &Machine) -> bool {
    let files = fs::read_dir(machine.reservations()).unwrap().flatten();
    files.into_iter().any(|file| fs::metadata(file.path()).is_ok_and(|file| file.len() > 0))
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
    assert!(pick(&machine, &["--no-reserve"]).is_ok());
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
