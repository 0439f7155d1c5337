//! How busy a card was since the last look, from the driver's sample buffer.

use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::error::reading;
use super::gathered::Gathered;
use super::raw::{Gpu, ListError, SampleBuffer};
use crate::card::{Basis, Utilization};
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
    /// Whether the buffer answered at the last look, be it with nothing new.
    answered: bool,
}

impl SampleReader {
    /// The driver's time of its newest sample, when it told at the last look.
    pub fn newest(&self) -> Option<u64> {
        self.gathered.newest().filter(|_| self.answered)
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

    /// The mean since the last look, or the instant value where there is no buffer.
    pub fn read(&mut self, nvml: &Nvml, gpu: Gpu, now: &Clocks) -> Reading<Utilization> {
        if self.unsupported {
            return instant(nvml, gpu);
        }
        let gathering = self.find_buffer(nvml, gpu).and_then(|()| self.gather(nvml, gpu, now));
        let gathering = gathering.map_err(Why::from);
        self.answered = gathering.is_ok();
        // Also where the card errs now: the next look is to tell of the time since this one.
        let mean = self.gathered.hand_out();
        match gathering {
            Err(why) if why.concerns_the_whole_card() => return Reading::Unknown(why),
            Err(Why::NotSupported) => {
                self.unsupported = true;
                self.buffer = None;
            }
            Ok(()) | Err(_) => {}
        }
        mean.map_or_else(|| instant(nvml, gpu), Reading::Known)
    }

    /// Takes what is in the buffer before it runs over. An error is left for the look to meet.
    pub fn drain(&mut self, nvml: &Nvml, gpu: Gpu, now: &Clocks) {
        let _ = self.gather(nvml, gpu, now);
    }

    /// Forgets the times of the samples, after the clock was set.
    pub fn forget_times(&mut self) {
        self.gathered.forget_times();
    }

    fn find_buffer(&mut self, nvml: &Nvml, gpu: Gpu) -> Result<(), ListError> {
        if self.buffer.is_none() {
            self.buffer = Some(SampleBuffer::of(nvml, gpu)?);
        }
        Ok(())
    }

    fn gather(&mut self, nvml: &Nvml, gpu: Gpu, now: &Clocks) -> Result<(), ListError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        match buffer.read(nvml, gpu) {
            Ok(samples) => self.gathered.add(samples, now),
            // The buffer is empty: the card has been idle for a long time.
            Err(ListError::Driver(NvmlError::NotFound | NvmlError::NoData)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn instant(nvml: &Nvml, gpu: Gpu) -> Reading<Utilization> {
    reading(gpu.on(nvml).utilization_rates()).map(|rates| Utilization {
        percent: Percent(f64::from(rates.gpu.min(100))),
        basis: Basis::Instant,
    })
}
