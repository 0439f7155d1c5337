//! Questions to a directory of people, which may be far away: asked on a thread of its own, so that
//! one that hangs keeps nobody waiting, and no more often than answers change.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::threads;

/// After so long it is asked again.
pub const TRUE_FOR: Duration = Duration::from_secs(60);

/// How a question is answered, on the host below this root.
type Answer<Q, A> = fn(&Path, &Q) -> A;

/// What was asked, and what was answered when.
#[derive(Debug)]
pub struct Directory<Q, A> {
    name: &'static str,
    root: PathBuf,
    answer: Answer<Q, A>,
    /// How long an answer is waited for.
    patience: Duration,
    known: HashMap<Q, (Instant, A)>,
    /// Not answered so far.
    asked: HashSet<Q>,
    /// `None` until something is asked.
    clerk: Option<Clerk<Q, A>>,
}

/// The thread that asks.
#[derive(Debug)]
struct Clerk<Q, A> {
    /// Where it is: the copy of a process has none of its threads.
    process: u32,
    questions: Sender<Q>,
    answers: Receiver<(Q, A)>,
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Clerk<Q, A> {
    /// `None` where no thread can be had.
    fn hired(name: &str, root: PathBuf, answer: Answer<Q, A>) -> Option<Self> {
        let (questions, asked) = channel::<Q>();
        let (tell, answers) = channel();
        let work = move || {
            for question in asked {
                let answered = answer(&root, &question);
                // Whoever asked may be gone.
                let _ = tell.send((question, answered));
            }
        };
        threads::spawn(threads::named(name), work).ok()?;
        Some(Self { process: process::id(), questions, answers })
    }
}

impl<Q, A> Directory<Q, A>
where
    Q: Clone + Eq + Hash + Send + 'static,
    A: Clone + Send + 'static,
{
    /// Of the host below this root. The name is that of the thread.
    #[must_use]
    pub fn new(
        name: &'static str,
        root: PathBuf,
        answer: fn(&Path, &Q) -> A,
        patience: Duration,
    ) -> Self {
        let (known, asked) = (HashMap::new(), HashSet::new());
        Self { name, root, answer, patience, known, asked, clerk: None }
    }

    /// What was last answered, if that was long ago and no answer comes; `None` where there
    /// never was one.
    pub fn ask(&mut self, question: &Q, now: Instant) -> Option<A> {
        self.hear(Duration::ZERO, now);
        let is_true = |at: Instant| now.saturating_duration_since(at) < TRUE_FOR;
        if !self.known.get(question).is_some_and(|(at, _)| is_true(*at)) {
            self.hand_over(question, now);
        }
        self.known.get(question).map(|(_, answer)| answer.clone())
    }

    /// Everything is asked again.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    fn hand_over(&mut self, question: &Q, now: Instant) {
        if self.clerk.as_ref().is_some_and(|clerk| clerk.process != process::id()) {
            (self.clerk, self.asked) = (None, HashSet::new());
        }
        // One that has not answered so far is not waited for again.
        let patience = if self.asked.is_empty() { self.patience } else { Duration::ZERO };
        if !self.asked.contains(question) && self.send(question.clone()) {
            self.asked.insert(question.clone());
        }
        self.hear(patience, now);
    }

    /// Whether somebody took it. A thread that is gone is replaced the next time.
    fn send(&mut self, question: Q) -> bool {
        let clerk = self.clerk.take();
        let (name, root) = (self.name, &self.root);
        let clerk = clerk.or_else(|| Clerk::hired(name, root.clone(), self.answer));
        self.clerk = clerk.filter(|clerk| clerk.questions.send(question).is_ok());
        self.clerk.is_some()
    }

    /// Takes what was answered; waits for all that is asked no longer than this.
    fn hear(&mut self, patience: Duration, now: Instant) {
        let Some(Clerk { answers, .. }) = &self.clerk else { return };
        let deadline = Instant::now() + patience;
        while !self.asked.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((question, answer)) = answers.recv_timeout(left) else { return };
            self.asked.remove(&question);
            self.known.insert(question, (now, answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn length(root: &Path, file: &&'static str) -> Option<usize> {
        fs::read(root.join(file)).ok().map(|bytes| bytes.len())
    }

    #[test]
    fn an_answer_stands_for_a_while_and_is_asked_for_again_then() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = Directory::new("test", dir.path().to_owned(), length, LONG);
        let now = Instant::now();
        assert_eq!(directory.ask(&"a", now), Some(None));
        fs::write(dir.path().join("a"), "123").unwrap();
        assert_eq!(directory.ask(&"a", now + TRUE_FOR / 2), Some(None));
        assert_eq!(directory.ask(&"a", now + TRUE_FOR), Some(Some(3)));
        directory.forget();
        fs::remove_file(dir.path().join("a")).unwrap();
        assert_eq!(directory.ask(&"a", now + TRUE_FOR), Some(None));
    }

    /// One that does not answer: a pipe that nobody writes to.
    #[test]
    fn one_that_hangs_keeps_nobody_waiting_and_is_heard_later() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let patience = Duration::from_millis(20);
        let mut directory = Directory::new("test", dir.path().to_owned(), length, patience);
        let begun = Instant::now();
        for file in ["pipe", "other", "pipe"] {
            assert_eq!(directory.ask(&file, begun), None);
        }
        assert!(begun.elapsed() < LONG);
        // Whoever waits for it can go on.
        drop(fs::OpenOptions::new().write(true).open(&pipe).unwrap());
        while directory.ask(&"pipe", begun).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(directory.ask(&"pipe", begun), Some(Some(0)));
    }
}
