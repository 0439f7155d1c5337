//! Sends a signal to a process that was chosen, and to no other.

use std::fs;

use probe::proc::stat;
use rustix::io::Errno;
use rustix::process::{self, Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

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

/// Why a signal was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    #[error("it has ended already")]
    Gone,
    #[error("its pid belongs to another process by now")]
    Another,
    #[error("the host does not allow it: {0}")]
    Refused(Errno),
}

/// Sends it through a handle. The process is held before it is compared with the one that was
/// shown, so that the signal cannot reach another that has got its pid meanwhile.
///
/// # Errors
/// When it is not there any more, or the host does not let us.
pub fn send(target: &Target, signal: Signal) -> Result<(), NotSent> {
    let pid = i32::try_from(target.pid).ok().and_then(Pid::from_raw).ok_or(NotSent::Gone)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(not_sent)?;
    let stat = fs::read(format!("/proc/{}/stat", target.pid)).map_err(|_| NotSent::Gone)?;
    match stat::parse(&stat) {
        Some(stat) if stat.start_ticks == target.start_ticks => {}
        _ => return Err(NotSent::Another),
    }
    pidfd_send_signal(&handle, number(signal)).map_err(not_sent)
}

const fn number(signal: Signal) -> process::Signal {
    match signal {
        Signal::Term => process::Signal::TERM,
        Signal::Int => process::Signal::INT,
        Signal::Kill => process::Signal::KILL,
    }
}

const fn not_sent(errno: Errno) -> NotSent {
    match errno {
        Errno::SRCH => NotSent::Gone,
        errno => NotSent::Refused(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
