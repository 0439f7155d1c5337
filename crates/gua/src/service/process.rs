//! What a process is, and whether it is a recorder.

use std::fs;

use probe::proc::{cmdline, stat};
use rustix::process::{Pid, test_kill_process};

/// What the process of a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    Recorder,
    Other,
    Gone,
    /// It is there, but what it is may not be read.
    Hidden,
}

impl Process {
    #[must_use]
    pub fn of(pid: u32) -> Self {
        match fs::read(format!("/proc/{pid}/cmdline")) {
            // Ended, but not yet taken note of by its parent.
            Ok(bytes) if bytes.is_empty() => Self::Gone,
            Ok(bytes) if is_recorder(&cmdline::parse(&bytes)) => Self::Recorder,
            Ok(_) => Self::Other,
            Err(_) if is_alive(pid) => Self::Hidden,
            Err(_) => Self::Gone,
        }
    }
}

/// When a process started, in clock ticks since boot; `None` where it is gone or hidden.
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    stat::parse(&bytes).map(|stat| stat.start_ticks)
}

/// A process that may not be signalled is there all the same.
fn is_alive(pid: u32) -> bool {
    let asked = as_pid(pid).map(test_kill_process);
    matches!(asked, Some(Ok(()) | Err(rustix::io::Errno::PERM)))
}

pub(super) fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Ours or the Python gua's: `gua daemon`, `gua start`, maybe behind an interpreter.
#[must_use]
pub fn is_recorder(arguments: &[String]) -> bool {
    let name = |argument: &String| {
        let name = argument.rsplit('/').next().unwrap_or(argument);
        // With a version or a platform behind it, as it was downloaded.
        name.strip_prefix("gua")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
            || name.replace('_', "-") == "gpu-usage-audit"
    };
    let Some(program) = arguments.iter().position(name) else {
        return false;
    };
    arguments.iter().skip(program + 1).any(|argument| matches!(&**argument, "daemon" | "start"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_is_known_by_its_arguments() {
        let is = |line: &str| is_recorder(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is("gua daemon"));
        assert!(is("/opt/bin/gua --nvml /x.so daemon --interval 30s"));
        assert!(is("/usr/bin/python3 /home/a/.local/bin/gua start"));
        assert!(is("python3 -m gpu_usage_audit daemon"));
        assert!(is("./gua-0.1.0-x86_64-linux daemon"));
        assert!(!is("gua stat"));
        assert!(!is("guard daemon"));
        assert!(!is("vim /home/gua/daemon"));
        assert!(!is("daemon gua"));
        assert!(!is(""));
    }

    #[test]
    fn a_process_is_told_from_none() {
        assert_eq!(Process::of(std::process::id()), Process::Other);
        assert_eq!(Process::of(i32::MAX.cast_unsigned()), Process::Gone);
        assert!(start_ticks(std::process::id()).is_some());
        assert_eq!(start_ticks(i32::MAX.cast_unsigned()), None);
    }
}
