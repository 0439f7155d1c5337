//! Contents of a tick, and the run that it belongs to.

use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::identity::{Person, Who};
use gua_core::process::{Kinds, ProcessId};
use gua_core::span::Gap;
use gua_core::units::{Bytes, Celsius, Milliwatts, Percent, UnixMillis};
use gua_core::{SessionUpdate, Span, Thresholds};

/// A stretch of recording by one program with one set of thresholds.
#[derive(Debug, Clone)]
pub struct Run {
    pub host: String,
    /// UUID of the boot; empty if unknown.
    pub boot: String,
    pub driver: Option<String>,
    /// Program and version.
    pub recorder: String,
    /// How time is classified, in one sentence.
    pub rule: String,
    pub thresholds: Thresholds,
    pub interval_ms: Option<i64>,
    pub started: UnixMillis,
}

/// One write to the database.
#[derive(Debug, Clone)]
pub struct Tick<'a> {
    pub at: UnixMillis,
    /// Time since the last tick on the monotonic clock, in milliseconds.
    pub recorded_ms: i64,
    /// Time up to which everything is final.
    pub until: UnixMillis,
    /// Spans that ended since the last tick, in order.
    pub closed: &'a [Span],
    /// Spans that go on. They replace what the last tick stored of them.
    pub open: &'a [Span],
    pub gaps: &'a [Gap],
    pub open_gap: Option<Gap>,
    /// Processes of the spans, as far as they are known by now.
    pub processes: &'a [ProcessEntry],
    pub sessions: &'a [SessionUpdate],
    /// What was last seen, in place of what was seen before; `None` leaves that.
    pub latest: Option<&'a [Latest]>,
    pub samples: &'a [CardSample],
    pub events: &'a [Event],
    /// Polls and calls of the driver since the run began.
    pub polls: i64,
    pub calls: i64,
}

impl Tick<'_> {
    /// Returns a tick that stores nothing but its time.
    #[must_use]
    pub const fn new(at: UnixMillis, until: UnixMillis) -> Self {
        Self {
            at,
            recorded_ms: 0,
            until,
            closed: &[],
            open: &[],
            gaps: &[],
            open_gap: None,
            processes: &[],
            sessions: &[],
            latest: None,
            samples: &[],
            events: &[],
            polls: 0,
            calls: 0,
        }
    }
}

/// A process and who is behind it.
#[derive(Debug, Clone)]
pub struct ProcessEntry {
    pub id: ProcessId,
    pub started: Option<UnixMillis>,
    pub program: Option<Arc<str>>,
    pub person: Person,
    /// How it uses its cards.
    pub kinds: Kinds,
    /// `None` as long as it is not known.
    pub workload: Option<Arc<Who>>,
    /// Command line with its secrets masked; only if asked for.
    pub command: Option<Arc<str>>,
}

impl ProcessEntry {
    /// Returns the entry of a process of which only the identity is known.
    #[must_use]
    pub fn unread(id: ProcessId) -> Self {
        Self {
            id,
            started: None,
            program: None,
            person: Person { user: None, uid: id.uid, source: None },
            kinds: Kinds::default(),
            workload: None,
            command: None,
        }
    }
}

/// A card at one moment, for plots.
#[derive(Debug, Clone)]
pub struct CardSample {
    pub card: Arc<CardFacts>,
    pub utilization: Option<Percent>,
    pub memory: Option<Bytes>,
    pub memory_total: Option<Bytes>,
    pub power: Option<Milliwatts>,
    pub temperature: Option<Celsius>,
}

/// What was last seen of a card, or of the host.
#[derive(Debug, Clone)]
pub struct Latest {
    /// `None` for the host.
    pub card: Option<Arc<CardFacts>>,
    /// JSON.
    pub body: String,
}

/// Something that happened to the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: UnixMillis,
    pub until: Option<UnixMillis>,
    /// A stable word.
    pub kind: String,
    /// A sentence.
    pub detail: String,
}
