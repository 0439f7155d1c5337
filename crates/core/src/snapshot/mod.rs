//! All cards and holders now: one type for every view, live or as the recorder last saw them.
//!
//! JSON is the type itself. A field that is not known is null, and `unknown` has the reason. The
//! recorder stores each [`CardNow`] and the [`HostNow`] as JSON, and readers parse them back.

mod build;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::card::{self, ComputeMode, MemorySource};
use crate::identity::{Person, Who};
use crate::process::{Kinds, Presence, ProcessId};
use crate::reading::{Reading, Reason};
use crate::span::Work;
use crate::state::{State, with_reason};
use crate::unknowns::{NullReason, Unknowns};

/// Version of the JSON of a snapshot.
pub const SCHEMA: &str = "gua.stat/2";

/// All cards and holders at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    pub schema: &'static str,
    pub time: Timestamp,
    pub source: SnapshotSource,
    #[serde(flatten)]
    pub host: HostNow,
    pub cards: Vec<CardNow>,
    /// The record that idle times are from; `None` if nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryNow>,
}

/// Origin of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotSource {
    /// The driver, just now.
    Live,
    /// The recorder, at its last tick.
    Recorded,
}

/// Host and driver at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostNow {
    pub host: Option<String>,
    pub driver_version: Option<String>,
    pub cuda_version: Option<String>,
    /// Number of GPUs that the driver counts.
    pub gpu_count: Option<u32>,
    /// Why the driver cannot be read, in words.
    pub driver_error: Option<String>,
    pub unknown: Unknowns,
}

/// A card at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardNow {
    #[serde(flatten)]
    pub card: CardIdentity,
    #[serde(flatten, with = "with_reason")]
    pub state: State,
    #[serde(serialize_with = "serialize_tenths")]
    pub utilization_percent: Option<f64>,
    pub utilization_basis: Option<UtilizationBasis>,
    /// Null for the value of a moment.
    pub utilization_covers_seconds: Option<f64>,
    pub memory_used_bytes: Option<u64>,
    pub memory_free_bytes: Option<u64>,
    pub memory_total_bytes: Option<u64>,
    /// Null where the driver counts its reserve as used.
    pub memory_reserved_bytes: Option<u64>,
    pub memory_source: Option<MemorySource>,
    /// Used memory that no listed holder has.
    pub memory_unattributed_bytes: Option<u64>,
    pub power_watts: Option<f64>,
    /// The enforced limit.
    pub power_limit_watts: Option<f64>,
    pub energy_joules: Option<f64>,
    pub temperature_celsius: Option<u32>,
    pub sm_clock_mhz: Option<u32>,
    pub memory_clock_mhz: Option<u32>,
    pub encoder_percent: Option<f64>,
    pub decoder_percent: Option<f64>,
    pub fan_percent: Option<f64>,
    #[serde(flatten)]
    pub requested: RequestedNow,
    /// False if a process list could not be read: there may be more holders.
    pub holders_complete: bool,
    pub holders: Vec<HolderNow>,
    /// Memory that no listed process holds, where there is or may be some.
    pub unlisted: Option<UnlistedNow>,
    /// People who were given the card and may not hold it yet.
    pub reservations: Vec<Reservation>,
    pub unknown: Unknowns,
}

/// What is read of a card on request only. JSON leaves out what was not requested.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestedNow {
    /// Part of the driver's last period in which memory was read or written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_busy_percent: Option<f64>,
    /// From 0, the highest, to 15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub performance_state: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_mode: Option<ComputeMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistence_mode: Option<bool>,
    /// True also for the card of a MIG instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig_mode: Option<bool>,
    /// The limit that was set. The enforced one may be lower.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_power_limit_watts: Option<f64>,
}

/// Identity of a card.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CardIdentity {
    pub index: u32,
    /// Null for a whole GPU.
    pub mig_slot: Option<u32>,
    /// Id of the GPU instance that a MIG instance belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_instance: Option<u32>,
    pub uuid: Option<String>,
    /// UUID of the GPU of a MIG instance.
    pub parent_uuid: Option<String>,
    pub name: Option<String>,
    pub bus_id: Option<String>,
    pub minor: Option<u32>,
}

impl CardIdentity {
    /// Returns the card's number as it is shown.
    #[must_use]
    pub fn label(&self) -> String {
        card::label(self.index, self.mig_slot)
    }
}

/// What a utilization is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UtilizationBasis {
    /// The driver's buffered samples.
    Samples,
    /// Hardware counters of a MIG instance.
    Counters,
    /// The driver's last fraction of a second.
    Instant,
}

