//! A lab that does not exist, as it is now.

use std::time::Duration;

use gua_core::Thresholds;
use gua_core::snapshot::Snapshot;
use probe::units::UnixMillis;

use super::DemoError;
use super::lab::Lab;
use super::play::Play;
use crate::simulated::SimulatedHost;

/// The lab, one moment after the other.
#[derive(Debug)]
pub struct Live {
    lab: Lab,
    /// What is played now, and up to when.
    now: Option<(SimulatedHost, UnixMillis)>,
}

impl Live {
    /// Moves in.
    ///
    /// # Errors
    /// When the lab makes no sense.
    pub fn lab() -> Result<Self, DemoError> {
        Ok(Self { lab: Lab::new()?, now: None })
    }

    /// Returns a snapshot at a time, which averages over the time before it.
    pub fn snapshot(&mut self, at: UnixMillis, over: Duration) -> Snapshot {
        if let Some((host, _)) = self.now.as_mut().filter(|(_, until)| at <= *until) {
            return host.snapshot(at, over);
        }
        let scene = self.lab.scene(at);
        let mut host = SimulatedHost::new(scene.scenario, scene.origin, Thresholds::default());
        let snapshot = host.snapshot(at, over);
        self.now = Some((host, scene.until));
        snapshot
    }
}
