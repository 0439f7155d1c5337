//! Whether a recorder runs, by the file in which it leaves its number.

use std::path::{Path, PathBuf};

use gua_recorder::pid_file::NamedProcess;
use gua_recorder::{FoundPidFile, PidFile};

use super::report::{Check, DaemonFacts, Finding, Verdict};
use crate::render::words::shell_word;

/// What the file leads to.
#[derive(Debug)]
pub(super) enum Recorder {
    /// There is no place for such a file.
    Homeless,
    At(PathBuf, FoundPidFile),
}

pub(super) fn gather(pid_file: Option<&Path>) -> Recorder {
    match pid_file {
        None => Recorder::Homeless,
        Some(path) => Recorder::At(path.to_owned(), PidFile::find(path)),
    }
}

pub(super) fn facts(recorder: &Recorder) -> DaemonFacts {
    let (path, running, pid) = match recorder {
        Recorder::Homeless => (None, None, None),
        Recorder::At(path, found) => match found {
            FoundPidFile::Missing | FoundPidFile::Empty | FoundPidFile::Garbled => {
                (Some(path), Some(false), None)
            }
            FoundPidFile::Unreadable(_) => (Some(path), None, None),
            FoundPidFile::Names(file, NamedProcess::Recorder) => {
                (Some(path), Some(true), Some(file.pid))
            }
            FoundPidFile::Names(file, NamedProcess::Hidden) => (Some(path), None, Some(file.pid)),
            FoundPidFile::Names(_, NamedProcess::Other | NamedProcess::Gone) => {
                (Some(path), Some(false), None)
            }
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
        FoundPidFile::Missing => finding(Verdict::Ok, "no recorder is running".into()),
        FoundPidFile::Unreadable(error) => {
            finding(Verdict::Warning, format!("{} cannot be read: {error}", path.display()))
                .next("Check who owns it; a recorder may be running.")
        }
        FoundPidFile::Empty | FoundPidFile::Garbled => stale("it holds no process number".into()),
        FoundPidFile::Names(file, process) => {
            let pid = file.pid;
            match process {
                NamedProcess::Recorder => {
                    finding(Verdict::Ok, format!("a recorder is running, pid {pid}"))
                }
                NamedProcess::Gone => stale(format!("process {pid} is gone")),
                NamedProcess::Other => stale(format!("process {pid} is another program")),
                NamedProcess::Hidden => finding(
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
    use std::io;

    #[test]
    fn only_a_stale_or_unreadable_file_is_a_warning() {
        let at = |found| Recorder::At("/p".into(), found);
        let process = |process| {
            at(FoundPidFile::Names(PidFile { pid: 7, start_ticks: None, database: None }, process))
        };
        let error = || io::Error::from(io::ErrorKind::PermissionDenied);
        let cases = [
            (Recorder::Homeless, Verdict::Skipped, None),
            (at(FoundPidFile::Missing), Verdict::Ok, Some(false)),
            (at(FoundPidFile::Unreadable(error())), Verdict::Warning, None),
            (at(FoundPidFile::Garbled), Verdict::Warning, Some(false)),
            (process(NamedProcess::Recorder), Verdict::Ok, Some(true)),
            (process(NamedProcess::Gone), Verdict::Warning, Some(false)),
            (process(NamedProcess::Other), Verdict::Warning, Some(false)),
            (process(NamedProcess::Hidden), Verdict::Ok, None),
        ];
        for (recorder, verdict, running) in cases {
            let finding = judge(&recorder);
            assert_eq!(finding.verdict, verdict, "{recorder:?}");
            assert_eq!(finding.next_step.is_some(), verdict == Verdict::Warning);
            assert_eq!(facts(&recorder).running, running, "{recorder:?}");
        }
    }
}
