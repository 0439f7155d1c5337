//! The loop: reads what is recorded, sends it, and remembers what was taken.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use probe::units::UnixMillis;

use super::cursor::{Cursor, CursorFile};
use super::request::{Request, Told};
use super::verdict::{Backoff, Verdict};
use crate::config::RemoteWrite;
use crate::counting::{Care, Counted, CountersFile, Losses};
use crate::engine::{Access, Client, Credentials, EngineError};
use crate::failure::Failure;
use crate::metrics::{Frame, Host, Loss, Observed, Wanted};
use crate::quantity::interval;
use crate::store::{History, Replayed, StoreError};

/// How long what is recorded waits at most before it is pushed.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// How many samples and how many ticks go into one request.
const MOST_SAMPLES: usize = 20_000;
const MOST_TICKS: usize = 200;

/// When something that still is so is said again.
const AGAIN: Duration = Duration::from_secs(3600);

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
    host: Host,
    labels: Vec<(String, String)>,
    wanted: Wanted,
    give_up_after: Duration,
    every: Duration,
    file: CursorFile,
    cursor: Option<Cursor>,
    told: Told,
    say: Say,
    /// Told by who counts besides us.
    losses: Arc<Losses>,
    why_rejected: String,
    /// When each kind of thing was said, so that it is not said all the time.
    said: BTreeMap<Saying, Instant>,
}

/// Hears what goes wrong.
struct Say(Box<dyn Fn(&str) + Send>);

impl fmt::Debug for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Say")
    }
}

