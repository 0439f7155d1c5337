//! Chooses cards of a snapshot, with the reason why not of each other.

use std::cmp::Reverse;
use std::fmt;

use gua_core::Reason;
use gua_core::card::ComputeMode;
use gua_core::snapshot::{CardNow, HolderNow, Reservation, Snapshot};
use gua_core::state::State;
use gua_core::text::{format_duration, format_memory};
use gua_core::units::Percent;
use gua_core::unknowns::NullReason;

use super::{PastWork, PastWorks, Pick, PickCard, PickRequest, VisibleDevices};

/// Why a card was not chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// It has no UUID by which it could be passed on.
    Nameless(Reason),
    Unknown(Reason),
    /// CUDA cannot use it as it is set up.
    Obstacle(Obstacle),
    /// `CUDA_VISIBLE_DEVICES` leaves it out.
    NotVisible,
    /// By whom and how long.
    Reserved(String),
    /// It works, now or over the time that is recorded.
    Busy {
        percent: Percent,
        over: Option<PastWork>,
    },
    Held {
        by: Vec<String>,
        free: Option<u64>,
    },
    MemoryUnknown(Reason),
    Full {
        free: u64,
        wanted: u64,
    },
    /// It would do; there are better ones, or not enough of them.
    Spare,
}

/// What keeps CUDA programs from a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It is in MIG mode and has no instance.
    NoInstance,
    /// Nobody may compute on it.
    Prohibited,
    /// One process may compute on it, and one does.
    Exclusive,
}

/// Chooses cards of a snapshot: truly idle cards first, then those with the most memory left. Chooses
/// none if there are not enough.
#[must_use]
pub fn choose(
    snapshot: &Snapshot,
    past: &PastWorks,
    visible: &VisibleDevices,
    request: &PickRequest,
) -> Pick {
    let card = |now: &CardNow| {
        let card = PickCard::new(now, past, request.uid);
        let past = now.card.uuid.as_ref().and_then(|uuid| past.get(uuid));
        PickCard { refusal: refusal(now, &card, past, visible, request), ..card }
    };
    let mut cards: Vec<_> = snapshot.cards.iter().map(card).collect();
    let mut suitable: Vec<_> = cards.iter_mut().filter(|card| card.refusal.is_none()).collect();
    suitable.sort_by_key(|card| card.rank());
    let enough = suitable.len() >= request.count;
    let count = if enough { request.count } else { 0 };
    for (place, card) in suitable.into_iter().enumerate() {
        card.chosen = place < count;
        card.refusal = (!card.chosen).then_some(Refusal::Spare);
    }
    let mut pick = Pick {
        schema: "gua.pick/2",
        time: snapshot.time,
        wanted: request.count,
        enough,
        cuda_visible_devices: None,
        reserved_until: None,
        over_seconds: past.over_seconds,
        history_reason: None,
        visible_devices: None,
        reservations_reason: None,
        cards,
    };
    pick.cuda_visible_devices = enough.then(|| pick.uuids());
    pick
}

type Rank = (Option<i64>, bool, Reverse<u64>, u32, Option<u32>);

impl PickCard {
    fn new(now: &CardNow, past: &PastWorks, uid: Option<u32>) -> Self {
        /// Fields of a card that are repeated here.
        const FIELDS: [&str; 8] = [
            "uuid",
            "parent_uuid",
            "gpu_instance",
            "name",
            "bus_id",
            "minor",
            "memory_free_bytes",
            "utilization_percent",
        ];
        let past = now.card.uuid.as_ref().and_then(|uuid| past.get(uuid));
        let mut unknown = now.unknown.only(&FIELDS);
        if past.is_none() {
            unknown.note("recorded_utilization_percent", NullReason::NotRecorded);
        }
        let mut holders: Vec<_> = now.holders.iter().map(format_holder).collect();
        holders.sort();
        holders.dedup();
        Self {
            card: now.card.clone(),
            chosen: false,
            refusal: None,
            state: now.state,
            memory_free_bytes: now.memory_free_bytes,
            utilization_percent: now.utilization_percent,
            recorded_utilization_percent: past.map(|work| work.percent.0),
            recorded_seconds: past.map_or(0.0, |work| work.seconds),
            own_reservation: now.reservations.iter().find_map(|by| own(by, uid)),
            holders,
            unknown,
        }
    }

    /// Returns the place of a card among those that would do. Those that who asks has reserved come last,
    /// the oldest first: another of their programs may be about to use them.
    pub(super) fn rank(&self) -> Rank {
        let free = self.memory_free_bytes.unwrap_or(0);
        let is_held = self.state != State::TrulyIdle;
        (self.own_reservation, is_held, Reverse(free), self.card.index, self.card.mig_slot)
    }
}

/// Returns the seconds left of a reservation for a time by who asks. A command keeps its cards also from
/// other commands of its user.
fn own(by: &Reservation, uid: Option<u32>) -> Option<i64> {
    by.seconds_left.filter(|_| Some(by.uid) == uid && by.pid.is_none())
}

/// Formats the person behind a holder; without a person, also the process.
fn format_holder(holder: &HolderNow) -> String {
    let user = holder.format_user();
    match (&holder.user, holder.uid) {
        (None, None) => format!("{user} (pid {})", holder.pid),
        _ => user,
    }
}

