//! One card with a live handle: what it remembers between looks, and how it is read.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gua_core::poll::ProcessPoll;
use nvml_wrapper::enum_wrappers::device::{self, Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::accounts;
use super::counters::CounterReader;
use super::error::reading;
use super::holders::HolderReader;
use super::memory::MemoryReader;
use super::raw::{Gpu, Version};
use super::unit::Wants;
use super::utilization::{CardTime, SampleReader};
use crate::account::CardAccounts;
use crate::card::{
    Basis, CardFacts, CardLook, ComputeMode, GpuEnergy, PerformanceState, Samples, Setup,
    Utilization, Vitals,
};
use crate::clocks::{self, Clocks};
use crate::proc::meminfo;
use crate::reading::{Reading, Why};
use crate::units::{Celsius, Megahertz, Millijoules, Milliwatts, Percent};

/// A card and its memory of earlier looks.
#[derive(Debug)]
pub(super) struct Attached {
    facts: Arc<CardFacts>,
    gpu: Gpu,
    source: Source,
    memory: MemoryReader,
    holders: HolderReader,
    lacks: Lacks,
    /// The host's clocks when its samples were last read.
    read_at: Option<Clocks>,
}

/// A card's utilization, and the samples that it rests on.
type Work = (Reading<Utilization>, Reading<Samples>);

/// Where a card's utilization comes from.
#[derive(Debug)]
enum Source {
    Samples(SampleReader),
    Counters(CounterReader),
}

/// The quantities that a card has said it does not support. They are not asked for again.
#[derive(Debug, Default)]
pub(super) struct Lacks(u16);

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

impl Attached {
    /// A whole GPU.
    pub fn gpu(facts: CardFacts, gpu: Gpu, lists: Version) -> Self {
        let holders = HolderReader::new(false, lists);
        Self::new(facts, gpu, Source::Samples(SampleReader::default()), holders)
    }

    /// A MIG instance of `card`.
    pub fn instance(facts: CardFacts, gpu: Gpu, card: Gpu, id: u32, lists: Version) -> Self {
        let holders = HolderReader::new(true, lists);
        Self::new(facts, gpu, Source::Counters(CounterReader::new(card, id)), holders)
    }

    fn new(facts: CardFacts, gpu: Gpu, source: Source, holders: HolderReader) -> Self {
        Self {
            facts: Arc::new(facts),
            gpu,
            source,
            memory: MemoryReader::default(),
            holders,
            lacks: Lacks::default(),
            read_at: None,
        }
    }

    /// Whether it is the same card under the same handle.
    pub fn is_same(&self, other: &Self) -> bool {
        self.gpu == other.gpu && self.facts == other.facts
    }

    pub const fn facts(&self) -> &Arc<CardFacts> {
        &self.facts
    }

    /// Everything that is wanted of this card now.
    pub fn look(&mut self, nvml: &Arc<Nvml>, wants: Wants, host_root: &Path) -> CardLook {
        let now = self.read_clocks();
        let (utilization, samples) = self.utilization(nvml, &now);
        let vitals = match utilization.why() {
            // Do not ask a dozen times.
            Some(why) if why.concerns_the_whole_card() => Vitals::unknown(why),
            _ => self.vitals(nvml, wants, host_root, &now, (utilization, samples)),
        };
        let vitals = match vitals.trouble() {
            Some(why) if why.concerns_the_whole_card() => Vitals::unknown(why),
            _ => vitals,
        };
        CardLook { facts: Arc::clone(&self.facts), vitals }
    }

    /// What the driver keeps account of, of these processes.
    pub fn accounts(&self, nvml: &Nvml, pids: &[u32]) -> CardAccounts {
        let accounts = accounts::read(nvml, self.gpu, pids);
        CardAccounts { facts: Arc::clone(&self.facts), accounts }
    }

    /// Takes what its sample buffers hold. Hardware counters go on counting by themselves.
    pub fn drain(&mut self, nvml: &Nvml) {
        let now = self.read_clocks();
        match &mut self.source {
            Source::Samples(samples) => {
                samples.drain(nvml, self.gpu, &now);
                self.holders.drain(nvml, self.gpu, &now, samples.time(&now));
            }
            Source::Counters(_) => {}
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
            if let Source::Samples(samples) = &mut self.source {
                samples.forget_times();
            }
            self.holders.forget_times();
        }
        now
    }

    pub const fn keeps_samples(&self) -> bool {
        matches!(&self.source, Source::Samples(samples) if samples.has_buffer())
    }

    /// How far back its sample buffer reaches.
    pub fn buffer_length(&self) -> Option<Duration> {
        match &self.source {
            Source::Samples(samples) => samples.buffer_length(),
            Source::Counters(_) => None,
        }
    }

    fn utilization(&mut self, nvml: &Arc<Nvml>, now: &Clocks) -> Work {
        match &mut self.source {
            Source::Samples(samples) => samples.read(nvml, self.gpu, now),
            Source::Counters(counters) => {
                (counters.read(nvml), Reading::Unknown(Why::NotSupported))
            }
        }
    }

    /// Returns the time on the driver's clock, where samples have shown it.
    fn card_time(&self, now: &Clocks) -> Option<CardTime> {
        match &self.source {
            Source::Samples(samples) => samples.time(now),
            Source::Counters(_) => None,
        }
    }

    fn vitals(
        &mut self,
        nvml: &Arc<Nvml>,
        wants: Wants,
        host_root: &Path,
        now: &Clocks,
        (utilization, samples): Work,
    ) -> Vitals {
        let shares = wants.shares && (wants.idle_shares || !is_idle(&utilization, &samples));
        let wants = Wants { shares, ..wants };
        let card_time = self.card_time(now);
        let (holders, process_samples) = self.holders.read(nvml, self.gpu, wants, now, card_time);
        let host_memory = || meminfo::of_host(host_root);
        let device = self.gpu.on(nvml);
        let mut ask = Ask { device: &device, lacks: &mut self.lacks };
        Vitals {
            utilization,
            samples,
            process_samples,
            memory: self.memory.read(nvml, self.gpu, host_memory),
            holders,
            power: ask.power(wants.power),
            energy: ask.energy(wants.energy),
            gpu_energy: GpuEnergy::unknown(Why::NotAsked),
            temperature: ask
                .when(wants.temperature, Quantity::Temperature, |d| {
                    d.temperature(TemperatureSensor::Gpu)
                })
                .map(Celsius),
            sm_clock: ask
                .when(wants.clocks, Quantity::SmClock, |d| d.clock_info(Clock::SM))
                .map(Megahertz),
            memory_clock: ask
                .when(wants.clocks, Quantity::MemoryClock, |d| d.clock_info(Clock::Memory))
                .map(Megahertz),
            encoder: ask
                .when(wants.codecs, Quantity::Encoder, Device::encoder_utilization)
                .map(|encoder| Percent(f64::from(encoder.utilization))),
            decoder: ask
                .when(wants.codecs, Quantity::Decoder, Device::decoder_utilization)
                .map(|decoder| Percent(f64::from(decoder.utilization))),
            fan: ask
                .when(wants.fan, Quantity::Fan, |d| d.fan_speed(0))
                .map(|percent| Percent(f64::from(percent))),
            memory_work: ask
                .when(wants.memory_work, Quantity::MemoryWork, Device::utilization_rates)
                .map(|rates| Percent(f64::from(rates.memory.min(100)))),
            performance: ask.performance(wants),
            setup: ask.setup(wants, self.facts.instance.is_some()),
        }
    }
}

/// Returns true if nobody works on the card: it keeps samples, has no new ones, and is idle now.
fn is_idle(utilization: &Reading<Utilization>, samples: &Reading<Samples>) -> bool {
    let rests = |it: Utilization| it.basis == Basis::Instant && it.percent.0 == 0.0;
    samples.why().is_none() && utilization.is_known_and(rests)
}

/// Reads the energy of a GPU that is partitioned into MIG instances: the driver gives none for them.
pub(super) fn gpu_energy(nvml: &Nvml, gpu: Gpu, lacks: &mut Lacks, wants: Wants) -> GpuEnergy {
    let device = gpu.on(nvml);
    let mut ask = Ask { device: &device, lacks };
    GpuEnergy { counter: ask.energy(wants.energy), power: ask.power(wants.power) }
}

/// Asks a card for single quantities, those that it has.
struct Ask<'a, 'nvml> {
    device: &'a Device<'nvml>,
    lacks: &'a mut Lacks,
}

impl<'nvml> Ask<'_, 'nvml> {
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
        if self.lacks.0 & bit != 0 {
            return Reading::Unknown(Why::NotSupported);
        }
        let reading = reading(call(self.device));
        if reading.why() == Some(Why::NotSupported) {
            self.lacks.0 |= bit;
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
                // The driver's own word for unknown is 32.
                _ => Reading::Unknown(Why::NotTold),
            },
            Reading::Unknown(why) => Reading::Unknown(why),
        }
    }

    fn setup(&mut self, wants: Wants, is_instance: bool) -> Setup {
        let mig = match is_instance {
            // Its card could not have been divided otherwise.
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
