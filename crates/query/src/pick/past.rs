//! How busy cards were over a time, from the record.

use std::collections::HashMap;

use gua_core::Period;
use gua_core::units::Percent;
use gua_store::{Database, StoreError};

/// Utilization of a card over a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PastWork {
    pub percent: Percent,
    /// Part of the time in which it is known.
    pub seconds: f64,
}

/// Utilization of cards over a time, by UUID.
#[derive(Debug, Clone, PartialEq)]
pub struct PastWorks {
    /// The time that is judged, recorded or not.
    pub over_seconds: f64,
    cards: HashMap<String, PastWork>,
}

impl PastWorks {
    /// Returns the utilization of cards of which nothing is recorded.
    #[must_use]
    pub fn none(over_seconds: f64) -> Self {
        Self { over_seconds, cards: HashMap::new() }
    }

    /// Returns the utilization of cards by their UUIDs.
    pub fn new(over_seconds: f64, cards: impl IntoIterator<Item = (String, PastWork)>) -> Self {
        Self { over_seconds, cards: cards.into_iter().collect() }
    }

    /// Reads the utilization over a window.
    pub fn read(store: &Database, window: Period) -> Result<Self, StoreError> {
        let sums = store.usage(window)?;
        let cards = store.cards()?.into_iter().filter_map(|(id, card)| {
            let times = sums.cards.get(&id)?.times;
            let known_ms = times.observed_ms() - times.busy_unknown_ms;
            let percent = Percent(times.busy * 1000.0 / known_ms);
            Some((card.uuid?, PastWork { percent, seconds: known_ms / 1000.0 }))
        });
        let known = cards.filter(|(_, work)| work.seconds > 0.0);
        Ok(Self::new(window.seconds(), known))
    }

    /// Returns true if nothing is recorded of any card.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }

    #[must_use]
    pub fn get(&self, uuid: &str) -> Option<PastWork> {
        self.cards.get(uuid).copied()
    }
}
