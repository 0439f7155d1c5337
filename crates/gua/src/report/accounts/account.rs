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
