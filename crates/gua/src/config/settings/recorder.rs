//! `[recorder]`: how often to look.

use std::time::Duration;

use super::origin::Setting;
use super::section::{self, Visit};
use super::value::Interval;

/// The recorder's beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorder {
    /// The time from tick to tick.
    pub interval: Duration,
    /// Power and temperature are read no more often than this.
    pub sensors_every: Duration,
}

impl Default for Recorder {
    /// Heat and power change slowly, and each costs a call a card.
    fn default() -> Self {
        Self { interval: Duration::from_secs(30), sensors_every: Duration::from_secs(10) }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    pub interval: Setting<Interval>,
    sensors_every: Setting<Interval>,
}

impl Section {
    pub fn usual() -> Self {
        let Recorder { interval, sensors_every } = Recorder::default();
        Self {
            interval: Setting::usual(Interval(interval)),
            sensors_every: Setting::usual(Interval(sensors_every)),
        }
    }

    pub const fn settled(&self) -> Recorder {
        Recorder { interval: self.interval.value.0, sensors_every: self.sensors_every.value.0 }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("interval", &mut self.interval);
        keys.key("sensors_every", &mut self.sensors_every);
    }
}
