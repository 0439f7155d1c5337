//! The groups of people, as the host's directory tells them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::directory::Directory;

use super::subject::Groups;

/// What was asked for, and when. Right before an end it is asked again in any case.
#[derive(Debug)]
pub struct GroupBook(Directory<Arc<str>, Arc<[Arc<str>]>>);

impl GroupBook {
    /// Of the host below this root; an answer is waited for so long.
    #[must_use]
    pub fn new(root: PathBuf, patience: Duration) -> Self {
        Self(Directory::new("groups", root, groups, patience))
    }

    /// The groups of a user: what was last heard, where that was long ago and no answer comes.
    pub fn of(&mut self, name: &Arc<str>, now: Instant) -> Groups {
        self.0.ask(name, now)
    }

    /// Everybody is asked for again.
    pub fn forget(&mut self) {
        self.0.forget();
    }
}

fn groups(root: &Path, name: &Arc<str>) -> Groups {
    probe::proc::groups(root, name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use probe::directory::ANSWER_KEPT;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn host(group: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("etc")).unwrap();
        fs::write(dir.path().join("etc/passwd"), "ann:x:1001:100::/:/bin/sh\n").unwrap();
        fs::write(dir.path().join("etc/group"), group).unwrap();
        dir
    }

    #[test]
    fn who_joins_a_group_is_in_it_a_minute_later() {
        let dir = host("users:x:100:\nvip:x:200:\n");
        let mut book = GroupBook::new(dir.path().to_owned(), LONG);
        let (ann, now): (Arc<str>, _) = ("ann".into(), Instant::now());
        let mut count = |now| book.of(&ann, now).known().map(|groups| groups.len());
        assert_eq!(count(now), Some(1));
        fs::write(dir.path().join("etc/group"), "users:x:100:\nvip:x:200:ann\n").unwrap();
        assert_eq!(count(now + ANSWER_KEPT / 2), Some(1));
        assert_eq!(count(now + ANSWER_KEPT), Some(2));
    }
}
