//! Who descends from a process, found from above: it costs what they are, not what the host has.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use probe::Why;
use probe::proc::tree::children;

/// How often the children of one process are read until two readings agree.
const ATTEMPTS: u32 = 8;

/// The descendants of a process that has so many threads which may have children. `None` where the
/// kernel keeps no lists of children, or they do not come to rest: then only the list of all
/// processes tells.
#[must_use]
pub fn below(pid: u32, threads: u32) -> Option<Vec<u32>> {
    if threads == 1 && first_thread_has_no_child(pid) {
        return Some(Vec::new());
    }
    let mut found = BTreeSet::new();
    let mut open = vec![pid];
    while let Some(next) = open.pop() {
        open.extend(settled_children(next)?.into_iter().filter(|child| found.insert(*child)));
    }
    Some(found.into_iter().collect())
}

/// An empty list needs no second look: nobody was taken out of it.
fn first_thread_has_no_child(pid: u32) -> bool {
    let list = File::open(format!("/proc/{pid}/task/{pid}/children"));
    list.and_then(|mut list| list.read(&mut [0])).is_ok_and(|length| length == 0)
}

/// A child that ends while the list is read may take others out of it, so it is read until it says
/// the same twice.
fn settled_children(pid: u32) -> Option<Vec<u32>> {
    let mut before = read(pid)?;
    for _ in 0..ATTEMPTS {
        let now = read(pid)?;
        if now == before {
            return Some(now);
        }
        before = now;
    }
    None
}

fn read(pid: u32) -> Option<Vec<u32>> {
    match children(&PathBuf::from(format!("/proc/{pid}"))) {
        Ok(children) => Some(children),
        // Its children are another's by now, who is asked as well if it is one of ours.
        Err(Why::Gone) => Some(Vec::new()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::process::parent;

    #[test]
    fn children_of_children_are_found() {
        let script = "sh -c 'sleep 600 & echo $!; wait' & wait";
        let mut shell =
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let sleeper: u32 = line.trim().parse().unwrap();
        let middle = parent(sleeper).unwrap();
        let found = below(shell.id(), 1).unwrap();
        let mut expected = vec![middle, sleeper];
        expected.sort_unstable();
        for pid in [sleeper, middle] {
            Command::new("kill").arg(pid.to_string()).status().unwrap();
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_gone_has_no_descendants() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(below(child.id(), 1), Some(Vec::new()));
    }

    #[test]
    fn who_has_no_children_has_none_at_the_first_look() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        assert!(first_thread_has_no_child(child.id()));
        assert!(!first_thread_has_no_child(std::process::id()) || is_a_thread_of_its_own());
        assert!(below(std::process::id(), 2).unwrap().contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// What a test starts is a child of the test's thread.
    fn is_a_thread_of_its_own() -> bool {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs() != std::process::id()
    }
}