/// One process on one card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HolderNow {
    pub pid: u32,
    /// Start in clock ticks since boot. With the pid and the uid, the identity of the process.
    pub start_ticks: Option<u64>,
    pub presence: PresenceNow,
    /// Name of the person behind the process, as reports and rules have it; `identity` says how that is
    /// known.
    pub user: Option<String>,
    pub uid: Option<u32>,
    /// Owner of the process, who may be another: in a container, mostly root.
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    pub owner_uid: Option<u32>,
    pub program: Option<String>,
    pub parent_pid: Option<u32>,
    pub started: Option<Timestamp>,
    pub running_seconds: Option<f64>,
    /// Only on request: arguments may hold secrets.
    pub command: Option<Vec<String>>,
    pub kinds: Kinds,
    pub memory_bytes: Option<u64>,
    #[serde(serialize_with = "serialize_tenths")]
    pub sm_percent: Option<f64>,
    /// Part of the time in which it read or wrote the card's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_busy_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoder_percent: Option<f64>,
    pub work: Work,
    /// Its own state: it may be idle on a card that is active.
    #[serde(flatten, with = "with_reason")]
    pub state: State,
    #[serde(flatten)]
    pub idle: IdleNow,
    /// Who is behind it, each part with its source.
    pub identity: Option<Arc<Who>>,
    pub unknown: Unknowns,
}

impl HolderNow {
    #[must_use]
    pub const fn process(&self) -> ProcessId {
        ProcessId { pid: self.pid, start_ticks: self.start_ticks, uid: self.owner_uid }
    }
}

/// What the host says of the process of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresenceNow {
    Here,
    /// The driver lists it, the host does not have it.
    Gone,
    /// It is outside of this container.
    Foreign,
    /// It may not be read.
    Hidden,
    /// The host did not show it, and the record does not say why.
    NotRecorded,
}

/// Memory that no listed process holds, as if it were a holder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnlistedNow {
    pub memory_bytes: Option<u64>,
    /// Why the list of holders is not complete; null if it is.
    pub holders_reason: Option<Reason>,
    #[serde(flatten)]
    pub idle: IdleNow,
    pub unknown: Unknowns,
}

/// Since when somebody has held a card without using it. All null while that is not so.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct IdleNow {
    pub idle_since: Option<Timestamp>,
    pub idle_seconds: Option<f64>,
    pub idle_certainty: Option<IdleCertainty>,
    pub idle_source: Option<IdleSource>,
    /// Why it may be longer, or why it is not known.
    pub idle_doubt: Option<IdleDoubt>,
    /// End of the record, if that is before now.
    pub idle_recorded_until: Option<Timestamp>,
}

impl IdleNow {
    /// Returns an idle time up to now that began at a time.
    #[must_use]
    pub fn since(since: Timestamp, now: Timestamp, source: IdleSource) -> Self {
        Self {
            idle_since: Some(since),
            idle_seconds: Some(now.duration_since(since).as_secs_f64().max(0.0)),
            idle_certainty: Some(IdleCertainty::Exact),
            idle_source: Some(source),
            ..Self::default()
        }
    }

    /// Returns an idle time of which nothing is known but that it lasts.
    #[must_use]
    pub fn doubtful(doubt: IdleDoubt) -> Self {
        Self { idle_doubt: Some(doubt), ..Self::default() }
    }

    /// Returns true if it is known for how long.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.idle_seconds.is_some()
    }
}

/// Whether an idle time began when it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleCertainty {
    Exact,
    /// It began then, or before.
    AtLeast,
}

/// Where an idle time is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleSource {
    Record,
    /// What the program that looked has seen itself.
    Samples,
}

/// What is not known of an idle time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleDoubt {
    /// It is idle now; nothing is recorded.
    NoHistory,
    /// It is idle now; the record does not have it as idle yet.
    NotRecorded,
    /// It is at least so long: its begin was not seen.
    BeginningNotRecorded,
    /// It was so long when the record ended, and is idle now.
    RecorderNotRunning,
}

/// The record that idle times are from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryNow {
    /// Null where others may read the answer.
    pub path: Option<String>,
    pub state: HistoryState,
    /// Why there is none, in words.
    pub reason: Option<String>,
    pub recorded_until: Option<Timestamp>,
}

impl HistoryNow {
    /// Returns it for others than those who may look at the files of this host.
    #[must_use]
    pub fn without_path(self) -> Self {
        let reason = match &self.path {
            Some(path) => self.reason.map(|reason| reason.replace(path, "the database")),
            None => self.reason,
        };
        Self { path: None, reason, ..self }
    }
}

/// Whether the record reaches up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryState {
    Recording,
    /// It ends before now.
    Ended,
    None,
}

/// A card that somebody was given by `gua pick`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub user: Option<String>,
    pub uid: u32,
    /// Pid of the command that has the card as long as it runs.
    pub pid: Option<u32>,
    /// Null if no time ends it, or if its user lets nobody read it.
    pub seconds_left: Option<i64>,
}

