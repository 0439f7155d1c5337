//! How busy a MIG instance was since the last look, from hardware counters.
//!
//! The driver gives no utilization for an instance. Cards from Hopper on count in
//! hardware (GPM); two readings of those counters make a mean.

use std::sync::Arc;
use std::time::Instant;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::error::reason;
use super::raw::{CounterSample, Gpu};
use crate::card::{Basis, Utilization};
use crate::reading::{Reading, Why};
use crate::units::Percent;

/// The counters of one instance.
#[derive(Debug)]
pub(super) struct CounterReader {
    card: Gpu,
    instance: u32,
    last: Option<(CounterSample, Instant)>,
    unsupported: bool,
}

impl CounterReader {
    pub const fn new(card: Gpu, instance: u32) -> Self {
        Self { card, instance, last: None, unsupported: false }
    }

    /// The mean since the last look; the first look has nothing to compare with.
    pub fn read(&mut self, nvml: &Arc<Nvml>) -> Reading<Utilization> {
        if self.unsupported {
            return Reading::Unknown(Why::NotSupported);
        }
        let reading = match self.since_last(nvml) {
            Ok(Some(mean)) => Reading::Known(mean),
            Ok(None) => Reading::Unknown(Why::FirstLook),
            Err(error) => Reading::Unknown(reason(error)),
        };
        self.unsupported = reading.why() == Some(Why::NotSupported);
        reading
    }

    fn since_last(&mut self, nvml: &Arc<Nvml>) -> Result<Option<Utilization>, NvmlError> {
        let sample = CounterSample::take(nvml, self.card, self.instance)?;
        let now = Instant::now();
        let mean = match &self.last {
            Some((earlier, then)) => Some(Utilization {
                percent: Percent(sample.sm_percent_since(earlier)?.clamp(0.0, 100.0)),
                basis: Basis::Counters { covers: now - *then },
            }),
            None => None,
        };
        self.last = Some((sample, now));
        Ok(mean)
    }
}
