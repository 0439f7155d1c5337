//! Sends a signal to a process that was chosen, and to no other.

use rustix::process;

pub use crate::process_handle::NotSent;
use crate::process_handle::ProcessHandle;

/// A signal that can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Asks it to end.
    Term,
    /// As Ctrl-C does.
    Int,
    /// Ends it, without a chance to save anything.
    Kill,
}

impl Signal {
    pub const ALL: [Self; 3] = [Self::Term, Self::Int, Self::Kill];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Int => "INT",
            Self::Kill => "KILL",
        }
    }

    /// What it does, in a few words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Term => "asks it to end",
            Self::Int => "interrupts it, as Ctrl-C does",
            Self::Kill => "ends it at once; nothing is saved",
        }
    }
}

/// The process that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub pid: u32,
    pub start_ticks: u64,
    pub program: String,
    pub user: String,
}

/// Sends it through a handle, so that it cannot reach another process that has got its pid
/// meanwhile.
///
/// # Errors
/// When it is not there any more, or the host does not let us.
pub fn send(target: &Target, signal: Signal) -> Result<(), NotSent> {
    ProcessHandle::of(target.pid, target.start_ticks)?.send(number(signal))
}

const fn number(signal: Signal) -> process::Signal {
    match signal {
        Signal::Term => process::Signal::TERM,
        Signal::Int => process::Signal::INT,
        Signal::Kill => process::Signal::KILL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::proc::stat;
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    fn sleeper() -> (Child, Target) {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let bytes = fs::read(format!("/proc/{}/stat", child.id())).unwrap();
        let start_ticks = stat::parse(&bytes).unwrap().start_ticks;
        let target =
            Target { pid: child.id(), start_ticks, program: "sleep".into(), user: "me".into() };
        (child, target)
    }

    #[test]
    fn the_process_that_was_meant_gets_it() {
        for (signal, number) in Signal::ALL.into_iter().zip([15, 2, 9]) {
            let (mut child, target) = sleeper();
            assert_eq!(send(&target, signal), Ok(()));
            assert_eq!(child.wait().unwrap().signal(), Some(number));
            assert_eq!(send(&target, signal), Err(NotSent::Gone));
        }
    }

    #[test]
    fn another_process_with_its_pid_gets_nothing() {
        let (mut child, target) = sleeper();
        let earlier = Target { start_ticks: target.start_ticks - 1, ..target };
        assert_eq!(send(&earlier, Signal::Kill), Err(NotSent::Another));
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
