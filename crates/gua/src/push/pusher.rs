//! The loop: reads what is recorded, sends it, and remembers what was taken.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use probe::units::UnixMillis;

use super::cursor::{Cursor, CursorFile};
use super::request::{Request, Told};
use super::verdict::{Backoff, Verdict};
use crate::config::RemoteWrite;
use crate::counting::CountersFile;
use crate::engine::{Access, Client, Credentials, EngineError};
use crate::metrics::{Counters, Frame, Host, Observed, Wanted};
use crate::store::{History, Replayed, StoreError};

/// How many samples and how many ticks go into one request.
const MOST_SAMPLES: usize = 20_000;
const MOST_TICKS: usize = 200;

const HEADERS: [(&str, &str); 3] = [
    ("Content-Type", "application/x-protobuf"),
    ("Content-Encoding", "snappy"),
    ("X-Prometheus-Remote-Write-Version", "0.1.0"),
];

/// Why nothing can be pushed at all.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("no thread can be had: {0}")]
    Thread(#[from] io::Error),
}

/// Why a round failed.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("the history cannot be read: {0}")]
    Store(#[from] StoreError),
    #[error("how far it came cannot be kept: {0}")]
    Cursor(#[from] io::Error),
    #[error("a request is too large: {0}")]
    Body(#[from] snap::Error),
    #[error("{why}")]
    NotTaken { why: String, asked: Option<Duration> },
}

/// Sends what is recorded to one receiver.
#[derive(Debug)]
pub struct Pusher {
    client: Client,
    database: PathBuf,
    hostname: String,
    labels: Vec<(String, String)>,
    wanted: Wanted,
    give_up_after: Duration,
    every: Duration,
    file: CursorFile,
    cursor: Option<Cursor>,
    told: Told,
    say: Say,
    /// What kind of thing was said last, so that it is said once.
    said: Option<Saying>,
}

/// Hears what goes wrong.
struct Say(Box<dyn Fn(&str) + Send>);

impl fmt::Debug for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Say")
    }
}

/// What there may be to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Saying {
    NotTaken,
    NotReady,
    Rejected,
}

impl Pusher {
    /// `None` where nothing is to be pushed. `say` hears what goes wrong.
    ///
    /// # Errors
    /// When the receiver cannot be one.
    pub fn new(
        config: &RemoteWrite,
        wanted: Wanted,
        database: PathBuf,
        hostname: String,
        every: Duration,
        say: impl Fn(&str) + Send + 'static,
    ) -> Result<Option<Self>, PushError> {
        let Some(url) = &config.url else { return Ok(None) };
        let mut access = Access::new(url)?;
        access.credentials = credentials(config);
        access.authorities.clone_from(&config.ca_file);
        access.timeout = config.timeout;
        let file = CursorFile::beside(&database, url);
        Ok(Some(Self {
            client: Client::new(access)?,
            labels: labels(config, &hostname),
            cursor: file.load(),
            give_up_after: config.give_up_after,
            told: Told::default(),
            said: None,
            database,
            hostname,
            wanted,
            every,
            file,
            say: Say(Box::new(say)),
        }))
    }

