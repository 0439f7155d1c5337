//! What a simulated machine and its recorder do over time.

use gua_core::Period;
use gua_core::units::UnixMillis;
use scenario::Scenario;

/// A machine that can be simulated for any time.
pub(super) trait Play {
    /// Returns what it does from a moment on.
    fn scene(&self, at: UnixMillis) -> Scene;

    /// Returns the runs of a recorder within a time, in order.
    fn shifts(&self, period: Period) -> Vec<Shift>;
}

/// What a machine does for a while.
#[derive(Debug)]
pub(super) struct Scene {
    pub scenario: Scenario,
    /// Time of the scenario's `t = 0`.
    pub origin: UnixMillis,
    /// Last time that it holds for.
    pub until: UnixMillis,
}

/// One run of a recorder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shift {
    pub period: Period,
    pub ending: Ending,
    /// Times in which the machine was suspended.
    pub asleep: Vec<Period>,
}

/// Why a run of a recorder ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Stopped,
    Crashed,
    /// The history ends there.
    Complete,
}

impl Ending {
    /// Returns what the record says; `None` after a crash.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Stopped => Some("stopped"),
            Self::Crashed => None,
            Self::Complete => Some("complete"),
        }
    }
}
