//! What each holder is at this tick: a process may have become another program, changed its
//! name, its owner or its control group since it was first seen.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use probe::proc::status::Uids;
use probe::proc::{Host, stat, status};
use probe::process::{Presence, ProcessFacts};
use probe::{Reading, Why};

use super::subject::Subject;

/// Who is behind a process costs more to find out than whether anything of it has changed.
#[derive(Debug)]
pub struct Present {
    root: PathBuf,
    host: Host,
    known: HashMap<Subject, (Marks, Arc<ProcessFacts>)>,
}

/// What a process is now.
#[derive(Debug, Clone)]
pub struct Found {
    pub facts: Arc<ProcessFacts>,
    pub owner: Reading<Uids>,
    /// As the kernel writes them.
    pub cgroup: Reading<Arc<str>>,
}

/// What tells that a process is not what it was.
#[derive(Debug, Clone, PartialEq)]
struct Marks {
    comm: String,
    arguments: Vec<u8>,
    owner: Reading<Uids>,
    cgroup: Reading<Arc<str>>,
}

impl Present {
    /// Of the host below this root.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        let host = Host::new(Some(root.clone())).with_identities(true);
        Self { root, host, known: HashMap::new() }
    }

    /// Forgets all but these.
    pub fn keep(&mut self, is_wanted: impl Fn(&Subject) -> bool) {
        self.known.retain(|subject, _| is_wanted(subject));
    }

    /// What a process is now; `Gone` where it has ended, be it taken note of or not.
    pub fn of(&mut self, subject: Subject) -> Reading<Found> {
        let marks = match self.marks(subject) {
            Reading::Known(marks) => marks,
            Reading::Unknown(why) => return Reading::Unknown(why),
        };
        let facts = match self.known.get(&subject) {
            Some((before, facts)) if *before == marks => Arc::clone(facts),
            _ => match self.read(subject) {
                Reading::Known(facts) => facts,
                Reading::Unknown(why) => return Reading::Unknown(why),
            },
        };
        let (owner, cgroup) = (marks.owner, marks.cgroup.clone());
        self.known.insert(subject, (marks, Arc::clone(&facts)));
        Reading::Known(Found { facts, owner, cgroup })
    }

    fn read(&mut self, subject: Subject) -> Reading<Arc<ProcessFacts>> {
        // What it has read before is what may have changed.
        self.host.keep_only(|_| false);
        match self.host.process(subject.pid) {
            Presence::Here(facts) if Some(facts.start_ticks) == subject.start_ticks => {
                Reading::Known(facts)
            }
            Presence::Here(_) | Presence::Gone => Reading::Unknown(Why::Gone),
            Presence::Foreign => Reading::Unknown(Why::Foreign),
            Presence::Hidden(why) => Reading::Unknown(why),
        }
    }

    fn marks(&self, subject: Subject) -> Reading<Marks> {
        let file = |name: &str| {
            let path = self.root.join(format!("proc/{}/{name}", subject.pid));
            fs::read(path).ok()
        };
        let text =
            |name: &str| file(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let owner = text("status").and_then(|text| status::uids(&text));
        let (cgroup, arguments) = (text("cgroup"), file("cmdline").unwrap_or_default());
        // Last, so that all of it is of the process that was meant.
        let stat = file("stat").and_then(|bytes| stat::parse(&bytes));
        match stat {
            Some(stat) if stat.is_ended || Some(stat.start_ticks) != subject.start_ticks => {
                Reading::Unknown(Why::Gone)
            }
            Some(stat) => Reading::Known(Marks {
                comm: stat.comm,
                arguments,
                owner: owner.map_or(Reading::Unknown(Why::Gone), Reading::Known),
                cgroup: cgroup.map_or(Reading::Unknown(Why::Gone), |it| Reading::Known(it.into())),
            }),
            None => Reading::Unknown(Why::Gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::own::start_ticks;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    /// Trap: servers name themselves once they are up, and launchers become what they launch.
    #[test]
    fn a_process_that_becomes_another_program_is_that_program() {
        let mut child = Command::new("sh")
            .args(["-c", "echo; read line; exec sleep 600"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let subject = Subject { pid: child.id(), start_ticks: start_ticks(child.id()) };
        let mut present = Present::new(PathBuf::from("/"));
        let mut program =
            || present.of(subject).known().map(|found| found.facts.program.to_string());
        assert_eq!(program().as_deref(), Some("sh"));
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while program().as_deref() != Some("sleep") {
            assert!(std::time::Instant::now() < deadline, "it stays {:?}", program());
        }
        child.kill().unwrap();
        // Nobody has waited for it yet.
        while program().is_some() {
            assert!(std::time::Instant::now() < deadline, "it does not end");
        }
        child.wait().unwrap();
    }

    #[test]
    fn another_with_its_pid_is_not_it() {
        let pid = std::process::id();
        let mut present = Present::new(PathBuf::from("/"));
        let start = start_ticks(pid);
        assert!(present.of(Subject { pid, start_ticks: start }).known().is_some());
        let other = Subject { pid, start_ticks: Some(1) };
        assert!(matches!(present.of(other), Reading::Unknown(Why::Gone)));
    }
}
