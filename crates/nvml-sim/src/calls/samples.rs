//! The driver's ring buffers: what a card did over the last samples.

use std::ffi::{c_uint, c_ulonglong};

use scenario::model::StraySample;
use scenario::state::Place;
use scenario::{Card, Moment, Scenario};

use crate::abi::constants as nvml;
use crate::abi::structs::{Sample, Value};
use crate::abi::{Answer, Code};
use crate::calls::clocks::mhz_at;
use crate::calls::utilization::sampled;
use crate::gate::Device;
use crate::pointer::Out;
use crate::reported::whole;

/// A quantity that the driver keeps samples of.
#[derive(Debug, Clone, Copy)]
enum Kept {
    Power,
    Gpu,
    Memory,
    Encoder,
    Decoder,
    SmClock,
    MemoryClock,
}

device_calls! {
    fn nvmlDeviceGetSamples(
        device,
        kind: c_uint,
        last_seen: c_ulonglong,
        value_type: Out<c_uint>,
        count: Out<c_uint>,
        samples: Out<Sample>,
    ) {
        let room = count.get()?;
        if !samples.is_null() && room == 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let (kept, card) = kept(device, kind)?;
        let capacity = device.call.scenario().samples.capacity;
        if capacity == 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        value_type.put(nvml::VALUE_TYPE_UNSIGNED_INT)?;
        if samples.is_null() {
            return count.put(capacity);
        }
        // The oldest first where they do not all fit: the caller comes back for the
        // rest with the last time stamp it saw, and so misses none.
        let moments = newer(device, kept, last_seen);
        // A stray sample takes the place of the oldest.
        let strays: Vec<_> = stray(device, kept, last_seen).collect();
        let full = (moments.len() + strays.len()).saturating_sub(capacity as usize);
        let found: Vec<Sample> = moments
            .into_iter()
            .skip(full)
            .map(|at| Sample {
                time_stamp: device.call.sample_stamp(at),
                sample_value: Value(whole(kept.at(device.call.scenario(), card, at)).into()),
            })
            .chain(strays)
            .take(room as usize)
            .collect();
        if found.is_empty() {
            return Err(Code::NOT_FOUND);
        }
        count.put(c_uint::try_from(found.len()).unwrap_or(c_uint::MAX))?;
        samples.fill_longer(&found, device.call.flaws.extra_bytes)
    }
}

fn kept<'a>(device: &Device<'a>, kind: c_uint) -> Answer<(Kept, &'a Card)> {
    let kept = match kind {
        nvml::TOTAL_POWER_SAMPLES => Kept::Power,
        nvml::GPU_UTILIZATION_SAMPLES => Kept::Gpu,
        nvml::MEMORY_UTILIZATION_SAMPLES => Kept::Memory,
        nvml::ENC_UTILIZATION_SAMPLES => Kept::Encoder,
        nvml::DEC_UTILIZATION_SAMPLES => Kept::Decoder,
        nvml::PROCESSOR_CLK_SAMPLES => Kept::SmClock,
        nvml::MEMORY_CLK_SAMPLES => Kept::MemoryClock,
        7..=9 => return Err(Code::NOT_SUPPORTED),
        _ => return Err(Code::INVALID_ARGUMENT),
    };
    let card = match kept {
        Kept::Power | Kept::SmClock | Kept::MemoryClock => device.whole_card(),
        Kept::Gpu | Kept::Memory | Kept::Encoder | Kept::Decoder => device.undivided_card(),
    };
    Ok((kept, card?))
}

/// The moments of the samples that are newer than what the caller saw, oldest first.
fn newer(device: &Device<'_>, kept: Kept, last_seen: u64) -> Vec<Moment> {
    let (call, card) = (&device.call, device.card());
    let (scenario, seen) = (call.scenario(), call.moment_of_stamp(last_seen));
    let moments = scenario.samples_at(card, call.at).filter(|at| *at > seen);
    moments.filter(|at| !kept.is_utilization() || !scenario.is_dry(card, *at)).collect()
}

/// Returns the card's stray samples, which a correct driver would not return.
fn stray(device: &Device<'_>, kept: Kept, last_seen: u64) -> impl Iterator<Item = Sample> {
    let (call, index) = (&device.call, device.card().index);
    let of_card = call.scenario().stray_samples.iter().filter(move |stray| {
        matches!(kept, Kept::Gpu) && stray.card == index && stray.pid.is_none()
    });
    let sample = |stray: &StraySample| Sample {
        time_stamp: call.sample_stamp(call.at - stray.age + stray.ahead),
        sample_value: Value(stray.sm.into()),
    };
    of_card.map(sample).filter(move |sample| sample.time_stamp > last_seen)
}

impl Kept {
    /// Returns true for the buffers that run dry on an idle card: power and clocks are still read.
    const fn is_utilization(self) -> bool {
        matches!(self, Self::Gpu | Self::Memory | Self::Encoder | Self::Decoder)
    }

    /// In the unit that NVML gives it: percent, milliwatts or MHz.
    fn at(self, scenario: &Scenario, card: &Card, at: Moment) -> f64 {
        match self {
            Self::Power => scenario.watts_at(card, at) * 1000.0,
            Self::Gpu => scenario.sampled_utilization(Place::card(card), at),
            Self::Memory => sampled(scenario, card, &card.memory_utilization, at),
            Self::Encoder => sampled(scenario, card, &card.encoder, at),
            Self::Decoder => sampled(scenario, card, &card.decoder, at),
            Self::SmClock => mhz_at(scenario, card, card.sm_clock, at),
            Self::MemoryClock => mhz_at(scenario, card, card.memory_clock, at),
        }
    }
}
