//! Processor time of a process and all its descendants.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::stat::{Field, StatLine};
use super::why;
use crate::reading::{Reading, Why};

/// Greatest number of members. The time of a larger tree is unknown.
const MOST_MEMBERS: usize = 20_000;

/// Members of a tree, by pid.
pub type Members = BTreeMap<u32, Member>;

/// One process of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Start in clock ticks since boot, which identifies the process.
    pub start_ticks: u64,
    /// Its own time and that of the children that it has waited for, in clock ticks.
    pub cpu_ticks: u64,
}

/// Returns the process and all its descendants. The cost depends on their number, not on the host's.
#[must_use]
pub fn members(root: &Path, pid: u32) -> Reading<Members> {
    let mut members = Members::new();
    let mut open = vec![pid];
    while let Some(next) = open.pop() {
        if members.len() >= MOST_MEMBERS {
            return Reading::Unknown(Why::NoTurn);
        }
        let folder = root.join(format!("proc/{next}"));
        match member(&folder) {
            Ok(member) => members.insert(next, member),
            // Only the root of the tree must exist; others come and go.
            Err(Why::Gone) if next != pid => continue,
            Err(why) => return Reading::Unknown(why),
        };
        match children(&folder) {
            Ok(children) => open.extend(children.iter().filter(|pid| !members.contains_key(*pid))),
            Err(Why::Gone) if next != pid => {}
            Err(why) => return Reading::Unknown(why),
        }
    }
    Reading::Known(members)
}

fn member(folder: &Path) -> Result<Member, Why> {
    let bytes = fs::read(folder.join("stat")).map_err(|error| why(&error))?;
    parse(&bytes).ok_or(Why::Garbled)
}

/// Parses a stat line; `None` if it is not one.
fn parse(bytes: &[u8]) -> Option<Member> {
    use Field::{ChildSystemTicks, ChildUserTicks, SystemTicks, UserTicks};
    let line = StatLine::parse(bytes)?;
    let cpu_ticks = line.sum(&[UserTicks, SystemTicks, ChildUserTicks, ChildSystemTicks])?;
    Some(Member { start_ticks: line.number(Field::StartTicks)?, cpu_ticks })
}

/// Returns the children of the process of this folder, of all its threads. If one of them ends
/// meanwhile, others may be missing.
///
/// # Errors
/// If they cannot be read, or the kernel has no such lists.
pub fn children(folder: &Path) -> Result<Vec<u32>, Why> {
    let mut children = Vec::new();
    for thread in fs::read_dir(folder.join("task")).map_err(|error| why(&error))? {
        let thread = thread.map_err(|error| why(&error))?;
        match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => {
                children.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            }
            Err(error) if is_there(&thread.path(), &error) => return Err(Why::NotSupported),
            // It has ended meanwhile.
            Err(error) if why(&error) == Why::Gone => {}
            Err(error) => return Err(why(&error)),
        }
    }
    Ok(children)
}

/// Returns true if a thread exists, but not its list: old kernels have none.
fn is_there(thread: &Path, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound && thread.exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn what_a_process_started_belongs_to_it() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 600 & echo; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It has started its child when it speaks.
        io::Read::read(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let found = members(Path::new("/"), shell.id()).known().unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        let child = found.keys().find(|pid| **pid != shell.id()).copied().unwrap();
        shell.kill().unwrap();
        shell.wait().unwrap();
        let child = rustix::process::Pid::from_raw(i32::try_from(child).unwrap()).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        assert_eq!(members(Path::new("/"), shell.id()), Reading::Unknown(Why::Gone));
    }

    #[test]
    fn time_of_children_that_ended_is_their_parents() {
        let line = b"7 (a) b) S 1 7 7 0 -1 4194304 5 0 0 0 7 3 20 1 20 0 4 0 777123 1 2 3\n";
        assert_eq!(parse(line), Some(Member { start_ticks: 777_123, cpu_ticks: 31 }));
        assert_eq!(parse(b"7 (a) S 1"), None);
    }
}
