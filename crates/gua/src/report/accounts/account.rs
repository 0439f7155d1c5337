//! What is added up for one account.

use super::name::Name;
use crate::classify::Kib;

/// One account's time on all cards, in milliseconds. A card counts once at a time, however many
/// processes of the account are on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: Name,
    /// Some process of it was on a card.
    pub present: i64,
    /// One of them worked.
    pub worked: i64,
    /// None worked, and together they held more than the line: also on a card that others
    /// worked on, and for all of the card's time where several held it.
    pub idle_held: i64,
    /// Whether one worked, or how much they held, was not to be told.
    pub unknown: i64,
    /// What of its time worked or idle is what the card did: the driver did not tell.
    pub as_the_card: i64,
    /// What it worked while its card was idle-held: too little for the card's line.
    pub worked_little: i64,
    /// The most that it held at once on one card.
    pub peak: Peak,
    /// Its share of the time in which cards were idle-held, by memory. These add up over all
    /// accounts to the cards' idle-held time.
    pub idle_held_share: i64,
    /// Memory of its processes that did not work, also beside one that did, while it was more
    /// than the line.
    pub held_idle: HeldIdle,
    /// What of it was on which card.
    pub cards: Vec<OnCard>,
}

/// The part of an account that was on one card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnCard {
    pub card: i64,
    pub present: i64,
    pub idle_held_share: i64,
}

/// The most that was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peak {
    Known(Kib),
    /// It was not always told.
    Untold,
}

impl Peak {
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(one), Self::Known(other)) => Self::Known(one.max(other)),
            _ => Self::Untold,
        }
    }

    /// Both at once.
    pub(super) const fn with(self, memory: Option<Kib>) -> Self {
        match (self, memory) {
            (Self::Known(one), Some(other)) => Self::Known(Kib(one.0.saturating_add(other.0))),
            _ => Self::Untold,
        }
    }

    /// `None` where it was not always told.
    #[must_use]
    pub const fn known(self) -> Option<Kib> {
        match self {
            Self::Known(most) => Some(most),
            Self::Untold => None,
        }
    }
}

/// Memory over time, in KiB × milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct HeldIdle(pub u128);

impl HeldIdle {
    pub(super) fn add(&mut self, memory: Kib, millis: i64) {
        let more = u128::from(memory.0) * u128::from(millis.max(0).unsigned_abs());
        self.0 = self.0.saturating_add(more);
    }

    /// In GB of 10⁹ bytes × hours.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
    pub fn gb_hours(self) -> f64 {
        self.0 as f64 * 1024.0 / 1e9 / 3_600_000.0
    }
}