impl Reservation {
    /// Formats by whom and how long, as the rest of a sentence.
    #[must_use]
    pub fn format_terms(&self) -> String {
        let by = self.user.clone().unwrap_or_else(|| format!("uid {}", self.uid));
        match (self.pid, self.seconds_left) {
            (Some(pid), _) => format!("by {by} while its command runs (pid {pid})"),
            (None, Some(seconds)) => format!("by {by} for another {seconds} s"),
            (None, None) => format!("by {by}, who does not let others read for how long"),
        }
    }
}

/// Name of a person who is not known.
pub const UNATTRIBUTED: &str = "unattributed";

impl HolderNow {
    /// Returns the person behind it, as far as it is known.
    #[must_use]
    pub fn person(&self) -> Person {
        let source = self.identity.as_ref().and_then(|who| Some(who.user.as_ref()?.source));
        Person { user: self.user.as_deref().map(Into::into), uid: self.uid, source }
    }

    /// Formats the person behind it: their name or number, `unattributed` if nobody is known.
    #[must_use]
    pub fn format_user(&self) -> String {
        match (&self.user, self.uid) {
            (Some(user), _) => user.clone(),
            (None, Some(uid)) => format!("uid {uid}"),
            (None, None) => UNATTRIBUTED.to_owned(),
        }
    }
}

/// Numbers of cards by state, and of those who are idle beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CardCounts {
    pub active: usize,
    pub idle_held: usize,
    pub truly_idle: usize,
    pub unknown: usize,
    /// Holders that are idle on a card that is active: that card is not idle-held.
    pub idle_beside: usize,
}

impl CardCounts {
    /// Adds a card, and who holds it.
    fn add(&mut self, card: &CardNow) {
        match card.state {
            State::Active => {
                self.active += 1;
                let is_idle = |holder: &&HolderNow| holder.state == State::IdleHeld;
                self.idle_beside += card.holders.iter().filter(is_idle).count();
            }
            State::IdleHeld => self.idle_held += 1,
            State::TrulyIdle => self.truly_idle += 1,
            State::Unknown(_) => self.unknown += 1,
        }
    }
}

impl Snapshot {
    /// Returns a snapshot of the driver just now.
    #[must_use]
    pub fn live(time: Timestamp, host: HostNow, cards: Vec<CardNow>) -> Self {
        Self { schema: SCHEMA, time, source: SnapshotSource::Live, host, cards, history: None }
    }

    /// Counts the cards by state.
    #[must_use]
    pub fn counts(&self) -> CardCounts {
        let mut counts = CardCounts::default();
        self.cards.iter().for_each(|card| counts.add(card));
        counts
    }

    /// Sets the reservations of each card by its UUID.
    pub fn set_reservations(&mut self, reserved: impl Fn(&str) -> Vec<Reservation>) {
        for card in &mut self.cards {
            if let Some(uuid) = &card.card.uuid {
                card.reservations = reserved(uuid);
            }
        }
    }

    /// Notes that the reservations cannot be read.
    pub fn note_unread_reservations(&mut self) {
        let cards = self.cards.iter_mut();
        cards.for_each(|card| card.unknown.note("reservations", NullReason::NoReservations));
    }
}

impl HostNow {
    /// Returns what is known of a host and its driver. `error` is why the driver cannot be read.
    #[must_use]
    pub fn new(
        host: Option<String>,
        driver: Reading<String>,
        cuda: Reading<(i32, i32)>,
        gpus: Reading<u32>,
        error: Option<String>,
    ) -> Self {
        let mut unknown = Unknowns::default();
        if host.is_none() {
            unknown.note("host", NullReason::NoName);
        }
        let cuda = cuda.map(|(major, minor)| format!("{major}.{minor}"));
        Self {
            host,
            driver_version: unknown.take("driver_version", driver),
            cuda_version: unknown.take("cuda_version", cuda),
            gpu_count: unknown.take("gpu_count", gpus),
            driver_error: error,
            unknown,
        }
    }
}

/// A process that the driver lists, as the host knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenProcess {
    pub pid: u32,
    pub presence: Presence,
    pub command: Reading<Vec<String>>,
}

impl SeenProcess {
    /// Returns the identity of the process, as far as it is known.
    #[must_use]
    pub fn id(&self) -> ProcessId {
        match &self.presence {
            Presence::Here(facts) => ProcessId {
                pid: facts.pid,
                start_ticks: Some(facts.start_ticks),
                uid: facts.uid.known(),
            },
            Presence::Gone | Presence::Foreign | Presence::Hidden(_) => ProcessId::unread(self.pid),
        }
    }
}

/// Serializes a percentage with one decimal: the driver knows whole percents only.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn serialize_tenths<S: Serializer>(percent: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    // A sum may be a zero with a sign.
    percent.map(|percent| (percent * 10.0).round() / 10.0 + 0.0).serialize(to)
}
