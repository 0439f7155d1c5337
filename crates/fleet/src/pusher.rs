//! Sends the outbox to a receiver of remote write, on a thread of its own.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gua_store::{Database, Problem, StoreError, StoredPush};

use crate::engine::{Access, Client, EngineError};
use crate::outbox::Outbox;
use crate::verdict::{Backoff, Verdict};

/// Longest wait for a tick. Messages of an earlier run are there without one.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Compressed bytes of a request, about; and messages.
const MOST_BYTES: usize = 1 << 20;
const MOST_MESSAGES: usize = 200;

/// Time after which something that is still so is said again.
const REPEAT_AFTER: Duration = Duration::from_secs(3600);

const HEADERS: [(&str, &str); 3] = [
    ("Content-Type", "application/x-protobuf"),
    ("Content-Encoding", "snappy"),
    ("X-Prometheus-Remote-Write-Version", "0.1.0"),
];

/// Why nothing can be sent now.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("cannot read the outbox: {0}")]
    Store(#[from] StoreError),
    #[error("{why}")]
    NotTaken { why: String, retry_after: Option<Duration> },
}

/// Sends messages to one receiver.
pub struct Pusher {
    client: Client,
    database: PathBuf,
    outbox: Arc<Outbox>,
    /// Messages that are sent one by one, as a request with all of them was rejected.
    singly: usize,
    backoff: Backoff,
    say: Box<dyn Fn(&str) + Send>,
    /// When each kind of message was said.
    said: HashMap<Saying, Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Saying {
    NotTaken,
    Rejected,
}

impl fmt::Debug for Pusher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pusher").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Pusher {
    /// `say` logs what goes wrong.
    ///
    /// # Errors
    /// When certificates cannot be read.
    pub fn new(
        access: Access,
        database: PathBuf,
        outbox: Arc<Outbox>,
        say: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            client: Client::new(access)?,
            database,
            outbox,
            singly: 0,
            backoff: Backoff::default(),
            say: Box::new(say),
            said: HashMap::new(),
        })
    }

    /// Sends on a thread of its own until the outbox is closed.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(mut self) -> io::Result<()> {
        thread::Builder::new().name("push".into()).spawn(move || {
            loop {
                let ticks = self.outbox.ticks();
                let goes_on = match self.send_all() {
                    None => self.outbox.wait_for_tick(ticks, LONGEST_WAIT),
                    Some(wait) => self.outbox.pause(wait),
                };
                if !goes_on {
                    return;
                }
            }
        })?;
        Ok(())
    }

    /// Sends everything that is there. Returns how long to wait if that fails.
    pub fn send_all(&mut self) -> Option<Duration> {
        loop {
            match self.send_some() {
                Ok(true) => self.backoff.succeed(),
                Ok(false) => return None,
                Err(error) => {
                    let words = format!("remote write failed: {error}. It is tried again.");
                    self.say_once(Saying::NotTaken, &words);
                    let retry_after = match error {
                        PushError::NotTaken { retry_after, .. } => retry_after,
                        PushError::Store(_) => None,
                    };
                    return Some(self.backoff.fail(retry_after));
                }
            }
        }
    }

    /// Sends the next messages in one request. Returns false if there are none.
    fn send_some(&mut self) -> Result<bool, PushError> {
        let most_bytes = if self.singly > 0 { 0 } else { MOST_BYTES };
        let mut position = self.outbox.position();
        // Opened each time, as another file may be at the path by now.
        let database = match Database::open(&self.database) {
            // Nothing is recorded yet.
            Err(StoreError { problem: Problem::Missing, .. }) => return Ok(false),
            database => database?,
        };
        let mut messages = database.pushes(position.done_until, most_bytes)?;
        drop(database);
        messages.truncate(MOST_MESSAGES);
        let Some(last) = messages.last().map(|message| message.id) else {
            self.singly = 0;
            return Ok(false);
        };
        position.done_until = last;
        match self.send(&messages) {
            Verdict::Taken => {
                self.outbox.acknowledge(position, 0);
                if self.said.remove(&Saying::NotTaken).is_some() {
                    (self.say)("remote write works again");
                }
            }
            Verdict::Later { why, retry_after } => {
                return Err(PushError::NotTaken { why, retry_after });
            }
            // One message that is wrong spoils a whole request: each is tried by itself.
            Verdict::Rejected { .. } if messages.len() > 1 => {
                self.singly = messages.len();
                return Ok(true);
            }
            Verdict::Rejected { why } => {
                self.outbox.acknowledge(position, 1);
                let words =
                    format!("remote write rejects ticks: {why}. gua_errors_total counts them.");
                self.say_once(Saying::Rejected, &words);
            }
        }
        self.singly = self.singly.saturating_sub(messages.len());
        Ok(true)
    }

    fn send(&self, messages: &[StoredPush]) -> Verdict {
        match join(messages) {
            Ok(body) => Verdict::new(&self.client.send(&HEADERS, &body)),
            Err(error) => {
                Verdict::Rejected { why: format!("a message in the outbox is damaged: {error}") }
            }
        }
    }

    fn say_once(&mut self, kind: Saying, words: &str) {
        let now = Instant::now();
        let is_new =
            self.said.get(&kind).is_none_or(|said| now.duration_since(*said) > REPEAT_AFTER);
        if is_new {
            self.said.insert(kind, now);
            (self.say)(words);
        }
    }
}

/// Returns the body of a request with all messages.
fn join(messages: &[StoredPush]) -> Result<Vec<u8>, snap::Error> {
    let mut joined = Vec::new();
    for message in messages {
        joined.extend(snap::raw::Decoder::new().decompress_vec(&message.body)?);
    }
    snap::raw::Encoder::new().compress_vec(&joined)
}
