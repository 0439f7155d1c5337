//! Cached answers of a directory service, which may be far away or hang. A thread of its own asks, so
//! that a service that hangs blocks no caller. While the service does not answer, its last answer is
//! used, and it is asked again soon.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::reading::{Reading, Why};
use crate::threads;

/// Time for which an answer is used.
pub const ANSWER_KEPT: Duration = Duration::from_secs(60);

/// Time after which a service that did not answer is asked again.
pub const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Answers a question about the host below a root.
type Answer<Q, A> = fn(&Path, &Q) -> Reading<A>;

/// Cached answers, and the thread that asks for them.
#[derive(Debug)]
pub struct Directory<Q, A> {
    name: &'static str,
    root: PathBuf,
    answer: Answer<Q, A>,
    /// Longest time to wait for an answer.
    patience: Duration,
    known: HashMap<Q, Known<A>>,
    /// Questions without an answer so far.
    pending: HashSet<Q>,
    /// `None` until something is asked.
    worker: Option<Worker<Q, A>>,
}

/// Answer with the time until which it is used.
#[derive(Debug)]
struct Known<A> {
    reading: Reading<A>,
    at: Instant,
    kept_for: Duration,
}

/// Thread that asks.
#[derive(Debug)]
struct Worker<Q, A> {
    /// Process of the thread: a fork has no copy of it.
    process: u32,
    questions: Sender<Q>,
    answers: Receiver<(Q, Reading<A>)>,
}

