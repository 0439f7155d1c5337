//! Reads one card, and keeps what the next look needs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gua_core::poll::ProcessPoll;
use nvml_wrapper::enum_wrappers::device::{self, Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::accounts::{self, CardAccounts};
use super::error::reading;
use super::holders::HolderReader;
use super::memory::MemoryReader;
use super::options::Wants;
use super::raw::{Gpu, Version};
use super::utilization::{CardTime, CounterReader, SampleReader, UtilizationReader};
use crate::card::{
    Basis, CardFacts, CardLook, ComputeMode, GpuEnergy, PerformanceState, Samples, Setup,
    Utilization, Vitals,
};
use crate::clocks::{self, Clocks};
use crate::proc::meminfo;
use crate::reading::{Reading, Why};
use crate::units::{Celsius, Megahertz, Millijoules, Milliwatts, Percent};

/// A card with its handle, and what is kept from look to look.
#[derive(Debug)]
pub(super) struct CardReader {
    facts: Arc<CardFacts>,
    gpu: Gpu,
    utilization: UtilizationReader,
    memory: MemoryReader,
    holders: HolderReader,
    unsupported: Unsupported,
    /// The host's clocks when the card's samples were last read.
    read_at: Option<Clocks>,
}

/// Quantities that a card does not support, as bits. They are not asked for again.
#[derive(Debug, Default)]
pub(super) struct Unsupported(u16);

#[derive(Debug, Clone, Copy)]
enum Quantity {
    Power,
    Energy,
    Temperature,
    SmClock,
    MemoryClock,
    Encoder,
    Decoder,
    Fan,
    MemoryWork,
    Performance,
    ComputeMode,
    Persistence,
    Mig,
    SetPowerLimit,
}

impl CardReader {
    /// Returns a reader of a whole GPU.
    pub fn gpu(facts: CardFacts, gpu: Gpu, lists: Version) -> Self {
        let holders = HolderReader::new(false, lists);
        Self::new(facts, gpu, UtilizationReader::Samples(SampleReader::default()), holders)
    }

    /// Returns a reader of a MIG instance of `card`.
    pub fn instance(facts: CardFacts, gpu: Gpu, card: Gpu, id: u32, lists: Version) -> Self {
        let holders = HolderReader::new(true, lists);
        Self::new(facts, gpu, UtilizationReader::Counters(CounterReader::new(card, id)), holders)
    }

    fn new(
        facts: CardFacts,
        gpu: Gpu,
        utilization: UtilizationReader,
        holders: HolderReader,
    ) -> Self {
        Self {
            facts: Arc::new(facts),
            gpu,
            utilization,
            memory: MemoryReader::default(),
            holders,
            unsupported: Unsupported::default(),
            read_at: None,
        }
    }

    /// Returns true if both are the same card with the same handle.
    pub fn is_same(&self, other: &Self) -> bool {
        self.gpu == other.gpu && self.facts == other.facts
    }

    pub const fn facts(&self) -> &Arc<CardFacts> {
        &self.facts
    }

    /// Reads everything that is wanted of this card.
    pub fn look(&mut self, nvml: &Arc<Nvml>, wants: Wants, host_root: &Path) -> CardLook {
        let now = self.read_clocks();
        let (utilization, samples) = self.utilization.read(nvml, self.gpu, &now);
        let vitals = match utilization.why() {
            // Saves a dozen calls that would fail.
            Some(why) if why.concerns_the_whole_card() => Vitals::unknown(why),
            _ => self.vitals(nvml, wants, host_root, &now, (utilization, samples)),
        };
        let vitals = match vitals.trouble() {
            Some(why) if why.concerns_the_whole_card() => Vitals::unknown(why),
            _ => vitals,
        };
        CardLook { facts: Arc::clone(&self.facts), vitals }
    }

    /// Reads the driver's accounts of these processes.
    pub fn accounts(&self, nvml: &Nvml, pids: &[u32]) -> CardAccounts {
        let accounts = accounts::read(nvml, self.gpu, pids);
        CardAccounts { facts: Arc::clone(&self.facts), accounts }
    }

    /// Reads the sample buffers for the next look. Hardware counters need no reading.
    pub fn drain(&mut self, nvml: &Nvml) {
        let now = self.read_clocks();
        if let Some(samples) = self.utilization.samples_mut() {
            samples.drain(nvml, self.gpu, &now);
            self.holders.drain(nvml, self.gpu, &now, samples.time(&now));
        }
    }

    /// Reads the process samples since the last look or the last call.
    pub fn process_samples(&mut self, nvml: &Nvml) -> ProcessPoll {
        let clocks = self.read_clocks();
        let card_time = self.card_time(&clocks);
        let samples = self.holders.process_samples(nvml, self.gpu, &clocks, card_time);
        ProcessPoll { clocks, card: Arc::clone(&self.facts), samples }
    }

    /// Reads the host's clocks. If the wall clock was set, forgets the times of the samples read
    /// before.
    fn read_clocks(&mut self) -> Clocks {
        let now = clocks::now();
        if self.read_at.replace(now).is_some_and(|before| now.was_set_since(&before)) {
            if let Some(samples) = self.utilization.samples_mut() {
                samples.forget_times();
            }
            self.holders.forget_times();
        }
        now
    }

    /// Returns true if the card is known to have a sample buffer.
    pub fn has_samples(&self) -> bool {
        self.utilization.samples().is_some_and(SampleReader::has_buffer)
    }

    /// Returns how far back the sample buffer reaches.
    pub fn buffer_length(&self) -> Option<Duration> {
        self.utilization.samples()?.buffer_length()
    }

    /// Returns the time on the driver's clock, where samples have shown it.
    fn card_time(&self, now: &Clocks) -> Option<CardTime> {
        self.utilization.samples()?.time(now)
    }

    fn vitals(
        &mut self,
        nvml: &Arc<Nvml>,
        wants: Wants,
        host_root: &Path,
        now: &Clocks,
        (utilization, samples): (Reading<Utilization>, Reading<Samples>),
    ) -> Vitals {
        let shares = wants.shares && (wants.idle_shares || !is_idle(&utilization, &samples));
        let wants = Wants { shares, ..wants };
        let card_time = self.card_time(now);
        let (holders, process_samples) = self.holders.read(nvml, self.gpu, wants, now, card_time);
        let host_memory = || meminfo::of_host(host_root);
        let device = self.gpu.on(nvml);
        let mut read = Quantities { device: &device, unsupported: &mut self.unsupported };
        Vitals {
            utilization,
            samples,
            process_samples,
            memory: self.memory.read(nvml, self.gpu, host_memory),
            holders,
            power: read.power(wants.power),
            energy: read.energy(wants.energy),
            gpu_energy: GpuEnergy::unknown(Why::NotAsked),
            temperature: read
                .when(wants.temperature, Quantity::Temperature, |d| {
                    d.temperature(TemperatureSensor::Gpu)
                })
                .map(Celsius),
            sm_clock: read
                .when(wants.clocks, Quantity::SmClock, |d| d.clock_info(Clock::SM))
                .map(Megahertz),
            memory_clock: read
                .when(wants.clocks, Quantity::MemoryClock, |d| d.clock_info(Clock::Memory))
                .map(Megahertz),
            encoder: read
                .when(wants.codecs, Quantity::Encoder, Device::encoder_utilization)
                .map(|encoder| Percent(f64::from(encoder.utilization))),
            decoder: read
                .when(wants.codecs, Quantity::Decoder, Device::decoder_utilization)
                .map(|decoder| Percent(f64::from(decoder.utilization))),
            fan: read
                .when(wants.fan, Quantity::Fan, |d| d.fan_speed(0))
                .map(|percent| Percent(f64::from(percent))),
            memory_work: read
                .when(wants.memory_work, Quantity::MemoryWork, Device::utilization_rates)
                .map(|rates| Percent(f64::from(rates.memory.min(100)))),
            performance: read.performance(wants),
            setup: read.setup(wants, self.facts.instance.is_some()),
        }
    }
}

/// Returns true if no process works on the card: it has a sample buffer without new samples, and is
/// idle now.
fn is_idle(utilization: &Reading<Utilization>, samples: &Reading<Samples>) -> bool {
    let is_zero = |it: Utilization| it.basis == Basis::Instant && it.percent.0 == 0.0;
    samples.why().is_none() && utilization.is_known_and(is_zero)
}

/// Reads the energy of a GPU that is partitioned into MIG instances: the driver gives none for them.
pub(super) fn gpu_energy(
    nvml: &Nvml,
    gpu: Gpu,
    unsupported: &mut Unsupported,
    wants: Wants,
) -> GpuEnergy {
    let device = gpu.on(nvml);
    let mut read = Quantities { device: &device, unsupported };
    GpuEnergy { counter: read.energy(wants.energy), power: read.power(wants.power) }
}

/// Reads single quantities of a card, except those that it does not support.
struct Quantities<'a, 'nvml> {
    device: &'a Device<'nvml>,
    unsupported: &'a mut Unsupported,
}

impl<'nvml> Quantities<'_, 'nvml> {
    fn when<T>(
        &mut self,
        wanted: bool,
        quantity: Quantity,
        call: impl FnOnce(&Device<'nvml>) -> Result<T, NvmlError>,
    ) -> Reading<T> {
        if !wanted {
            return Reading::Unknown(Why::NotAsked);
        }
        let bit = 1 << quantity as u16;
        if self.unsupported.0 & bit != 0 {
            return Reading::Unknown(Why::NotSupported);
        }
        let reading = reading(call(self.device));
        if reading.why() == Some(Why::NotSupported) {
            self.unsupported.0 |= bit;
        }
        reading
    }

    fn power(&mut self, wanted: bool) -> Reading<Milliwatts> {
        self.when(wanted, Quantity::Power, Device::power_usage).map(Milliwatts)
    }

    fn energy(&mut self, wanted: bool) -> Reading<Millijoules> {
        self.when(wanted, Quantity::Energy, Device::total_energy_consumption).map(Millijoules)
    }

    fn performance(&mut self, wants: Wants) -> Reading<PerformanceState> {
        let call = Device::performance_state;
        match self.when(wants.performance, Quantity::Performance, call) {
            Reading::Known(state) => match u8::try_from(state.as_c()) {
                Ok(state) if state <= 15 => Reading::Known(PerformanceState(state)),
                // The driver returns 32 if it is unknown.
                _ => Reading::Unknown(Why::NotTold),
            },
            Reading::Unknown(why) => Reading::Unknown(why),
        }
    }

    fn setup(&mut self, wants: Wants, is_instance: bool) -> Setup {
        let mig = match is_instance {
            // Only a GPU in MIG mode has instances.
            true => Reading::Known(true),
            false => {
                self.when(wants.mig, Quantity::Mig, Device::mig_mode).map(|mode| mode.current == 1)
            }
        };
        Setup {
            mig,
            compute_mode: self
                .when(wants.compute_mode, Quantity::ComputeMode, Device::compute_mode)
                .map(compute_mode),
            persistence: self.when(
                wants.persistence,
                Quantity::Persistence,
                Device::is_in_persistent_mode,
            ),
            power_limit: self
                .when(
                    wants.set_power_limit,
                    Quantity::SetPowerLimit,
                    Device::power_management_limit,
                )
                .map(Milliwatts),
        }
    }
}

const fn compute_mode(mode: device::ComputeMode) -> ComputeMode {
    match mode {
        device::ComputeMode::Default => ComputeMode::Default,
        device::ComputeMode::ExclusiveThread => ComputeMode::ExclusiveThread,
        device::ComputeMode::ExclusiveProcess => ComputeMode::ExclusiveProcess,
        device::ComputeMode::Prohibited => ComputeMode::Prohibited,
    }
}