    /// Pushes on a thread of its own, until the program ends.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(mut self) -> Result<(), PushError> {
        thread::Builder::new().name("push".into()).spawn(move || {
            let mut backoff = Backoff::default();
            loop {
                let wait = self.round(&mut backoff);
                thread::sleep(wait);
            }
        })?;
        Ok(())
    }

    /// Sends all that is there; gives how long to wait for more.
    fn round(&mut self, backoff: &mut Backoff) -> Duration {
        loop {
            match self.step() {
                Ok(true) => backoff.succeeded(),
                Ok(false) => {
                    self.well();
                    return self.every;
                }
                Err(trouble) => {
                    let (asked, kind) = match &trouble {
                        Trouble::NotTaken { asked, .. } => (*asked, Saying::NotTaken),
                        Trouble::Store(_) | Trouble::Cursor(_) | Trouble::Body(_) => {
                            (None, Saying::NotReady)
                        }
                    };
                    self.once(kind, &format!("cannot push: {trouble}; it is tried again"));
                    return backoff.failed(asked);
                }
            }
        }
    }

    /// Sends the next ticks; whether there were any.
    fn step(&mut self) -> Result<bool, Trouble> {
        let history = History::open_beside_the_writer(&self.database)?;
        let cursor = match self.cursor.take() {
            Some(cursor) => found_again(cursor, &history)?,
            None => {
                let cursor = begin(&history, &CountersFile::beside(&self.database))?;
                // From here on nothing is left out, also when we end before anything is taken.
                self.file.save(&cursor)?;
                cursor
            }
        };
        let ticks = history.ticks_after(cursor.tick, MOST_TICKS);
        // The file must not be read from while somebody is waited for.
        drop(history);
        let sent = ticks.map_err(Trouble::from).and_then(|ticks| self.send(&cursor, ticks));
        match sent {
            Ok(Some(next)) => {
                self.file.save(&next)?;
                self.cursor = Some(next);
                Ok(true)
            }
            Ok(None) => {
                self.cursor = Some(cursor);
                Ok(false)
            }
            Err(trouble) => {
                self.cursor = Some(cursor);
                Err(trouble)
            }
        }
    }

    /// Sends as many of these ticks as fit; gives how far that came, or `None` for none.
    fn send(&mut self, cursor: &Cursor, ticks: Vec<Replayed>) -> Result<Option<Cursor>, Trouble> {
        let (mut request, mut told) = (Request::default(), self.told.clone());
        let mut next = cursor.clone();
        let mut added = Vec::new();
        for tick in ticks {
            if !added.is_empty() && request.samples() > MOST_SAMPLES {
                break;
            }
            let is_sent = self.count(&mut next, &tick, cursor);
            if is_sent {
                let frame = self.frame(&next, &tick);
                request.add(&frame, tick.entry.covers, &self.labels, &mut told);
            }
            added.push(tick);
        }
        if added.is_empty() {
            return Ok(None);
        }
        if request.samples() > 0 {
            let samples = request.samples();
            match Verdict::of(&self.client.send(&HEADERS, &request.body()?)) {
                Verdict::Taken => {}
                Verdict::Later { why, asked } => return Err(Trouble::NotTaken { why, asked }),
                Verdict::Rejected { .. } if added.len() > 1 => {
                    // One tick that is wrong spoils all of a request: each is tried once.
                    added.truncate(1);
                    return self.send(cursor, added);
                }
                Verdict::Rejected { why } => {
                    *next.counters.errors.entry("push_rejected".to_owned()).or_default() += 1;
                    let words = format!("{samples} samples were rejected for good: {why}");
                    self.once(Saying::Rejected, &words);
                }
            }
        }
        self.told = told;
        Ok(Some(next))
    }

    /// Counts a tick. What is too old, or older than what was sent, is not sent.
    fn count(&self, next: &mut Cursor, tick: &Replayed, cursor: &Cursor) -> bool {
        let observed = Observed { entry: &tick.entry, events: &tick.events, took: None };
        next.counters.count(observed, &self.wanted);
        let is_older = tick.entry.at.0 <= next.at_millis && next.tick > 0;
        let now = UnixMillis::from(SystemTime::now());
        let age = u128::try_from(now.0.saturating_sub(tick.entry.at.0)).unwrap_or(0);
        let is_given_up = age > self.give_up_after.as_millis();
        if is_given_up {
            *next.counters.errors.entry("push_given_up".to_owned()).or_default() += 1;
        }
        if is_older {
            *next.counters.errors.entry("push_rejected".to_owned()).or_default() += 1;
        }
        next.tick = tick.tick;
        next.at_millis = tick.entry.at.0.max(cursor.at_millis);
        !is_given_up && !is_older
    }

    fn frame(&self, next: &Cursor, tick: &Replayed) -> Frame {
        let host = Host { name: self.hostname.clone(), driver_version: tick.driver.clone() };
        Frame::new(host, next.counters.clone(), &tick.entry)
    }

    fn once(&mut self, kind: Saying, words: &str) {
        if self.said.replace(kind) != Some(kind) {
            (self.say.0)(words);
        }
    }

    fn well(&mut self) {
        if self.said.take_if(|said| *said != Saying::Rejected).is_some() {
            (self.say.0)("pushing again");
        }
    }
}

fn credentials(config: &RemoteWrite) -> Credentials {
    match (&config.user, &config.password_file, &config.token_file) {
        (Some(user), Some(file), _) => {
            Credentials::Basic { user: user.clone(), password_file: file.clone() }
        }
        (_, _, Some(file)) => Credentials::Bearer { token_file: file.clone() },
        _ => Credentials::None,
    }
}

/// What a scrape would add, so that what is pushed and what is scraped is asked for alike.
fn labels(config: &RemoteWrite, hostname: &str) -> Vec<(String, String)> {
    let mut labels = config.labels.clone();
    for (name, value) in [("job", "gua"), ("instance", hostname)] {
        if !labels.iter().any(|(known, _)| known == name) {
            labels.push((name.to_owned(), value.to_owned()));
        }
    }
    labels
}

/// The first time: from the newest tick on, with what the recorder has counted up to it.
fn begin(history: &History, counters: &CountersFile) -> Result<Cursor, StoreError> {
    let newest = history.newest_tick()?;
    let tick = newest.map_or(Ok(0), |newest| history.tick_at(newest))?;
    let kept = counters.load().ok().flatten();
    let since = newest.unwrap_or_else(|| UnixMillis::from(SystemTime::now()));
    let counters = kept.unwrap_or_else(|| Counters::beginning(since));
    Ok(Cursor { tick, at_millis: newest.map_or(0, |newest| newest.0), counters })
}

/// A database that was replaced has other numbers: what is newer than the last one is next.
fn found_again(cursor: Cursor, history: &History) -> Result<Cursor, StoreError> {
    match history.time_of_tick(cursor.tick)? {
        Some(at) if at.0 == cursor.at_millis => Ok(cursor),
        _ => {
            let tick = history.tick_at(UnixMillis(cursor.at_millis))?;
            Ok(Cursor { tick, ..cursor })
        }
    }
}
