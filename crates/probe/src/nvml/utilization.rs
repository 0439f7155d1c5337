//! Utilization of a card since the last look: from the driver's sample buffer, or from hardware counters.
//!
//! The driver returns no utilization for a MIG instance. Cards from Hopper on have counters (GPM); two
//! readings of them make a mean.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::card_samples::{CardSamples, micros};
use super::error::{reading, reason};
use super::raw::{CounterSample, Gpu, ListError, SampleBuffer};
use crate::card::{Basis, Samples, Utilization};
use crate::clocks::Clocks;
use crate::reading::{Reading, Why};
use crate::units::Percent;

/// Source of a card's utilization.
#[derive(Debug)]
pub(super) enum UtilizationReader {
    Samples(SampleReader),
    Counters(CounterReader),
}

impl UtilizationReader {
    /// Reads the utilization since the last look, and the samples that it is based on.
    pub fn read(
        &mut self,
        nvml: &Arc<Nvml>,
        gpu: Gpu,
        now: &Clocks,
    ) -> (Reading<Utilization>, Reading<Samples>) {
        match self {
            Self::Samples(samples) => samples.read(nvml, gpu, now),
            Self::Counters(counters) => (counters.read(nvml), Reading::Unknown(Why::NotSupported)),
        }
    }

    /// Returns the reader of samples; `None` for counters.
    pub const fn samples(&self) -> Option<&SampleReader> {
        match self {
            Self::Samples(samples) => Some(samples),
            Self::Counters(_) => None,
        }
    }

    /// Returns the reader of samples; `None` for counters.
    pub const fn samples_mut(&mut self) -> Option<&mut SampleReader> {
        match self {
            Self::Samples(samples) => Some(samples),
            Self::Counters(_) => None,
        }
    }
}

/// Reader of a card's sample buffer.
#[derive(Debug, Default)]
pub(super) struct SampleReader {
    samples: CardSamples,
    /// `None` before the first look, and where the driver keeps no samples.
    buffer: Option<SampleBuffer>,
    unsupported: bool,
    /// Time since boot at which the newest sample was first read; `None` after an error.
    newest_since: Option<Duration>,
}

/// Time on the driver's clock, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CardTime {
    /// Time stamp of the card's newest sample.
    pub newest_sample: u64,
    /// That time, and what has passed since the sample was first read: a buffer that gets no samples
    /// does not stop the clock.
    pub now: u64,
}

impl SampleReader {
    /// Returns the time on the driver's clock, where samples have shown it.
    pub fn time(&self, now: &Clocks) -> Option<CardTime> {
        let newest_sample = self.samples.newest()?;
        let elapsed = now.since_boot.saturating_sub(self.newest_since?);
        Some(CardTime { newest_sample, now: newest_sample.saturating_add(micros(elapsed)) })
    }

    /// Returns true if a look has found a buffer.
    pub const fn has_buffer(&self) -> bool {
        self.buffer.is_some()
    }

    /// Returns how far back the buffer reaches, once two samples have shown their distance.
    pub fn buffer_length(&self) -> Option<Duration> {
        let room = u32::try_from(self.buffer.as_ref()?.room()).unwrap_or(u32::MAX);
        Some(self.samples.period()?.saturating_mul(room))
    }

    /// Returns the mean since the last look, or the instant value where there are no new samples,
    /// and the samples themselves.
    pub fn read(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
        now: &Clocks,
    ) -> (Reading<Utilization>, Reading<Samples>) {
        if self.unsupported {
            return (instant(nvml, gpu), Reading::Unknown(Why::NotSupported));
        }
        let answer = match self.find_buffer(nvml, gpu) {
            Ok(()) => self.gather(nvml, gpu, now),
            Err(error) => dry_or(error.into()),
        };
        // Also after an error: the next look is about the time since this one.
        let (mean, samples) = self.samples.take(now);
        let samples = Reading::from(answer.map(|()| samples));
        match samples.why() {
            Some(why) if why.concerns_the_whole_card() => {
                return (Reading::Unknown(why), Reading::Unknown(why));
            }
            Some(Why::NotSupported) => {
                self.unsupported = true;
                self.buffer = None;
            }
            _ => {}
        }
        (mean.map_or_else(|| instant(nvml, gpu), Reading::Known), samples)
    }

    /// Reads the buffer before it overflows. The next look reports an error.
    pub fn drain(&mut self, nvml: &Nvml, gpu: Gpu, now: &Clocks) {
        let _ = self.gather(nvml, gpu, now);
    }

    /// Forgets the times of the samples, after the clock was set.
    pub fn forget_times(&mut self) {
        self.samples.forget_times();
    }

    fn find_buffer(&mut self, nvml: &Nvml, gpu: Gpu) -> Result<(), NvmlError> {
        if self.buffer.is_none() {
            self.buffer = Some(SampleBuffer::of(nvml, gpu)?);
        }
        Ok(())
    }

    fn gather(&mut self, nvml: &Nvml, gpu: Gpu, now: &Clocks) -> Result<(), Why> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        let (room, newest) = (buffer.room(), self.samples.newest());
        let answer = match buffer.read(nvml, gpu) {
            Ok(samples) => {
                let is_full = samples.len() == room;
                self.samples.add(samples, is_full, now);
                Ok(())
            }
            Err(error) => dry_or(error),
        };
        if answer.is_err() {
            self.newest_since = None;
        } else if self.samples.newest() != newest {
            self.newest_since = Some(now.since_boot);
        }
        answer
    }
}

/// Returns the reason for an error. There is none where the buffer is empty: then the card has been
/// idle for a long time.
fn dry_or(error: ListError) -> Result<(), Why> {
    match error {
        ListError::Driver(NvmlError::NotFound | NvmlError::NoData) => Ok(()),
        error => Err(error.into()),
    }
}

fn instant(nvml: &Nvml, gpu: Gpu) -> Reading<Utilization> {
    reading(gpu.on(nvml).utilization_rates()).map(|rates| Utilization {
        percent: Percent(f64::from(rates.gpu.min(100))),
        basis: Basis::Instant,
    })
}

/// Reader of the counters of one instance.
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

    /// Returns the mean since the last look; unknown at the first look.
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
