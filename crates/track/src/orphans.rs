//! The orphans that came to this process: descendants of a command whose parents have ended.

use std::fs;

use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::handles::Left;
use crate::process::{self, Process};

/// Whose children ours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Children {
    /// All of them come from the command.
    OfTheCommand,
    /// We had some before, as a program has that a shell became by `exec`. Theirs come to us
    /// as well, and cannot be told apart.
    Mixed,
}

impl Children {
    /// To be asked before the command is started.
    #[must_use]
    pub fn to_come() -> Self {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::All, look) {
            Err(Errno::CHILD) => Self::OfTheCommand,
            _ => Self::Mixed,
        }
    }

    /// Those that go on; none where they may be others'.
    #[must_use]
    pub fn orphans(self) -> Vec<Left> {
        match self {
            Self::OfTheCommand => children(std::process::id()),
            Self::Mixed => Vec::new(),
        }
    }
}

fn children(parent: u32) -> Vec<Left> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| process::parent(*pid) == Some(parent);
    pids.filter(is_child).filter_map(|pid| held(pid, parent)).collect()
}

/// The parent is looked at again: by now the pid may be another's.
fn held(pid: u32, parent: u32) -> Option<Left> {
    let process = Process::open(pid).ok()?;
    let left = Left::hold(&process)?;
    let status = process.status(&mut Vec::new()).ok()?;
    (status.parent == parent && !status.has_ended).then_some(left)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn children_are_found_until_they_have_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let is_found = || {
            let found = children(std::process::id());
            found.iter().any(|one| one.pid == child.id())
        };
        assert!(is_found());
        assert_eq!(Children::to_come(), Children::Mixed);
        assert!(Children::Mixed.orphans().is_empty());
        let held = held(child.id(), std::process::id()).unwrap();
        assert!(held_by_another(child.id()).is_none());
        drop(child.stdin.take());
        assert!(held.has_ended_by(std::time::Instant::now() + std::time::Duration::from_secs(60)));
        // Nobody has waited for it yet.
        assert!(!children(std::process::id()).iter().any(|one| one.pid == child.id()));
        child.wait().unwrap();
    }

    fn held_by_another(pid: u32) -> Option<Left> {
        held(pid, std::process::id() + 1)
    }
}
