//! Questions to a directory of people, which may be far away: asked on a thread of its own, so that
//! one that hangs keeps nobody waiting, and no more often than answers change. One that could not
//! be asked has not answered: what it said before stands, and it is asked again soon.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::reading::{Reading, Why};
use crate::threads;

/// After so long it is asked again.
pub const TRUE_FOR: Duration = Duration::from_secs(60);

/// After so long, where it could not be asked.
pub const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// How a question is answered, on the host below this root.
type Answer<Q, A> = fn(&Path, &Q) -> Reading<A>;

/// What was asked, and what was answered when.
#[derive(Debug)]
pub struct Directory<Q, A> {
    name: &'static str,
    root: PathBuf,
    answer: Answer<Q, A>,
    /// How long an answer is waited for.
    patience: Duration,
    known: HashMap<Q, Answered<A>>,
    /// Not answered so far.
    asked: HashSet<Q>,
    /// `None` until something is asked.
    clerk: Option<Clerk<Q, A>>,
}

/// What stands until it is asked for again.
#[derive(Debug)]
struct Answered<A> {
    reading: Reading<A>,
    at: Instant,
    true_for: Duration,
}

impl<A> Answered<A> {
    /// What was heard, after what stood so far.
    fn after(before: Option<Self>, heard: Reading<A>, at: Instant) -> Self {
        match heard {
            Reading::Unknown(Why::TimedOut) => {
                let reading = before.map_or(heard, |before| before.reading);
                Self { reading, at, true_for: ASKED_AGAIN_AFTER }
            }
            reading => Self { reading, at, true_for: TRUE_FOR },
        }
    }

    fn is_true(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < self.true_for
    }
}

/// The thread that asks.
#[derive(Debug)]
struct Clerk<Q, A> {
    /// Where it is: the copy of a process has none of its threads.
    process: u32,
    questions: Sender<Q>,
    answers: Receiver<(Q, Reading<A>)>,
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
        answer: fn(&Path, &Q) -> Reading<A>,
        patience: Duration,
    ) -> Self {
        let (known, asked) = (HashMap::new(), HashSet::new());
        Self { name, root, answer, patience, known, asked, clerk: None }
    }

    /// What was last answered, if that was long ago and no answer comes; `TimedOut` where there
    /// never was one.
    pub fn ask(&mut self, question: &Q, now: Instant) -> Reading<A> {
        self.hear(Duration::ZERO, now);
        if !self.known.get(question).is_some_and(|answered| answered.is_true(now)) {
            self.hand_over(question, now);
        }
        let answered = self.known.get(question).map(|answered| answered.reading.clone());
        answered.unwrap_or(Reading::Unknown(Why::TimedOut))
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
        if self.clerk.is_none() {
            self.asked.clear();
        }
        self.clerk.is_some()
    }

    /// Takes what was answered; waits for all that is asked no longer than this.
    fn hear(&mut self, patience: Duration, now: Instant) {
        let Some(Clerk { answers, .. }) = &self.clerk else { return };
        let deadline = Instant::now() + patience;
        while !self.asked.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            match answers.recv_timeout(left) {
                Ok((question, answer)) => {
                    self.asked.remove(&question);
                    let before = self.known.remove(&question);
                    self.known.insert(question, Answered::after(before, answer, now));
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
    use std::{fs, io};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    const NOT_TOLD: Reading<usize> = Reading::Unknown(Why::TimedOut);
    const GONE: Reading<usize> = Reading::Unknown(Why::Gone);

    fn length(root: &Path, file: &&'static str) -> Reading<usize> {
        match fs::read(root.join(file)) {
            Ok(bytes) => Reading::Known(bytes.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => GONE,
            Err(_) => NOT_TOLD,
        }
    }

    #[test]
    fn an_answer_stands_for_a_while_and_is_asked_for_again_then() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = Directory::new("test", dir.path().to_owned(), length, LONG);
        let now = Instant::now();
        assert_eq!(directory.ask(&"a", now), GONE);
        fs::write(dir.path().join("a"), "123").unwrap();
        assert_eq!(directory.ask(&"a", now + TRUE_FOR / 2), GONE);
        assert_eq!(directory.ask(&"a", now + TRUE_FOR), Reading::Known(3));
        directory.forget();
        fs::remove_file(dir.path().join("a")).unwrap();
        assert_eq!(directory.ask(&"a", now + TRUE_FOR), GONE);
    }

    /// A folder in the place of a file is one that cannot be asked.
    #[test]
    fn one_that_could_not_be_asked_is_asked_again_soon() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a");
        fs::create_dir(&place).unwrap();
        let mut directory = Directory::new("test", dir.path().to_owned(), length, LONG);
        let now = Instant::now();
        assert_eq!(directory.ask(&"a", now), NOT_TOLD);
        fs::remove_dir(&place).unwrap();
        fs::write(&place, "123").unwrap();
        assert_eq!(directory.ask(&"a", now + ASKED_AGAIN_AFTER / 2), NOT_TOLD);
        let up = now + ASKED_AGAIN_AFTER;
        assert_eq!(directory.ask(&"a", up), Reading::Known(3));
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        let down = up + TRUE_FOR;
        assert_eq!(directory.ask(&"a", down), Reading::Known(3), "what it said before stands");
        fs::remove_dir(&place).unwrap();
        assert_eq!(directory.ask(&"a", down + ASKED_AGAIN_AFTER), GONE);
    }

    /// Trap: what was asked when the thread was gone was never asked again.
    #[test]
    fn a_thread_that_has_ended_is_followed_by_another() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = Directory::new("test", dir.path().to_owned(), length, LONG);
        let (questions, answers) = (channel().0, channel().1);
        directory.clerk = Some(Clerk { process: process::id(), questions, answers });
        directory.asked.insert("b");
        let now = Instant::now();
        assert_eq!(directory.ask(&"a", now), NOT_TOLD);
        assert!(directory.asked.is_empty());
        assert_eq!(directory.ask(&"a", now), GONE);
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
            assert_eq!(directory.ask(&file, begun), NOT_TOLD);
        }
        assert!(begun.elapsed() < LONG);
        // Whoever waits for it can go on.
        drop(fs::OpenOptions::new().write(true).open(&pipe).unwrap());
        while directory.ask(&"pipe", begun) == NOT_TOLD {
            std::thread::yield_now();
        }
        assert_eq!(directory.ask(&"pipe", begun), Reading::Known(0));
    }
}
