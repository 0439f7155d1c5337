//! Whether a recorder runs, by the file in which it leaves its number.

use std::path::{Path, PathBuf};

use crate::render::words::shell_word;
use crate::report::checkup::{Check, DaemonFacts, Finding, Verdict};
use crate::service::{self, Found, Process};

/// What the file leads to.
#[derive(Debug)]
pub(super) enum Recorder {
    /// There is no place for such a file.
    Homeless,
    At(PathBuf, Found),
}

pub(super) fn gather(pid_file: Option<&Path>) -> Recorder {
    match pid_file {
        None => Recorder::Homeless,
        Some(path) => Recorder::At(path.to_owned(), service::find(path)),
    }
}

pub(super) fn facts(recorder: &Recorder) -> DaemonFacts {
    let (path, running, pid) = match recorder {
        Recorder::Homeless => (None, None, None),
        Recorder::At(path, found) => match found {
            Found::None | Found::Empty | Found::Garbled => (Some(path), Some(false), None),
            Found::Unreadable(_) => (Some(path), None, None),
            Found::Process(file, Process::Recorder) => (Some(path), Some(true), Some(file.pid)),
            Found::Process(file, Process::Hidden) => (Some(path), None, Some(file.pid)),
            Found::Process(_, Process::Other | Process::Gone) => (Some(path), Some(false), None),
        },
    };
    DaemonFacts { pid_file: path.map(|path| path.display().to_string()), running, pid }
}

pub(super) fn judge(recorder: &Recorder) -> Finding {
    let finding = |verdict, detail: String| Finding::new(Check::Daemon, verdict, detail);
    let Recorder::At(path, found) = recorder else {
        return finding(
            Verdict::Skipped,
            "there is no home folder to look for its pid file in".into(),
        );
    };
    let stale = |why: String| {
        let detail = format!("stale pid file {}: {why}; no recorder is running", path.display());
        let path = shell_word(&path.display().to_string());
        finding(Verdict::Warning, detail).next(format!("Remove it: `rm {path}`"))
    };
    match found {
        Found::None => finding(Verdict::Ok, "no recorder is running".into()),
        Found::Unreadable(error) => {
            finding(Verdict::Warning, format!("{} cannot be read: {error}", path.display()))
                .next("Check who owns it; a recorder may be running.")
        }
        Found::Empty | Found::Garbled => stale("it holds no process number".into()),
        Found::Process(file, process) => {
            let pid = file.pid;
            match process {
                Process::Recorder => {
                    finding(Verdict::Ok, format!("a recorder is running, pid {pid}"))
                }
                Process::Gone => stale(format!("process {pid} is gone")),
                Process::Other => stale(format!("process {pid} is another program")),
                Process::Hidden => finding(
                    Verdict::Ok,
                    format!("process {pid} may be a recorder; it is not readable"),
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::PidFile;
    use std::io;

    #[test]
    fn only_a_stale_or_unreadable_file_is_a_warning() {
        let at = |found| Recorder::At("/p".into(), found);
        let process = |process| {
            at(Found::Process(PidFile { pid: 7, start_ticks: None, database: None }, process))
        };
        let error = || io::Error::from(io::ErrorKind::PermissionDenied);
        let cases = [
            (Recorder::Homeless, Verdict::Skipped, None),
            (at(Found::None), Verdict::Ok, Some(false)),
            (at(Found::Unreadable(error())), Verdict::Warning, None),
            (at(Found::Garbled), Verdict::Warning, Some(false)),
            (process(Process::Recorder), Verdict::Ok, Some(true)),
            (process(Process::Gone), Verdict::Warning, Some(false)),
            (process(Process::Other), Verdict::Warning, Some(false)),
            (process(Process::Hidden), Verdict::Ok, None),
        ];
        for (recorder, verdict, running) in cases {
            let finding = judge(&recorder);
            assert_eq!(finding.verdict, verdict, "{recorder:?}");
            assert_eq!(finding.next_step.is_some(), verdict == Verdict::Warning);
            assert_eq!(facts(&recorder).running, running, "{recorder:?}");
        }
    }
}
