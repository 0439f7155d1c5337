//! A lab that does not exist, as it is now.

use std::time::Duration;

use probe::units::UnixMillis;

use super::DemoError;
use super::lab::Lab;
use super::play::Play;
use crate::sampler::{Pretend, Tick};

/// The lab, one moment after the other.
#[derive(Debug)]
pub struct Live {
    lab: Lab,
    /// What is played now, and up to when.
    now: Option<(Pretend, UnixMillis)>,
}

impl Live {
    /// Moves in.
    ///
    /// # Errors
    /// When the lab makes no sense.
    pub fn lab() -> Result<Self, DemoError> {
        Ok(Self { lab: Lab::new()?, now: None })
    }

    #[must_use]
    pub fn host_name(&self, at: UnixMillis) -> String {
        self.lab.scene(at).scenario.host_name
    }

    /// A look at this time, which averages over the time before it.
    pub fn tick(&mut self, at: UnixMillis, over: Duration) -> Tick {
        if let Some((pretend, _)) = self.now.as_mut().filter(|(_, until)| at <= *until) {
            return pretend.tick(at, over);
        }
        let scene = self.lab.scene(at);
        let mut pretend = Pretend::new(scene.scenario, scene.origin);
        let tick = pretend.tick(at, over);
        self.now = Some((pretend, scene.until));
        tick
    }
}
