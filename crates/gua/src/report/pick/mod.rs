//! Which cards to use?

mod choose;
mod evidence;
#[cfg(test)]
mod tests;
mod visible;

use jiff::Timestamp;
use serde::Serialize;

pub use choose::{Bar, Choice, Refusal, choose};
pub use evidence::{Candidate, Past, Work, candidates};
pub use visible::Visible;

use super::now::Identity;
use super::unknowns::Unknowns;
use probe::units::{Bytes, Percent};

/// What the cards must be like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wishes {
    pub count: usize,
    /// So much memory must be left. With it, or with `max_work`, cards may be shared.
    pub min_free: Option<Bytes>,
    /// They may have worked so much; where it is left out, they may not count as active.
    pub max_work: Option<Percent>,
    /// From here on a card counts as active.
    pub active: Percent,
}

impl Wishes {
    /// Whether cards that somebody holds will do.
    #[must_use]
    pub const fn may_share(&self) -> bool {
        self.min_free.is_some() || self.max_work.is_some()
    }
}

/// The answer, for a program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pick {
    pub schema: &'static str,
    pub time: Timestamp,
    pub wanted: usize,
    pub enough: bool,
    /// Null when there are not enough.
    pub cuda_visible_devices: Option<String>,
    /// Null where nothing is reserved, and for a command, which has them until it ends.
    pub reserved_until: Option<Timestamp>,
    /// The time until now that was to be judged by.
    pub over_seconds: f64,
    /// Why there is nothing recorded to judge by, where that is so.
    pub history_reason: Option<String>,
    /// What CUDA_VISIBLE_DEVICES was, where it says which cards may be chosen.
    pub visible_devices: Option<String>,
    /// Why it is not known which cards are reserved, where that is so.
    pub reservations_reason: Option<String>,
    pub cards: Vec<Card>,
}

/// One card and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    #[serde(flatten)]
    pub identity: Identity,
    pub chosen: bool,
    /// Why it was not; null when it was.
    pub reason: Option<&'static str>,
    pub detail: Option<String>,
    pub state: &'static str,
    pub memory_free_bytes: Option<u64>,
    pub utilization_percent: Option<f64>,
    pub recorded_utilization_percent: Option<f64>,
    /// How much of the time is recorded.
    pub recorded_seconds: f64,
    pub holders: Vec<String>,
    pub unknown: Unknowns,
}

impl Pick {
    /// What was chosen, with its reasons.
    #[must_use]
    pub fn new(choice: &Choice, wishes: &Wishes, time: Timestamp, over_seconds: f64) -> Self {
        Self {
            schema: "gua.pick/1",
            time,
            wanted: wishes.count,
            enough: choice.is_enough(),
            cuda_visible_devices: choice.is_enough().then(|| choice.uuids()),
            reserved_until: None,
            over_seconds,
            history_reason: None,
            visible_devices: None,
            reservations_reason: None,
            cards: choice
                .cards
                .iter()
                .map(|(card, refusal)| told(card, refusal.as_ref()))
                .collect(),
        }
    }
}

fn told(card: &Candidate, refusal: Option<&Refusal>) -> Card {
    Card {
        identity: card.identity.clone(),
        chosen: refusal.is_none(),
        reason: refusal.map(Refusal::slug),
        detail: refusal.map(ToString::to_string),
        state: card.state.word(),
        memory_free_bytes: card.free.known().map(|bytes| bytes.0),
        utilization_percent: card.work_now.map(|percent| percent.0),
        recorded_utilization_percent: card.past.map(|work| work.percent.0),
        recorded_seconds: card.past.map_or(0.0, |work| work.seconds),
        holders: card.holders.clone(),
        unknown: card.unknown.clone(),
    }
}