fn refusal(
    now: &CardNow,
    card: &PickCard,
    past: Option<PastWork>,
    visible: &VisibleDevices,
    request: &PickRequest,
) -> Option<Refusal> {
    let unread = |field| now.unknown.unread(field).unwrap_or(Reason::NotTold);
    if let State::Unknown(reason) = now.state {
        return Some(Refusal::Unknown(reason));
    }
    if now.card.uuid.is_none() {
        return Some(Refusal::Nameless(unread("uuid")));
    }
    if !visible.has(&now.card) {
        return Some(Refusal::NotVisible);
    }
    if let Some(obstacle) = obstacle(now) {
        return Some(Refusal::Obstacle(obstacle));
    }
    if let Some(by) = now.reservations.iter().find(|by| own(by, request.uid).is_none()) {
        return Some(Refusal::Reserved(by.format_terms()));
    }
    if let Some(busy) = busy(card.utilization_percent, past, request) {
        return Some(busy);
    }
    match (request.min_free, now.memory_free_bytes) {
        (Some(_), None) => return Some(Refusal::MemoryUnknown(unread("memory_free_bytes"))),
        (Some(wanted), Some(free)) if free < wanted.0 => {
            return Some(Refusal::Full { free, wanted: wanted.0 });
        }
        _ => {}
    }
    let is_free = now.state == State::TrulyIdle || request.may_share();
    let held = || Refusal::Held { by: card.holders.clone(), free: now.memory_free_bytes };
    (!is_free).then(held)
}

/// Returns what keeps CUDA from a card. What cannot be read is no obstacle: most cards have no MIG.
fn obstacle(now: &CardNow) -> Option<Obstacle> {
    match now.requested.compute_mode {
        Some(ComputeMode::Prohibited) => return Some(Obstacle::Prohibited),
        Some(ComputeMode::ExclusiveProcess | ComputeMode::ExclusiveThread)
            if now.state != State::TrulyIdle =>
        {
            return Some(Obstacle::Exclusive);
        }
        _ => {}
    }
    let is_divided = now.requested.mig_mode == Some(true) && now.card.mig_slot.is_none();
    is_divided.then_some(Obstacle::NoInstance)
}

/// Judges by the look as well as by the record: a pause is not the end of the work, and work that has
/// just begun is work.
fn busy(now: Option<f64>, past: Option<PastWork>, request: &PickRequest) -> Option<Refusal> {
    let is_too_much = |percent: Percent| match request.max_utilization {
        Some(most) => percent > most,
        None => percent >= request.active,
    };
    if let Some(percent) = now.map(Percent).filter(|percent| is_too_much(*percent)) {
        return Some(Refusal::Busy { percent, over: None });
    }
    let work = past.filter(|work| is_too_much(work.percent))?;
    Some(Refusal::Busy { percent: work.percent, over: Some(work) })
}

impl Refusal {
    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(&self) -> &'static str {
        match self {
            Self::Nameless(_) | Self::Unknown(_) => "unknown",
            Self::Obstacle(Obstacle::NoInstance) => "no_mig_instance",
            Self::Obstacle(Obstacle::Prohibited) => "compute_prohibited",
            Self::Obstacle(Obstacle::Exclusive) => "compute_exclusive",
            Self::NotVisible => "not_visible",
            Self::Reserved(_) => "reserved",
            Self::Busy { .. } => "busy",
            Self::Held { .. } => "held",
            Self::MemoryUnknown(_) => "memory_unknown",
            Self::Full { .. } => "too_little_memory",
            Self::Spare => "not_needed",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nameless(reason) => write!(f, "unknown: its UUID cannot be read ({reason})"),
            Self::Unknown(reason) => write!(f, "unknown: {reason}"),
            Self::Obstacle(obstacle) => f.write_str(match obstacle {
                Obstacle::NoInstance => "MIG is on and it has no instance, so CUDA cannot use it",
                Obstacle::Prohibited => "its compute mode is Prohibited, so CUDA cannot use it",
                Obstacle::Exclusive => "its compute mode lets one process use it, and one does",
            }),
            Self::NotVisible => f.write_str("not in CUDA_VISIBLE_DEVICES"),
            Self::Reserved(terms) => write!(f, "reserved {terms}"),
            Self::Busy { percent, over: None } => write!(f, "busy: {:.0} % now", percent.0),
            Self::Busy { percent, over: Some(work) } => {
                let over = format_duration(work.seconds);
                write!(f, "busy: {:.0} % over the last {over}", percent.0)
            }
            Self::Held { by, free } => {
                let by = if by.is_empty() { "an unlisted process".into() } else { by.join(", ") };
                write!(f, "held by {by}")?;
                free.map_or(Ok(()), |free| write!(f, ", {} left", format_memory(free)))
            }
            Self::MemoryUnknown(reason) => {
                write!(f, "how much memory is left is unknown: {reason}")
            }
            Self::Full { free, wanted } => {
                let [free, wanted] = [*free, *wanted].map(format_memory);
                write!(f, "{free} of memory left, {wanted} wanted")
            }
            Self::Spare => f.write_str("would do"),
        }
    }
}
