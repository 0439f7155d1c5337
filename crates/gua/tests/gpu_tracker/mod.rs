//! `gpu-tracker` on real commands: what it says, what it writes, how it ends.
//!
//! Nothing here is right because of how long it waited: every test waits for something to be
//! seen, and gives up only after much longer than it can take.

/// What a command did on pretend cards.
mod cards;
/// Exit codes: the command's own, or a shell's.
mod ended;
/// Tracking files, written while a command runs.
mod files;
/// What is refused before anything starts.
mod refused;
/// The report: text and JSON, on stdout or in a file.
mod report;
/// Settings from a file.
mod settings;
/// Signals, from other processes and from a terminal.
mod signals;
/// `sub-track`: combine, analyze, compare.
mod sub_track;

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::machine::{Run, gpu_tracker, run};

/// Far longer than anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The program on a host without a driver.
fn without_driver(args: &[&str]) -> Command {
    let mut command = gpu_tracker(args);
    command.env("GUA_NVML", "/nowhere/libnvidia-ml.so.1");
    command
}

/// Runs it there to its end.
fn track(args: &[&str]) -> Run {
    run(without_driver(args))
}

/// Runs it there, and reads the JSON that it must print.
fn track_json(args: &[&str]) -> Value {
    let ran = track(&[args, &["-f", "json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}
