//! `[recorder]`: how often to store a tick.

use std::time::Duration;

use super::origin::Setting;
use super::section::{self, Visit};
use super::value::Interval;

/// How often the recorder stores and reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorder {
    /// Time from tick to tick.
    pub interval: Duration,
    /// Time between two readings of power and temperature. It cannot be set.
    pub sensors_every: Duration,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { interval: Duration::from_secs(30), sensors_every: Duration::from_secs(15) }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    pub interval: Setting<Interval>,
}

impl Section {
    pub fn usual() -> Self {
        Self { interval: Setting::usual(Interval(Recorder::default().interval)) }
    }

    pub fn settled(&self) -> Recorder {
        Recorder { interval: self.interval.value.0, ..Recorder::default() }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("interval", &mut self.interval);
    }
}