/// What there may be to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Saying {
    NotTaken,
    NotReady,
    Lost(Loss),
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
        host: Host,
        losses: Arc<Losses>,
        say: impl Fn(&str) + Send + 'static,
    ) -> Result<Option<Self>, PushError> {
        let Some(access) = access(config)? else { return Ok(None) };
        let file = CursorFile::of(&database);
        let millis = host.interval_millis.and_then(|millis| u64::try_from(millis).ok());
        Ok(Some(Self {
            client: Client::new(access)?,
            labels: labels(config, &host.name),
            cursor: file.load_or_set_aside(&say),
            give_up_after: config.give_up_after,
            told: Told::default(),
            said: BTreeMap::new(),
            why_rejected: String::new(),
            every: millis.map_or(LONGEST_WAIT, Duration::from_millis).min(LONGEST_WAIT),
            database,
            host,
            losses,
            wanted,
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
        let cursor = match &self.cursor {
            Some(cursor) => cursor.clone(),
            None => {
                let cursor = self.begin(&history)?;
                // From here on nothing is left out, also when we end before anything is taken.
                self.keep(cursor.clone())?;
                cursor
            }
        };
        let ticks = history.ticks_after(cursor.counted.place(&history)?, MOST_TICKS)?;
        // The file must not be read from while somebody is waited for.
        drop(history);
        let Some(next) = self.send(&cursor, ticks)? else { return Ok(false) };
        self.tell_losses(&cursor, &next);
        self.keep(next)?;
        Ok(true)
    }

    /// The first time: from the newest tick on, with what was counted up to it.
    fn begin(&self, history: &History) -> Result<Cursor, StoreError> {
        // What cannot be read is the recorder's to tell.
        let kept = CountersFile::of(&self.database).load().ok().flatten();
        let now = UnixMillis::from(SystemTime::now());
        let begin = || Counted::of_the_newest_run(history, now, &self.wanted);
        let mut counted = kept.map_or_else(begin, Ok)?;
        counted.catch_up(history, &self.wanted)?;
        Ok(Cursor { newest_millis: counted.at_millis, counted })
    }

    /// We go on from here, also where that cannot be written down.
    fn keep(&mut self, cursor: Cursor) -> io::Result<()> {
        let saved = self.file.save(&cursor, Care::Synced);
        self.cursor = Some(cursor);
        saved
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
            if self.count(&mut next, &tick) {
                let frame = self.frame(&next, &tick);
                request.add(&frame, tick.entry.covers, &self.labels, &mut told);
            }
            added.push(tick);
        }
        if added.is_empty() {
            return Ok(None);
        }
        if request.samples() > 0 {
            match Verdict::of(&self.client.send(&HEADERS, &request.body()?)) {
                Verdict::Taken => {}
                Verdict::Later { why, asked } => return Err(Trouble::NotTaken { why, asked }),
                Verdict::Rejected { .. } if added.len() > 1 => {
                    // One tick that is wrong spoils all of a request: each is tried once.
                    added.truncate(1);
                    return self.send(cursor, added);
                }
                Verdict::Rejected { why } => {
                    next.counted.counters.lose(Loss::Rejected, 1);
                    self.why_rejected = why;
                }
            }
        }
        self.told = told;
        Ok(Some(next))
    }

    /// Counts a tick. What is too old, or older than what was sent, is not sent.
    fn count(&self, next: &mut Cursor, tick: &Replayed) -> bool {
        let (entry, events) = (&tick.entry, &tick.events);
        next.counted.count(tick.tick, Observed { entry, events, took: None }, &self.wanted);
        let now = UnixMillis::from(SystemTime::now());
        let age = u128::try_from(now.0.saturating_sub(entry.at.0)).unwrap_or(0);
        let loss = match () {
            () if age > self.give_up_after.as_millis() => Loss::GivenUp,
            () if entry.at.0 <= next.newest_millis => Loss::Older,
            () => {
                next.newest_millis = entry.at.0;
                return true;
            }
        };
        next.counted.counters.lose(loss, 1);
        false
    }

    /// Tells who counts, and the log, of ticks that the receiver does not get.
    fn tell_losses(&mut self, before: &Cursor, after: &Cursor) {
        for loss in Loss::ALL {
            let lost = |cursor: &Cursor| cursor.counted.counters.lost(loss);
            let ticks = lost(after) - lost(before);
            if ticks == 0 {
                continue;
            }
            self.losses.add(loss, ticks);
            let why = match loss {
                Loss::Rejected => format!("rejected for good: {}", self.why_rejected),
                Loss::GivenUp => {
                    let age = interval(self.give_up_after);
                    format!("given up: they are older than {age}")
                }
                Loss::Older => {
                    "not sent: the clock was set back, and newer ones were sent already".to_owned()
                }
            };
            let words = format!("{ticks} ticks are {why}; gua_errors_total counts them");
            self.once(Saying::Lost(loss), &words);
        }
        let capped = |cursor: &Cursor| cursor.counted.counters.capped();
        if capped(after) > capped(before)
            && let Some(words) = self.losses.tell_of_the_cap(&self.wanted)
        {
            (self.say.0)(&words);
        }
    }

    fn frame(&self, next: &Cursor, tick: &Replayed) -> Frame {
        let host = Host { driver_version: tick.driver.clone(), ..self.host.clone() };
        Frame::new(host, next.counted.counters.clone(), &tick.entry)
    }

    fn once(&mut self, kind: Saying, words: &str) {
        let now = Instant::now();
        let is_new = self.said.get(&kind).is_none_or(|said| now.duration_since(*said) > AGAIN);
        if is_new {
            self.said.insert(kind, now);
            (self.say.0)(words);
        }
    }

    fn well(&mut self) {
        let troubles = [Saying::NotTaken, Saying::NotReady].map(|kind| self.said.remove(&kind));
        if troubles.iter().any(Option::is_some) {
            (self.say.0)("pushing again");
        }
    }
}

/// Whether the receiver can be one, and it is clear who pushes.
///
/// # Errors
/// When it cannot, or it is not.
pub fn check(config: &RemoteWrite) -> Result<(), PushError> {
    access(config)?;
    Ok(())
}

impl From<PushError> for Failure {
    fn from(error: PushError) -> Self {
        Self::Usage {
            what: format!("cannot push as [remote_write] says: {error}"),
            next: "`gua config show` tells where it is set.".to_owned(),
        }
    }
}

/// How to reach the receiver; `None` where there is none.
fn access(config: &RemoteWrite) -> Result<Option<Access>, EngineError> {
    let Some(url) = &config.url else { return Ok(None) };
    let mut access = Access::new(url)?;
    access.credentials = Credentials::of(
        config.user.as_deref(),
        config.password_file.as_deref(),
        config.token_file.as_deref(),
    )?;
    access.authorities.clone_from(&config.ca_file);
    access.timeout = config.timeout;
    Ok(Some(access))
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
