//! The command that is run on the cards.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::free_cards;
use crate::machine::Machine;

fn shell(machine: &Machine, script: &str) -> crate::machine::Run {
    machine.gua(&["pick", "-n", "2", "--", "sh", "-c", script])
}

#[test]
fn it_has_the_variable_and_its_own_exit_code() {
    let machine = Machine::new(&free_cards(3));
    let run = shell(&machine, "echo $CUDA_VISIBLE_DEVICES; echo talk >&2; exit 42");
    assert_eq!(run.code, Some(42), "{run:?}");
    assert_eq!(run.stdout, "GPU-00000000,GPU-00000001\n");
    assert!(run.stderr.ends_with("talk\n"), "{run:?}");
    let run = machine.gua(&["pick", "--", "echo", "-n", "--json", "a b"]);
    assert_eq!(run.stdout, "--json a b");
}

#[test]
fn stdin_is_the_commands() {
    let machine = Machine::new(&free_cards(1));
    let mut command = machine.command(&["pick", "--", "cat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"through and through").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"through and through");
}

#[test]
fn a_signal_ends_the_command_and_not_a_program_around_it() {
    let machine = Machine::new(&free_cards(1));
    let run = machine.gua(&["pick", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(run.code, None);
    let mut command = machine.command(&["pick", "--", "sh", "-c", "echo on; exec sleep 600"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(2));
}

#[test]
fn what_cannot_be_run_has_the_codes_of_a_shell() {
    let machine = Machine::new(&free_cards(1));
    let run = machine.gua(&["pick", "--", "no-such-program"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(127), ""), "{run:?}");
    assert!(run.stderr.contains("gua: cannot run `no-such-program`: "), "{run:?}");
    let run = machine.gua(&["pick", "--", machine.dir().to_str().unwrap()]);
    assert_eq!(run.code, Some(126), "{run:?}");
}

#[test]
fn it_is_not_run_when_there_are_not_enough() {
    let machine = Machine::new(&free_cards(1));
    let run = shell(&machine, "echo ran");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
}
