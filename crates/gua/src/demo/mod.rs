//! Simulated machines, and the history that a recorder would have left of them.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | `play` | what a simulated machine and its recorder do over time |
//! | `cycle` | three cards that repeat five ticks |
//! | `lab` | eight cards, a dozen people and their habits, for as long as it takes |
//! | `live` | the lab as it is now |
//! | `dice` | chance that is the same every time |
//! | [`record`] | writes a history into the record, without polls |

mod cycle;
mod dice;
mod lab;
mod live;
mod play;
pub mod record;

use std::time::Duration;

use gua_core::Period;
use gua_core::units::UnixMillis;

pub use live::Live;

/// Which machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// Three cards that repeat five ticks.
    Cycle,
    /// A lab with eight cards. What happens on a date does not depend on the window.
    Lab,
}

/// History to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub machine: Machine,
    pub end: UnixMillis,
    pub interval: Duration,
    /// Number of ticks.
    pub ticks: i64,
}

impl Plan {
    /// Returns the time that it covers.
    #[must_use]
    pub fn period(&self) -> Period {
        let length = self.interval_millis().saturating_mul(self.ticks);
        Period::new(UnixMillis(self.end.0.saturating_sub(length)), self.end)
    }

    /// Returns the plan of the lab's last day.
    #[must_use]
    pub const fn of_the_last_day(end: UnixMillis) -> Self {
        Self { machine: Machine::Lab, end, interval: Duration::from_secs(30), ticks: 2 * 60 * 24 }
    }

    fn interval_millis(&self) -> i64 {
        i64::try_from(self.interval.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Reason that there is no history.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error(transparent)]
    Record(#[from] gua_store::StoreError),
    #[error("the simulated machine makes no sense: {0}")]
    Machine(#[from] scenario::parse::Refused),
}
