//! `gua doctor` on pretend machines: ready, not ready, and every doubt between.

/// The driver, its cards and who is on them.
mod cards;
/// Its own files: the database and the recorder's.
mod files;
/// How it reads, for a person and for a program.
mod view;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::machine::{Machine, program, run};

pub(super) const TWO_CARDS: &str = r#"
[[card]]
utilization = 80

[[card]]
name = "NVIDIA GeForce RTX 4090"
memory = "24GiB"
utilization = 0
fan = 30

[[process]]
pid = 100
card = 0
user = "alice"
program = "python"
memory = "70000MiB"
sm = 75

[[process]]
pid = 200
card = 1
user = "bob"
program = "jupyter-lab"
memory = "8000MiB"
"#;

/// The uid and gid of a user who owns nothing.
pub(super) const NOBODY: u32 = 65_534;

/// A machine whose `nvidia-smi` is this shell script; none at all when `None`.
pub(super) fn machine_with_smi(scenario: &str, script: Option<&str>) -> Machine {
    let machine = Machine::new(scenario);
    let path = machine.bin().join("nvidia-smi");
    // Never written through: it may be a link to the one that was built.
    let _ = fs::remove_file(&path);
    if let Some(script) = script {
        write_program(&path, script);
    }
    machine
}

pub(super) fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A machine on which nothing but the scenario can be wrong.
pub(super) fn machine(scenario: &str) -> Machine {
    let script = "echo 'GPU 0: A (UUID: GPU-a)'; echo 'GPU 1: B (UUID: GPU-b)'";
    machine_with_smi(scenario, Some(script))
}

/// The program that finds only the machine's own `nvidia-smi`.
pub(super) fn doctor(machine: &Machine, args: &[&str]) -> Command {
    let mut command = machine.command(&["doctor"]);
    command.args(args).env("PATH", machine.bin());
    command
}

pub(super) fn json(command: Command) -> (Option<i32>, Value) {
    let mut command = command;
    command.arg("--json");
    let run = run(command);
    assert_eq!(run.stderr, "", "{run:?}");
    (run.code, serde_json::from_str(&run.stdout).unwrap())
}

pub(super) fn of<'a>(checkup: &'a Value, check: &str) -> &'a Value {
    let findings = checkup["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["check"] == check).unwrap()
}

pub(super) fn card(checkup: &Value, index: u32) -> &Value {
    let findings = checkup["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["card"]["index"] == index).unwrap()
}

/// The program as a user who owns nothing; `None` where that cannot be played.
pub(super) fn as_nobody(machine: &Machine, args: &[&str]) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    fs::set_permissions(machine.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = doctor(machine, args);
    command.uid(NOBODY).gid(NOBODY);
    // The program itself may lie in a folder that is closed to others.
    let mut trial = program(&["version"]);
    trial.uid(NOBODY).gid(NOBODY).stdout(Stdio::null());
    trial.status().is_ok_and(|status| status.success()).then_some(command)
}
