//! How busy a card was since the last look, from the driver's sample buffer.

use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::raw::{self, Gpu, Sample};
use crate::card::{Basis, Utilization};
use crate::reading::{Reading, Why};
use crate::units::Percent;

/// How far back a first look averages. Long enough to bridge the pauses of a data
/// loader, short enough to be called now.
pub(super) const FIRST_LOOK: Duration = Duration::from_secs(5);

/// What a card remembers about its samples.
#[derive(Debug, Default)]
pub(super) struct SampleReader {
    /// The timestamp of the newest sample taken, in the driver's own clock.
    newest: Option<u64>,
    capacity: Option<usize>,
    unsupported: bool,
    /// Whether the buffer answered at the last look, be it with nothing new.
    answered: bool,
}

impl SampleReader {
    /// The driver's time of its newest sample, when it told at the last look.
    pub fn newest(&self) -> Option<u64> {
        self.newest.filter(|_| self.answered)
    }

    /// The mean since the last look, or the instant value where there is no buffer.
    pub fn read(&mut self, nvml: &Nvml, gpu: Gpu) -> Reading<Utilization> {
        if self.unsupported {
            return instant(nvml, gpu);
        }
        let mean = self.mean(nvml, gpu).map_err(Why::from);
        self.answered = mean.is_ok();
        match mean {
            Ok(Some(mean)) => Reading::Known(mean),
            Err(why) if why.concerns_the_whole_card() => Reading::Unknown(why),
            Ok(None) => instant(nvml, gpu),
            Err(why) => {
                self.unsupported = why == Why::NotSupported;
                instant(nvml, gpu)
            }
        }
    }

    fn mean(&mut self, nvml: &Nvml, gpu: Gpu) -> Result<Option<Utilization>, NvmlError> {
        let capacity = match self.capacity {
            Some(capacity) => capacity,
            None => *self.capacity.insert(raw::sample_capacity(nvml, gpu)?),
        };
        if capacity == 0 {
            return Err(NvmlError::NotSupported);
        }
        let samples = match raw::samples(nvml, gpu, self.newest.unwrap_or(0), capacity) {
            Ok(samples) => samples,
            // Nothing new since the last look: looks follow each other too closely.
            Err(NvmlError::NotFound | NvmlError::NoData) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(mean) = mean_since(&samples, self.newest) else {
            return Ok(None);
        };
        self.newest = samples.iter().map(|sample| sample.micros).max().or(self.newest);
        Ok(Some(mean))
    }
}

fn instant(nvml: &Nvml, gpu: Gpu) -> Reading<Utilization> {
    Reading::from(gpu.on(nvml).utilization_rates()).map(|rates| Utilization {
        percent: Percent(f64::from(rates.gpu.min(100))),
        basis: Basis::Instant,
    })
}

/// The mean of the samples after `since`, or of the last few seconds on a first look.
/// Values above 100 are garbage and do not count.
fn mean_since(samples: &[Sample], since: Option<u64>) -> Option<Utilization> {
    let newest = samples.iter().map(|sample| sample.micros).max()?;
    let first_look = u64::try_from(FIRST_LOOK.as_micros()).unwrap_or(u64::MAX);
    let after = since.unwrap_or(newest.saturating_sub(first_look));
    let fresh = || samples.iter().filter(|s| s.micros > after && s.percent <= 100);
    let count = u32::try_from(fresh().count()).ok().filter(|count| *count > 0)?;
    let sum: f64 = fresh().map(|sample| f64::from(sample.percent)).sum();
    let oldest = fresh().map(|sample| sample.micros).min()?;
    Some(Utilization {
        percent: Percent(sum / f64::from(count)),
        basis: Basis::Samples { count, covers: covered(oldest, newest, after, count) },
    })
}

/// Each sample stands for the period before it. A buffer that ran over since the last
/// look covers less than the time since then.
fn covered(oldest: u64, newest: u64, after: u64, count: u32) -> Duration {
    let span = newest - oldest;
    let period = if count > 1 { span / u64::from(count - 1) } else { oldest - after };
    Duration::from_micros((span + period).min(newest - after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[(u64, u32)]) -> Vec<Sample> {
        values
            .iter()
            .map(|(second, percent)| Sample { micros: second * 1_000_000, percent: *percent })
            .collect()
    }

    fn mean(values: &[(u64, u32)], since: Option<u64>) -> Option<(f64, u32, u64)> {
        let found = mean_since(&samples(values), since.map(|second| second * 1_000_000))?;
        let Basis::Samples { count, covers } = found.basis else { panic!("not from samples") };
        Some((found.percent.0, count, covers.as_secs()))
    }

    #[test]
    fn the_mean_is_over_what_is_new() {
        assert_eq!(mean(&[(1, 100), (2, 0), (3, 50), (4, 70)], Some(2)), Some((60.0, 2, 2)));
        assert_eq!(mean(&[(4, 70)], Some(3)), Some((70.0, 1, 1)));
        assert_eq!(mean(&[(4, 70)], Some(4)), None);
    }

    #[test]
    fn a_first_look_goes_back_a_few_seconds_only() {
        let values: Vec<_> = (1..=20).map(|s| (s, if s > 15 { 80 } else { 0 })).collect();
        assert_eq!(mean(&values, None), Some((80.0, 5, 5)));
        assert_eq!(mean(&[], None), None);
    }

    #[test]
    fn a_buffer_that_ran_over_says_so() {
        let values: Vec<_> = (21..=30).map(|s| (s, 10)).collect();
        assert_eq!(mean(&values, Some(0)), Some((10.0, 10, 10)));
    }

    /// Trap: the buffer can hold garbage.
    #[test]
    fn values_over_a_hundred_do_not_count() {
        assert_eq!(mean(&[(1, 40), (2, 4_000_000), (3, 60)], Some(0)), Some((50.0, 2, 3)));
        assert_eq!(mean(&[(2, 101)], Some(0)), None);
    }
}
