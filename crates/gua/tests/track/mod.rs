//! `gua track` with real commands.

/// The cards of a pretend machine, held by a real process.
mod cards;
/// Where the summary and the time line go.
mod files;
/// What the shell has set up before.
mod inherited;
/// What is refused before anything starts.
mod refused;
/// Signals, and processes that were running already.
mod signals;
/// The command's own streams and its exit code.
mod streams;

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::machine::{Run, program, run};

/// `gua track` with these arguments, where no card is asked for.
pub(super) fn command(args: &[&str]) -> Command {
    program(&[&["track", "--gpus", "none"], args].concat())
}

pub(super) fn track(args: &[&str]) -> Run {
    run(command(args))
}

/// What a command that runs this script used.
pub(super) fn json(options: &[&str], script: &str) -> Value {
    let run = track(&[options, &["--json", "--", "sh", "-c", script]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    serde_json::from_str(&run.stderr).unwrap()
}

/// A process that runs until its input ends, ended when dropped.
pub(super) struct Waiting(pub std::process::Child);

impl Waiting {
    pub(super) fn new() -> Self {
        Self(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}
