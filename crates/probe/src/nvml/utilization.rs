//! How busy a card was since the last look, from the driver's sample buffer.

use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::error::reading;
use super::gathered::{Gathered, micros};
use super::raw::{Gpu, ListError, SampleBuffer};
use crate::card::{Basis, Samples, Utilization};
use crate::clocks::Clocks;
use crate::reading::{Reading, Why};
use crate::units::Percent;

/// What a card remembers about its samples.
#[derive(Debug, Default)]
pub(super) struct SampleReader {
    gathered: Gathered,
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
        let newest_sample = self.gathered.newest()?;
        let elapsed = now.since_boot.saturating_sub(self.newest_since?);
        Some(CardTime { newest_sample, now: newest_sample.saturating_add(micros(elapsed)) })
    }

    /// Whether there is a buffer, as far as a look has found out.
    pub const fn has_buffer(&self) -> bool {
        self.buffer.is_some()
    }

    /// How far back the buffer reaches, once two samples have shown how far they are apart.
    pub fn buffer_length(&self) -> Option<Duration> {
        let room = u32::try_from(self.buffer.as_ref()?.room()).unwrap_or(u32::MAX);
        Some(self.gathered.period()?.saturating_mul(room))
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
        // Also where the card errs now: the next look is to tell of the time since this one.
        let (mean, samples) = self.gathered.hand_out(now);
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

    /// Takes what is in the buffer before it runs over. An error is left for the look to meet.
    pub fn drain(&mut self, nvml: &Nvml, gpu: Gpu, now: &Clocks) {
        let _ = self.gather(nvml, gpu, now);
    }

    /// Forgets the times of the samples, after the clock was set.
    pub fn forget_times(&mut self) {
        self.gathered.forget_times();
    }

    fn find_buffer(&mut self, nvml: &Nvml, gpu: Gpu) -> Result<(), NvmlError> {
        if self.buffer.is_none() {
            self.buffer = Some(SampleBuffer::of(nvml, gpu)?);
        }
        Ok(())
    }

    fn gather(&mut self, nvml: &Nvml, gpu: Gpu, now: &Clocks) -> Result<(), Why> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        let (room, newest) = (buffer.room(), self.gathered.newest());
        let answer = match buffer.read(nvml, gpu) {
            Ok(samples) => {
                let is_full = samples.len() == room;
                self.gathered.add(samples, is_full, now);
                Ok(())
            }
            Err(error) => dry_or(error),
        };
        if answer.is_err() {
            self.newest_since = None;
        } else if self.gathered.newest() != newest {
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
