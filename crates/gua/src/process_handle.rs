//! A handle on one process, so that a signal reaches it and no other that has got its pid.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use probe::proc::stat;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process that was compared with the one that was meant.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

/// Why there is no handle, or no signal was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    #[error("it has ended already")]
    Gone,
    #[error("its pid belongs to another process by now")]
    Another,
    #[error("the host does not allow it: {0}")]
    Refused(Errno),
    /// It may be there, but nothing can be learnt of it.
    #[error("it cannot be looked at: {0}")]
    Unseen(Errno),
    /// Whether it is the one that was meant, cannot be told.
    #[error("what the host says of it makes no sense")]
    Garbled,
}

impl ProcessHandle {
    /// Takes hold of a process, and only then compares it with the one that was meant: from
    /// there on the handle is that process, whoever gets its pid.
    ///
    /// # Errors
    /// When it is not there any more, or the host does not let us.
    pub fn of(pid: u32, start_ticks: u64) -> Result<Self, NotSent> {
        let handle = Self::open(pid)?;
        is_meant(&read(pid, "stat")?, start_ticks)?;
        Ok(handle)
    }

    /// Of whichever process has this pid now, such as a child that was not waited for.
    ///
    /// # Errors
    /// When there is none, or the host does not let us.
    pub fn open(pid: u32) -> Result<Self, NotSent> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(NotSent::Gone)?;
        pidfd_open(pid, PidfdFlags::empty()).map(Self).map_err(not_sent)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// When it has ended, or the host does not let us.
    pub fn send(&self, signal: Signal) -> Result<(), NotSent> {
        pidfd_send_signal(&self.0, signal).map_err(not_sent)
    }

    /// Waits for its end; tells whether it came in time.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn ends_within(&self, most: Duration) -> Result<bool, NotSent> {
        let deadline = Instant::now() + most;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut files = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut files, Timespec::try_from(left).ok().as_ref()) {
                Ok(ready) if ready > 0 => return Ok(true),
                Ok(_) | Err(Errno::INTR) if Instant::now() < deadline => {}
                Ok(_) | Err(Errno::INTR) => return Ok(false),
                Err(errno) => return Err(NotSent::Unseen(errno)),
            }
        }
    }
}

/// Reads one of the files that the host has on a process.
///
/// # Errors
/// When the process is not there any more, or the file cannot be read.
pub fn read(pid: u32, file: &str) -> Result<Vec<u8>, NotSent> {
    fs::read(format!("/proc/{pid}/{file}")).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::SRCH) => NotSent::Gone,
        errno => NotSent::Unseen(errno.unwrap_or(Errno::IO)),
    })
}

/// Compares what the host says of a process with the one that was meant.
fn is_meant(stat: &[u8], start_ticks: u64) -> Result<(), NotSent> {
    match stat::parse(stat) {
        Some(stat) if stat.start_ticks == start_ticks => Ok(()),
        Some(_) => Err(NotSent::Another),
        None => Err(NotSent::Garbled),
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
    use std::process::{Child, Command};

    fn sleeper() -> (Child, u64) {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let bytes = fs::read(format!("/proc/{}/stat", child.id())).unwrap();
        let start_ticks = stat::parse(&bytes).unwrap().start_ticks;
        (child, start_ticks)
    }

    #[test]
    fn its_end_is_heard_of() {
        let (mut child, start) = sleeper();
        let handle = ProcessHandle::of(child.id(), start).unwrap();
        assert_eq!(handle.ends_within(Duration::ZERO), Ok(false));
        handle.send(Signal::TERM).unwrap();
        assert_eq!(handle.ends_within(Duration::from_secs(60)), Ok(true));
        child.wait().unwrap();
        assert_eq!(handle.send(Signal::TERM), Err(NotSent::Gone));
    }

    #[test]
    fn another_process_with_its_pid_is_not_taken_for_it() {
        let (mut child, start) = sleeper();
        assert_eq!(ProcessHandle::of(child.id(), start - 1).unwrap_err(), NotSent::Another);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ProcessHandle::of(child.id(), start).unwrap_err(), NotSent::Gone);
    }

    /// Trap: what made no sense was told to be another process.
    #[test]
    fn what_makes_no_sense_is_neither_the_process_nor_another() {
        let stat = b"7 (a) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0";
        assert_eq!(is_meant(stat, 5), Ok(()));
        assert_eq!(is_meant(stat, 6), Err(NotSent::Another));
        for garbled in [&b""[..], b"7 (a) S 1", b"7 a S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5"] {
            assert_eq!(is_meant(garbled, 5), Err(NotSent::Garbled));
        }
    }

    /// Trap: whatever could not be read was told to have ended.
    #[test]
    fn what_cannot_be_read_has_not_ended() {
        let (mut child, _) = sleeper();
        let pid = child.id();
        assert_eq!(read(pid, "fdinfo"), Err(NotSent::Unseen(Errno::ISDIR)));
        assert_eq!(read(pid, "mem"), Err(NotSent::Unseen(Errno::IO)));
        let mut maps = fs::File::open(format!("/proc/{pid}/status")).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(read(pid, "stat"), Err(NotSent::Gone));
        let gone = std::io::Read::read(&mut maps, &mut [0; 8]).unwrap_err();
        assert_eq!(Errno::from_io_error(&gone), Some(Errno::SRCH), "it ended between two reads");
    }
}
