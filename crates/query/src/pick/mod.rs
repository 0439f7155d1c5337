//! Which cards to use.
//!
//! | module | contents |
//! |---|---|
//! | `choose` | chooses cards of a snapshot, with the reason why not of each other |
//! | `past` | how busy cards were over a time |
//! | `visible` | what `CUDA_VISIBLE_DEVICES` lets a program use |

mod choose;
mod past;
mod visible;

#[cfg(test)]
mod tests;

use gua_core::snapshot::CardIdentity;
use gua_core::state::State;
use gua_core::units::{Bytes, Percent};
use gua_core::unknowns::Unknowns;
use jiff::Timestamp;
use serde::{Serialize, Serializer};

pub use choose::{Obstacle, Refusal, choose};
pub use past::{PastWork, PastWorks};
pub use visible::VisibleDevices;

/// What the cards must be like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PickRequest {
    pub count: usize,
    /// Memory that must be left. With it, or with `max_utilization`, cards may be shared.
    pub min_free: Option<Bytes>,
    /// Utilization that they may have; without it, they may not be active.
    pub max_utilization: Option<Percent>,
    /// Utilization from which on a card is active.
    pub active: Percent,
    /// User whose own reservations for a time keep no card from them; `None` for nobody.
    pub uid: Option<u32>,
}

impl PickRequest {
    /// Returns true if cards that somebody holds will do.
    #[must_use]
    pub const fn may_share(&self) -> bool {
        self.min_free.is_some() || self.max_utilization.is_some()
    }
}

/// Cards that were chosen, and why the others were not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pick {
    pub schema: &'static str,
    pub time: Timestamp,
    pub wanted: usize,
    pub enough: bool,
    /// Null if there are not enough.
    pub cuda_visible_devices: Option<String>,
    /// Null if nothing is reserved, and for a command, which has the cards until it ends.
    pub reserved_until: Option<Timestamp>,
    /// Time until now that is judged.
    pub over_seconds: f64,
    /// Why there is no record to judge by.
    pub history_reason: Option<String>,
    /// Value of `CUDA_VISIBLE_DEVICES`, if it says which cards may be chosen.
    pub visible_devices: Option<String>,
    /// Why it is not known which cards are reserved.
    pub reservations_reason: Option<String>,
    /// All cards, in their order.
    pub cards: Vec<PickCard>,
}

/// A card, chosen or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PickCard {
    #[serde(flatten)]
    pub card: CardIdentity,
    pub chosen: bool,
    /// Why it was not chosen.
    #[serde(flatten, serialize_with = "serialize_refusal")]
    pub refusal: Option<Refusal>,
    pub state: State,
    pub memory_free_bytes: Option<u64>,
    pub utilization_percent: Option<f64>,
    pub recorded_utilization_percent: Option<f64>,
    /// Recorded part of the time that is judged.
    pub recorded_seconds: f64,
    /// Seconds left of the reservation of who asks.
    #[serde(skip)]
    pub own_reservation: Option<i64>,
    /// Names of the holders, each once.
    pub holders: Vec<String>,
    pub unknown: Unknowns,
}

impl Pick {
    /// Returns how many cards would do, chosen or not.
    #[must_use]
    pub fn suitable(&self) -> usize {
        let is_suitable = |card: &&PickCard| matches!(card.refusal, None | Some(Refusal::Spare));
        self.cards.iter().filter(is_suitable).count()
    }

    /// Returns how many cards the program may use at all.
    #[must_use]
    pub fn visible(&self) -> usize {
        self.cards.iter().filter(|card| card.refusal != Some(Refusal::NotVisible)).count()
    }

    /// Returns the chosen cards, best first.
    #[must_use]
    pub fn chosen(&self) -> Vec<&PickCard> {
        let mut chosen: Vec<_> = self.cards.iter().filter(|card| card.chosen).collect();
        chosen.sort_by_key(|card| card.rank());
        chosen
    }

    /// Returns the UUIDs of the chosen cards, as CUDA takes them.
    #[must_use]
    pub fn uuids(&self) -> String {
        let uuids = self.chosen().into_iter().filter_map(|card| card.card.uuid.as_deref());
        uuids.collect::<Vec<_>>().join(",")
    }
}

/// Serializes a refusal as a stable word and a sentence.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn serialize_refusal<S: Serializer>(refusal: &Option<Refusal>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields {
        reason: Option<&'static str>,
        detail: Option<String>,
    }
    let reason = refusal.as_ref().map(Refusal::slug);
    Fields { reason, detail: refusal.as_ref().map(ToString::to_string) }.serialize(to)
}
