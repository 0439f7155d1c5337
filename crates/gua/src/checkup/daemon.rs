//! Whether a recorder runs, by the file in which it leaves its number.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use probe::proc::cmdline;
use rustix::process::{Pid, test_kill_process};

use crate::render::words::shell_word;
use crate::report::checkup::{Check, DaemonFacts, Finding, Verdict};

/// What the file leads to.
#[derive(Debug)]
pub(super) enum Recorder {
    /// There is no place for such a file.
    Homeless,
    /// There is no such file.
    None(PathBuf),
    /// The file cannot be read.
    Unreadable(PathBuf, io::Error),
    /// The file holds no number.
    Garbled(PathBuf),
    Found(PathBuf, u32, Process),
}

/// What the process of that number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    Recorder,
    Other,
    Gone,
    /// It is there, but what it is may not be read.
    Hidden,
}

pub(super) fn gather(pid_file: Option<&Path>) -> Recorder {
    let Some(path) = pid_file.map(Path::to_owned) else {
        return Recorder::Homeless;
    };
    match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Recorder::None(path),
        Err(error) => Recorder::Unreadable(path, error),
        Ok(text) => match first_number(&text) {
            None => Recorder::Garbled(path),
            Some(pid) => Recorder::Found(path, pid, process(pid)),
        },
    }
}

/// Only a file is read: a pipe would wait for a writer.
fn read(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// The first word of the first line, where it is a number that a process may have.
fn first_number(text: &str) -> Option<u32> {
    let number = text.lines().next()?.split_whitespace().next()?.parse().ok()?;
    Some(number).filter(|number| *number > 0 && i32::try_from(*number).is_ok())
}

fn process(pid: u32) -> Process {
    match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(bytes) if is_recorder(&cmdline::parse(&bytes)) => Process::Recorder,
        Ok(_) => Process::Other,
        Err(_) if is_alive(pid) => Process::Hidden,
        Err(_) => Process::Gone,
    }
}

/// A process that may not be signalled is there all the same.
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let asked = pid.map(test_kill_process);
    matches!(asked, Some(Ok(()) | Err(rustix::io::Errno::PERM)))
}

/// Ours or the Python gua's: `gua daemon`, `gua start`, maybe behind an interpreter.
fn is_recorder(arguments: &[String]) -> bool {
    let name = |argument: &String| {
        let name = argument.rsplit('/').next().unwrap_or(argument);
        name == "gua" || name.starts_with("gua.") || name.replace('_', "-") == "gpu-usage-audit"
    };
    let Some(program) = arguments.iter().position(name) else {
        return false;
    };
    arguments.iter().skip(program + 1).any(|argument| matches!(&**argument, "daemon" | "start"))
}

pub(super) fn facts(recorder: &Recorder) -> DaemonFacts {
    let (path, running, pid) = match recorder {
        Recorder::Homeless => (None, None, None),
        Recorder::None(path) | Recorder::Garbled(path) => (Some(path), Some(false), None),
        Recorder::Unreadable(path, _) => (Some(path), None, None),
        Recorder::Found(path, pid, process) => match process {
            Process::Recorder => (Some(path), Some(true), Some(*pid)),
            Process::Hidden => (Some(path), None, Some(*pid)),
            Process::Other | Process::Gone => (Some(path), Some(false), None),
        },
    };
    DaemonFacts { pid_file: path.map(|path| path.display().to_string()), running, pid }
}

pub(super) fn judge(recorder: &Recorder) -> Finding {
    let finding = |verdict, detail: String| Finding::new(Check::Daemon, verdict, detail);
    let stale = |path: &Path, why: String| {
        let detail = format!("stale pid file {}: {why}; no recorder is running", path.display());
        let path = shell_word(&path.display().to_string());
        finding(Verdict::Warning, detail).next(format!("Remove it: `rm {path}`"))
    };
    match recorder {
        Recorder::Homeless => {
            finding(Verdict::Skipped, "there is no home folder to look for its pid file in".into())
        }
        Recorder::None(_) => finding(Verdict::Ok, "no recorder is running".into()),
        Recorder::Unreadable(path, error) => {
            finding(Verdict::Warning, format!("{} cannot be read: {error}", path.display()))
                .next("Check who owns it; a recorder may be running.")
        }
        Recorder::Garbled(path) => stale(path, "it holds no process number".into()),
        Recorder::Found(path, pid, process) => match process {
            Process::Recorder => finding(Verdict::Ok, format!("a recorder is running, pid {pid}")),
            Process::Gone => stale(path, format!("process {pid} is gone")),
            Process::Other => stale(path, format!("process {pid} is another program")),
            Process::Hidden => {
                finding(Verdict::Ok, format!("process {pid} may be a recorder; it is not readable"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_the_process() {
        assert_eq!(first_number("4711\n"), Some(4711));
        assert_eq!(first_number(" 12 2026-11-15T20:00:00Z\nmore"), Some(12));
        for text in ["", "\n5", "gua 5", "-5", "0", "4294967295", "99999999999"] {
            assert_eq!(first_number(text), None, "{text}");
        }
    }

    #[test]
    fn a_recorder_is_known_by_its_arguments() {
        let is = |line: &str| is_recorder(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is("gua daemon"));
        assert!(is("/opt/bin/gua --nvml /x.so daemon --interval 30s"));
        assert!(is("/usr/bin/python3 /home/a/.local/bin/gua start"));
        assert!(is("python3 -m gpu_usage_audit daemon"));
        assert!(!is("gua stat"));
        assert!(!is("vim /home/gua/daemon"));
        assert!(!is("daemon gua"));
        assert!(!is(""));
    }

    #[test]
    fn a_process_is_told_from_none() {
        assert_eq!(process(std::process::id()), Process::Other);
        assert_eq!(process(i32::MAX.cast_unsigned()), Process::Gone);
    }

    #[test]
    fn only_a_stale_or_unreadable_file_is_a_warning() {
        let found = |process| Recorder::Found("/p".into(), 7, process);
        let error = || io::Error::from(io::ErrorKind::PermissionDenied);
        let cases = [
            (Recorder::Homeless, Verdict::Skipped, None),
            (Recorder::None("/p".into()), Verdict::Ok, Some(false)),
            (Recorder::Unreadable("/p".into(), error()), Verdict::Warning, None),
            (Recorder::Garbled("/p".into()), Verdict::Warning, Some(false)),
            (found(Process::Recorder), Verdict::Ok, Some(true)),
            (found(Process::Gone), Verdict::Warning, Some(false)),
            (found(Process::Other), Verdict::Warning, Some(false)),
            (found(Process::Hidden), Verdict::Ok, None),
        ];
        for (recorder, verdict, running) in cases {
            let finding = judge(&recorder);
            assert_eq!(finding.verdict, verdict, "{recorder:?}");
            assert_eq!(finding.next_step.is_some(), verdict == Verdict::Warning);
            assert_eq!(facts(&recorder).running, running, "{recorder:?}");
        }
    }
}
