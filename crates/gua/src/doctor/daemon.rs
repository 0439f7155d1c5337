//! The recorder: running or not, by its pid file.

use std::path::Path;

use gua_recorder::pid_file::NamedProcess;
use gua_recorder::{FoundPidFile, PidFile};
use serde::Serialize;

use super::finding::Finding;
use crate::render::words::shell_word;

#[derive(Debug, Default, Serialize)]
pub(super) struct DaemonFacts {
    pid_file: Option<String>,
    /// Null if unknown.
    running: Option<bool>,
    pid: Option<u32>,
}

pub(super) fn check(pid_file: Option<&Path>) -> (Finding, DaemonFacts) {
    let Some(path) = pid_file else {
        let finding = Finding::skipped("there is no home folder to look for its pid file in");
        return (finding, DaemonFacts::default());
    };
    judge(&path.display().to_string(), &PidFile::find(path))
}

fn judge(path: &str, found: &FoundPidFile) -> (Finding, DaemonFacts) {
    let stale = |why: String| {
        let detail = format!("stale pid file {path}: {why}; no recorder is running");
        Finding::warning(detail).next(format!("Remove it: `rm {}`", shell_word(path)))
    };
    let (finding, running, pid) = match found {
        FoundPidFile::Missing => (Finding::ok("no recorder is running"), Some(false), None),
        FoundPidFile::Unreadable(error) => {
            let finding = Finding::warning(format!("{path} cannot be read: {error}"))
                .next("Check who owns it; a recorder may be running.");
            (finding, None, None)
        }
        FoundPidFile::Empty | FoundPidFile::Garbled => {
            (stale("it holds no process number".into()), Some(false), None)
        }
        FoundPidFile::Names(PidFile { pid, .. }, process) => match process {
            NamedProcess::Recorder => {
                (Finding::ok(format!("a recorder is running, pid {pid}")), Some(true), Some(*pid))
            }
            NamedProcess::Gone => (stale(format!("process {pid} is gone")), Some(false), None),
            NamedProcess::Other => {
                (stale(format!("process {pid} is another program")), Some(false), None)
            }
            NamedProcess::Hidden => {
                let detail = format!("process {pid} may be a recorder; it is not readable");
                (Finding::ok(detail), None, Some(*pid))
            }
        },
    };
    (finding, DaemonFacts { pid_file: Some(path.to_owned()), running, pid })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;
    use std::io;

    #[test]
    fn only_a_stale_or_unreadable_file_is_a_warning() {
        let process = |process| {
            FoundPidFile::Names(PidFile { pid: 7, start_ticks: None, database: None }, process)
        };
        let error = || io::Error::from(io::ErrorKind::PermissionDenied);
        let cases = [
            (FoundPidFile::Missing, Verdict::Ok, Some(false)),
            (FoundPidFile::Unreadable(error()), Verdict::Warning, None),
            (FoundPidFile::Garbled, Verdict::Warning, Some(false)),
            (process(NamedProcess::Recorder), Verdict::Ok, Some(true)),
            (process(NamedProcess::Gone), Verdict::Warning, Some(false)),
            (process(NamedProcess::Other), Verdict::Warning, Some(false)),
            (process(NamedProcess::Hidden), Verdict::Ok, None),
        ];
        assert_eq!(check(None).0.verdict, Verdict::Skipped);
        for (found, verdict, running) in cases {
            let (finding, facts) = judge("/p", &found);
            assert_eq!(finding.verdict, verdict, "{found:?}");
            assert_eq!(finding.next_step.is_some(), verdict == Verdict::Warning);
            assert_eq!(facts.running, running, "{found:?}");
        }
    }
}
