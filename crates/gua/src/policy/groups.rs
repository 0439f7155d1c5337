//! The groups of people, asked for no more often than it matters, and on a thread of its own: a
//! directory that hangs must keep no tick waiting.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use probe::{Reading, Why};

use super::subject::Groups;

/// After so long the host's directory is asked again. Right before an end it is asked in any
/// case.
const TRUE_FOR: Duration = Duration::from_secs(60);

/// What was asked for, and when.
#[derive(Debug)]
pub struct GroupBook {
    root: PathBuf,
    /// How long an answer is waited for.
    patience: Duration,
    known: HashMap<Arc<str>, (Instant, Groups)>,
    asked: HashSet<Arc<str>>,
    /// `None` until somebody is asked for.
    directory: Option<Directory>,
}

/// The thread that asks.
#[derive(Debug)]
struct Directory {
    names: Sender<Arc<str>>,
    answers: Receiver<(Arc<str>, Groups)>,
}

impl Directory {
    /// `None` where no thread can be had.
    fn open(root: PathBuf) -> Option<Self> {
        let (names, asked) = channel::<Arc<str>>();
        let (tell, answers) = channel();
        let ask = move || {
            for name in asked {
                let groups = probe::proc::groups(&root, &name);
                // Whoever asked may be gone.
                let _ = tell.send((name, groups));
            }
        };
        thread::Builder::new().name("groups".into()).spawn(ask).ok()?;
        Some(Self { names, answers })
    }
}

impl GroupBook {
    /// Of the host below this root.
    #[must_use]
    pub fn new(root: PathBuf, patience: Duration) -> Self {
        let (known, asked) = (HashMap::new(), HashSet::new());
        Self { root, patience, known, asked, directory: None }
    }

    /// The groups of a user: what was last heard, where that was long ago and no answer comes.
    pub fn of(&mut self, name: &Arc<str>, now: Instant) -> Groups {
        self.hear(Duration::ZERO, now);
        let is_true = |at: Instant| now.saturating_duration_since(at) < TRUE_FOR;
        if !self.known.get(name).is_some_and(|(at, _)| is_true(*at)) {
            self.ask(name, now);
        }
        self.known.get(name).map_or(Reading::Unknown(Why::TimedOut), |(_, groups)| groups.clone())
    }

    /// Everybody is asked for again.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    fn ask(&mut self, name: &Arc<str>, now: Instant) {
        // One that has not answered so far is not waited for again.
        let patience = if self.asked.is_empty() { self.patience } else { Duration::ZERO };
        if !self.asked.contains(name) && self.send(name) {
            self.asked.insert(Arc::clone(name));
        }
        self.hear(patience, now);
    }

    /// Whether it is asked for now. Where there is no thread, or none any more, nothing is known,
    /// and the next one who is asked for begins another.
    fn send(&mut self, name: &Arc<str>) -> bool {
        let root = &self.root;
        let directory = self.directory.take().or_else(|| Directory::open(root.clone()));
        self.directory = directory.filter(|it| it.names.send(Arc::clone(name)).is_ok());
        if self.directory.is_none() {
            self.asked.clear();
        }
        self.directory.is_some()
    }

    /// Takes what was answered; waits for all that is asked for no longer than this.
    fn hear(&mut self, patience: Duration, now: Instant) {
        let Some(Directory { answers, .. }) = &self.directory else { return };
        let deadline = Instant::now() + patience;
        while !self.asked.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            match answers.recv_timeout(left) {
                Ok((name, groups)) => {
                    self.asked.remove(&name);
                    self.known.insert(name, (now, groups));
                }
                Err(RecvTimeoutError::Timeout) => return,
                // Nobody is left who would answer.
                Err(RecvTimeoutError::Disconnected) => self.asked.clear(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
        assert_eq!(count(now + TRUE_FOR / 2), Some(1));
        assert_eq!(count(now + TRUE_FOR), Some(2));
    }

    /// Trap: whoever was asked for when the thread was gone was never asked for again.
    #[test]
    fn a_thread_that_has_ended_is_followed_by_another() {
        let dir = host("users:x:100:\n");
        let mut book = GroupBook::new(dir.path().to_owned(), LONG);
        let (names, answers) = (channel().0, channel().1);
        book.directory = Some(Directory { names, answers });
        book.asked.insert("bob".into());
        let (ann, now): (Arc<str>, _) = ("ann".into(), Instant::now());
        assert_eq!(book.of(&ann, now), Reading::Unknown(Why::TimedOut));
        assert!(book.asked.is_empty());
        assert_eq!(book.of(&ann, now).known().map(|groups| groups.len()), Some(1));
    }

    /// A directory that does not answer: a pipe that nobody writes to.
    #[test]
    fn a_directory_that_hangs_keeps_nobody_waiting() {
        let dir = host("");
        let group = dir.path().join("etc/group");
        fs::remove_file(&group).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&group).status().unwrap();
        assert!(made.success());
        let mut book = GroupBook::new(dir.path().to_owned(), Duration::from_millis(20));
        let now = Instant::now();
        let begun = Instant::now();
        for name in ["ann", "bob", "ann"] {
            assert_eq!(book.of(&name.into(), now), Reading::Unknown(Why::TimedOut));
        }
        assert!(begun.elapsed() < LONG);
        // Whoever waits for it can go on.
        drop(fs::OpenOptions::new().write(true).open(&group).unwrap());
    }
}
