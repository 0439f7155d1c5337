//! Classified time: what the classifier yields.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::card::CardFacts;
use crate::period::Period;
use crate::process::ProcessId;
use crate::reading::Reason;
use crate::state::State;
use crate::units::Bytes;

/// A stretch of a card's time in which its state, its holders and who of them works do not change.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub card: Arc<CardFacts>,
    pub period: Period,
    pub state: State,
    pub holders: Vec<HolderTime>,
    /// Utilization, in percent × seconds.
    pub busy: Integral,
    /// Used memory, in MiB × seconds.
    pub memory: Integral,
    /// Energy in joules.
    pub energy: Integral,
    /// Part of the time whose energy is known: there it is power × time, as the card has no counter.
    pub energy_estimated_ms: i64,
}

/// A holder's part of a span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HolderTime {
    pub holder: HolderId,
    pub work: Work,
    /// Part of the span's time. The shares of all holders add up to the span; while the card is truly
    /// idle they are 0.
    pub share_ms: i64,
    /// Memory held, in MiB × seconds.
    pub memory: Integral,
    pub peak: Option<Bytes>,
    /// Part of the span's energy, in joules.
    pub energy: f64,
}

/// A holder of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HolderId {
    Process(ProcessId),
    /// Memory that no listed process holds.
    Unlisted,
}

/// Use that a holder makes of its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    Working,
    Idle,
    /// Somebody works on the card, and it is not known who.
    Unknown,
}

/// Sum of a quantity over time, and for how long the quantity was known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Integral {
    pub sum: f64,
    pub known_ms: i64,
}

impl Integral {
    /// Returns the mean of a quantity that was integrated over seconds; `None` if it was never known.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.known_ms > 0).then(|| self.sum * 1000.0 / self.known_ms as f64)
    }
}

/// Time in which no card was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub period: Period,
    pub reason: GapReason,
}

/// Reason of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// The wall clock was set.
    ClockSet,
    /// The machine was suspended.
    Suspended,
    /// A poll came late.
    Late,
    /// Nothing could be stored for so long that spans were dropped.
    Storage,
    /// The driver could not be asked.
    Driver(Reason),
}

impl GapReason {
    /// Returns a stable word for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::ClockSet => "clock_set",
            Self::Suspended => "suspended",
            Self::Late => "late",
            Self::Storage => "storage",
            Self::Driver(reason) => reason.slug(),
        }
    }
}
