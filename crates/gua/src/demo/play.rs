//! What a pretend machine and its recorder do over time.

use probe::units::UnixMillis;
use scenario::Scenario;

use crate::ledger::Period;
use crate::store::Ending;

/// A machine that can be played for as long as it takes.
pub(super) trait Play {
    /// What it does around a moment.
    fn scene(&self, at: UnixMillis) -> Scene;

    /// When it is recorded within a time, in order.
    fn shifts(&self, period: Period) -> Vec<Shift>;
}

/// What a machine does for a while.
#[derive(Debug)]
pub(super) struct Scene {
    pub scenario: Scenario,
    /// When the scenario's `t = 0` is.
    pub origin: UnixMillis,
    /// Up to when it can be played.
    pub until: UnixMillis,
}

/// One run of a recorder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shift {
    pub period: Period,
    pub ending: Ending,
    /// When the whole machine slept meanwhile.
    pub asleep: Vec<Period>,
}
