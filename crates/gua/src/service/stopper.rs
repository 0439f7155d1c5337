//! Ends a recorder, and waits until it has ended.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::pid_file::PidFile;
use super::process::{Process, as_pid, start_ticks};

/// Longer than a recorder takes whose disk is slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    Ended {
        after: Duration,
    },
    /// It was gone, or another process by then.
    NotThere,
    /// It was told to, but has not ended.
    StillThere {
        after: Duration,
    },
}

/// Ends the recorder that wrote the file. It is held by a handle before it is looked at, so
/// that the signal cannot reach another process that has got its number meanwhile.
///
/// # Errors
/// When the host does not let us.
pub fn stop(file: &PidFile) -> std::io::Result<Stopped> {
    let Some(pid) = as_pid(file.pid) else { return Ok(Stopped::NotThere) };
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(Stopped::NotThere),
        Err(error) => return Err(error.into()),
    };
    let is_ours = start_ticks(file.pid).is_some_and(|now| file.start_ticks == Some(now))
        && Process::of(file.pid) == Process::Recorder;
    if !is_ours {
        return Ok(Stopped::NotThere);
    }
    match pidfd_send_signal(&handle, Signal::TERM) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    let begun = Instant::now();
    let ended = wait(handle.as_fd(), begun + PATIENCE)?;
    let after = begun.elapsed();
    Ok(if ended { Stopped::Ended { after } } else { Stopped::StillThere { after } })
}

/// A handle of a process can be read from once it has ended.
fn wait(handle: std::os::fd::BorrowedFd<'_>, deadline: Instant) -> std::io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
