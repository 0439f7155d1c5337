//! Starts a recorder in the background, and stops it.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::RecorderError;
use crate::log::{lines_since, open_log};
use crate::pid_file::{NamedProcess, PidFile, start_ticks, to_pid};
use crate::places::{Places, make_folder};

/// What a recorder writes to stdout once its first tick is stored.
const READY: &str = "ready";

/// Time to wait for a recorder to end: a slow disk may keep it.
const LONGEST_STOP: Duration = Duration::from_secs(20);

/// How a start went.
#[derive(Debug)]
pub enum Start {
    Recording {
        pid: u32,
    },
    /// The recorder ended before its first tick.
    Failed {
        /// Exit code, never 0.
        code: u8,
        /// End of its log.
        log: String,
    },
}

/// How a stop went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Stopped {
        after: Duration,
    },
    /// It was gone, or another process has its pid.
    NotRunning,
    /// It was told to stop and has not ended.
    StillRunning {
        after: Duration,
    },
}

/// Starts this program again with the arguments of a recorder in the foreground, and waits until it
/// records.
pub fn start(places: &Places, arguments: &[OsString]) -> Result<Start, RecorderError> {
    spawn(places, arguments).map_err(RecorderError::Start)
}

fn spawn(places: &Places, arguments: &[OsString]) -> io::Result<Start> {
    make_folder(&places.log_file)?;
    let log = open_log(&places.log_file)?;
    let length = log.metadata()?.len();
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    if line.trim_end() == READY {
        return Ok(Start::Recording { pid: child.id() });
    }
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(Start::Failed { code: code.max(1), log: lines_since(&places.log_file, length)? })
}

/// Tells [`start`] in the other process that the first tick is stored. Nobody may be listening.
pub fn report_ready() {
    let mut out = io::stdout();
    let _ = writeln!(out, "{READY}").and_then(|()| out.flush());
}

/// Detaches from the session of whoever started this process: its end must not be ours.
pub fn leave_session() -> Result<(), RecorderError> {
    let leave = || -> io::Result<()> {
        rustix::process::setsid()?;
        std::env::set_current_dir("/")
    };
    leave().map_err(RecorderError::Start)
}

/// Stops the recorder that a pid file names, and waits until it has ended.
///
/// The process is held by a pidfd before it is looked at, so that the signal cannot reach another one
/// that has got its pid meanwhile.
pub fn stop(file: &PidFile) -> Result<Stop, RecorderError> {
    stop_by_pidfd(file).map_err(|error| RecorderError::Stop { pid: file.pid, error })
}

fn stop_by_pidfd(file: &PidFile) -> io::Result<Stop> {
    let Some(pid) = to_pid(file.pid) else { return Ok(Stop::NotRunning) };
    let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(rustix::io::Errno::SRCH) => return Ok(Stop::NotRunning),
        Err(error) => return Err(error.into()),
    };
    let is_it = start_ticks(file.pid).is_some_and(|now| file.start_ticks == Some(now))
        && NamedProcess::from_pid(file.pid) == NamedProcess::Recorder;
    if !is_it {
        return Ok(Stop::NotRunning);
    }
    match pidfd_send_signal(&pidfd, Signal::TERM) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    let begin = Instant::now();
    let has_ended = wait_for_end(pidfd.as_fd(), begin + LONGEST_STOP)?;
    let after = begin.elapsed();
    Ok(if has_ended { Stop::Stopped { after } } else { Stop::StillRunning { after } })
}

/// Waits for the end of a process: then its pidfd becomes readable.
fn wait_for_end(pidfd: BorrowedFd<'_>, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn only_the_named_recorder_is_signalled() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("daemon");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
        let spawn = |name: &str| {
            let mut command = Command::new("cat");
            // It waits for somebody to write to the pipe.
            command.arg0(name).arg("daemon").current_dir(dir.path()).stdout(Stdio::null());
            command.spawn().unwrap()
        };
        let file = |pid, start_ticks| PidFile { pid, start_ticks, database: None };
        for (name, is_recorder) in [("gua", true), ("vim", false)] {
            let mut child = spawn(name);
            let pid = child.id();
            while NamedProcess::from_pid(pid) == NamedProcess::Gone {
                std::thread::yield_now();
            }
            let start = start_ticks(pid);
            assert_eq!(stop(&file(pid, start.map(|it| it + 1))).unwrap(), Stop::NotRunning);
            assert_eq!(stop(&file(pid, None)).unwrap(), Stop::NotRunning, "its start is unknown");
            let stopped = stop(&file(pid, start)).unwrap();
            assert_eq!(matches!(stopped, Stop::Stopped { .. }), is_recorder, "{stopped:?}");
            if !is_recorder {
                child.kill().unwrap();
            }
            child.wait().unwrap();
            assert_eq!(stop(&file(pid, start)).unwrap(), Stop::NotRunning);
        }
    }
}