impl<Q: Send + 'static, A: Send + 'static> Worker<Q, A> {
    /// Returns `None` if no thread can be started.
    fn spawn(name: &str, root: PathBuf, answer: Answer<Q, A>) -> Option<Self> {
        let (questions, asked) = channel::<Q>();
        let (send, answers) = channel();
        let work = move || {
            for question in asked {
                let answered = answer(&root, &question);
                // The directory may be gone.
                let _ = send.send((question, answered));
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
    /// Returns a directory of the host below this root. `name` is that of the thread.
    #[must_use]
    pub fn new(
        name: &'static str,
        root: PathBuf,
        answer: fn(&Path, &Q) -> Reading<A>,
        patience: Duration,
    ) -> Self {
        let (known, pending) = (HashMap::new(), HashSet::new());
        Self { name, root, answer, patience, known, pending, worker: None }
    }

    /// Returns the answer to a question: the last one if no new one comes in time, or `TimedOut` if
    /// there never was one.
    pub fn ask(&mut self, question: &Q, now: Instant) -> Reading<A> {
        self.receive(Duration::ZERO, now);
        let is_recent = |known: &Known<A>| now.saturating_duration_since(known.at) < known.kept_for;
        if !self.known.get(question).is_some_and(is_recent) {
            self.ask_again(question, now);
        }
        let known = self.known.get(question).map(|known| known.reading.clone());
        known.unwrap_or(Reading::Unknown(Why::TimedOut))
    }

    /// Forgets all answers.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    fn ask_again(&mut self, question: &Q, now: Instant) {
        if self.worker.as_ref().is_some_and(|worker| worker.process != process::id()) {
            (self.worker, self.pending) = (None, HashSet::new());
        }
        // A service that has not answered so far is not waited for again.
        let patience = if self.pending.is_empty() { self.patience } else { Duration::ZERO };
        if !self.pending.contains(question) {
            self.send(question.clone());
        }
        self.receive(patience, now);
    }

    /// Sends a question to the worker. A worker that has ended is replaced at the next question.
    fn send(&mut self, question: Q) {
        let worker = self.worker.take();
        let worker = worker.or_else(|| Worker::spawn(self.name, self.root.clone(), self.answer));
        self.worker = worker.filter(|worker| worker.questions.send(question.clone()).is_ok());
        match self.worker {
            Some(_) => drop(self.pending.insert(question)),
            None => self.pending.clear(),
        }
    }

    /// Receives answers until none is pending, for at most `patience`.
    fn receive(&mut self, patience: Duration, now: Instant) {
        let Some(Worker { answers, .. }) = &self.worker else { return };
        let deadline = Instant::now() + patience;
        while !self.pending.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            match answers.recv_timeout(left) {
                Ok((question, answer)) => {
                    self.pending.remove(&question);
                    let (reading, kept_for) = match answer {
                        Reading::Unknown(Why::TimedOut) => {
                            let before = self.known.remove(&question);
                            (before.map_or(answer, |before| before.reading), RETRY_AFTER)
                        }
                        answer => (answer, ANSWER_KEPT),
                    };
                    self.known.insert(question, Known { reading, at: now, kept_for });
                }
                Err(RecvTimeoutError::Timeout) => return,
                // The thread has ended.
                Err(RecvTimeoutError::Disconnected) => self.pending.clear(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    const NO_ANSWER: Reading<usize> = Reading::Unknown(Why::TimedOut);
    const GONE: Reading<usize> = Reading::Unknown(Why::Gone);

    fn length(root: &Path, file: &&'static str) -> Reading<usize> {
        match fs::read(root.join(file)) {
            Ok(bytes) => Reading::Known(bytes.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => GONE,
            Err(_) => NO_ANSWER,
        }
    }

    #[test]
    fn an_answer_stands_for_a_while_and_is_asked_for_again_then() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = Directory::new("test", dir.path().to_owned(), length, LONG);
        let now = Instant::now();
        assert_eq!(directory.ask(&"a", now), GONE);
        fs::write(dir.path().join("a"), "123").unwrap();
        assert_eq!(directory.ask(&"a", now + ANSWER_KEPT / 2), GONE);
        assert_eq!(directory.ask(&"a", now + ANSWER_KEPT), Reading::Known(3));
        directory.forget();
        fs::remove_file(dir.path().join("a")).unwrap();
        assert_eq!(directory.ask(&"a", now + ANSWER_KEPT), GONE);
    }

    /// A folder in the place of a file is one that cannot be asked.
    #[test]
    fn one_that_could_not_be_asked_is_asked_again_soon() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a");
        fs::create_dir(&place).unwrap();
        let mut directory = Directory::new("test", dir.path().to_owned(), length, LONG);
        let now = Instant::now();
        assert_eq!(directory.ask(&"a", now), NO_ANSWER);
        fs::remove_dir(&place).unwrap();
        fs::write(&place, "123").unwrap();
        assert_eq!(directory.ask(&"a", now + RETRY_AFTER / 2), NO_ANSWER);
        let up = now + RETRY_AFTER;
        assert_eq!(directory.ask(&"a", up), Reading::Known(3));
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        let down = up + ANSWER_KEPT;
        assert_eq!(directory.ask(&"a", down), Reading::Known(3), "what it said before stands");
        fs::remove_dir(&place).unwrap();
        assert_eq!(directory.ask(&"a", down + RETRY_AFTER), GONE);
    }

    /// Trap: what was asked when the thread was gone was never asked again.
    #[test]
    fn a_thread_that_has_ended_is_followed_by_another() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = Directory::new("test", dir.path().to_owned(), length, LONG);
        let (questions, answers) = (channel().0, channel().1);
        directory.worker = Some(Worker { process: process::id(), questions, answers });
        directory.pending.insert("b");
        let now = Instant::now();
        assert_eq!(directory.ask(&"a", now), NO_ANSWER);
        assert!(directory.pending.is_empty());
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
            assert_eq!(directory.ask(&file, begun), NO_ANSWER);
        }
        assert!(begun.elapsed() < LONG);
        // Whoever waits for it can go on.
        drop(fs::OpenOptions::new().write(true).open(&pipe).unwrap());
        while directory.ask(&"pipe", begun) == NO_ANSWER {
            std::thread::yield_now();
        }
        assert_eq!(directory.ask(&"pipe", begun), Reading::Known(0));
    }
}
