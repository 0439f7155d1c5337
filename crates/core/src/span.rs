//! Classified time: what the classifier yields.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::card::CardFacts;
use crate::period::{Period, portion};
use crate::process::ProcessId;
use crate::reading::Reason;
use crate::state::State;
use crate::units::{Bytes, UnixMillis};

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

impl Span {
    /// Returns the part of the span from a time on, with its sums in proportion; `None` if it ended before.
    /// Shares that add up to the span add up to the part.
    #[must_use]
    pub fn since(mut self, from: UnixMillis) -> Option<Self> {
        let whole = self.period.millis();
        self.period.from = self.period.from.max(from);
        let part = self.period.millis();
        if part == whole {
            return Some(self);
        }
        let scale = |integral: &mut Integral| {
            integral.sum *= part as f64 / whole as f64;
            integral.known_ms = portion(integral.known_ms, part, whole);
        };
        [&mut self.busy, &mut self.memory, &mut self.energy].into_iter().for_each(scale);
        let (mut shares, mut set) = (0, 0);
        for holder in &mut self.holders {
            scale(&mut holder.memory);
            holder.energy *= part as f64 / whole as f64;
            shares += holder.share_ms;
            let until = portion(shares, part, whole);
            holder.share_ms = until - set;
            set = until;
        }
        (!self.period.is_empty()).then_some(self)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ProcessId;

    #[test]
    fn part_of_a_span_has_its_sums_in_proportion_and_shares_that_add_up() {
        let time = |from, to| Period::new(UnixMillis(from), UnixMillis(to));
        let integral = |sum| Integral { sum, known_ms: 900 };
        let holder = |pid, share_ms| HolderTime {
            holder: HolderId::Process(ProcessId::unread(pid)),
            work: Work::Working,
            share_ms,
            memory: integral(100.0),
            peak: Some(Bytes(7)),
            energy: 10.0,
        };
        let span = Span {
            card: Arc::new(CardFacts::unread(0, Reason::NotAsked)),
            period: time(1000, 2000),
            state: State::Active,
            holders: vec![holder(1, 333), holder(2, 333), holder(3, 334)],
            busy: integral(50.0),
            memory: integral(100.0),
            energy: integral(30.0),
        };
        assert_eq!(span.clone().since(UnixMillis(500)), Some(span.clone()));
        assert_eq!(span.clone().since(UnixMillis(2000)), None);
        let part = span.since(UnixMillis(1500)).unwrap();
        assert_eq!(part.period, time(1500, 2000));
        assert_eq!((part.busy.sum, part.busy.known_ms, part.energy.sum), (25.0, 450, 15.0));
        assert_eq!(part.holders.iter().map(|holder| holder.share_ms).sum::<i64>(), 500);
        assert_eq!((part.holders[0].energy, part.holders[0].peak), (5.0, Some(Bytes(7))));
    }
}
