//! From what was measured to this shape (pure).

use probe::Reading;
use probe::units::{Bytes, Percent};

use super::{
    ComputeTime, CpuUtilization, Expected, GpuUtilization, MaxGpuRam, MaxRam, Percentages,
    ResourceUsage, RssValues, Unknown,
};
use crate::gpu_tracker::units::{RamUnit, Units};
use crate::parts::Parts;
use crate::sample::Ram;
use crate::usage::{CardUsage, GpuUsage, Load, Usage};

impl ResourceUsage {
    /// The measurement in these units.
    #[must_use]
    pub fn new(usage: &Usage, units: Units, expected: Expected) -> Self {
        let mut unknown = Vec::new();
        let max_ram = max_ram(usage, units.ram, &mut unknown);
        let cpu_utilization = cpu_utilization(usage, expected, &mut unknown);
        let (max_gpu_ram, gpu_utilization) = match &usage.gpu {
            Ok(gpu) => gpu_figures(gpu, units.gpu_ram, &mut unknown),
            Err(why) => {
                unknown.push(Unknown::Gpu(why.clone()));
                (MaxGpuRam::none(units.gpu_ram), GpuUtilization::none())
            }
        };
        let compute_time = ComputeTime { unit: units.time, time: units.time.of(usage.wall) };
        Self { max_ram, max_gpu_ram, cpu_utilization, gpu_utilization, compute_time, unknown }
    }
}

/// A value, or nothing with a note of it.
struct Known<'a>(&'a mut Vec<Unknown>);

impl Known<'_> {
    fn take<T>(&mut self, key: &'static str, reading: Reading<T>) -> Option<T> {
        match reading {
            Reading::Known(value) => Some(value),
            Reading::Unknown(why) => {
                let note = Unknown::Figure(key, why);
                if !self.0.contains(&note) {
                    self.0.push(note);
                }
                None
            }
        }
    }
}

fn max_ram(usage: &Usage, unit: RamUnit, unknown: &mut Vec<Unknown>) -> MaxRam {
    let mut known = Known(unknown);
    let mut bytes = |key, reading| known.take(key, reading).map(|bytes| unit.of(bytes));
    MaxRam {
        unit,
        system_capacity: bytes("system capacity of RAM", usage.machine.ram),
        system: bytes("system RAM", usage.ram.system_peak),
        tree: usage.ram.peak.map(|ram| RssValues::new(ram, unit, &mut known)),
    }
}

fn cpu_utilization(
    usage: &Usage,
    expected: Expected,
    unknown: &mut Vec<Unknown>,
) -> CpuUtilization {
    let cores = usage.machine.cores;
    let expected = expected.cores.unwrap_or(cores);
    let system = Known(unknown).take("system CPU utilization", usage.cpu.system);
    CpuUtilization {
        system_core_count: cores,
        n_expected_cores: expected,
        system: system.map(|load| Percentages::new(load, cores)),
        tree: usage.cpu.percent.map(|load| Percentages::new(load, expected)),
        n_threads: usage.cpu.threads,
    }
}

fn gpu_figures(
    gpu: &GpuUsage,
    unit: RamUnit,
    unknown: &mut Vec<Unknown>,
) -> (MaxGpuRam, GpuUtilization) {
    let mut known = Known(unknown);
    let mut bytes =
        |key, reading: Reading<Bytes>| known.take(key, reading).map(|bytes| unit.of(bytes));
    let memory = MaxGpuRam {
        unit,
        system_capacity: bytes("system capacity of GPU RAM", gpu.capacity),
        system: bytes("system GPU RAM", gpu.system_memory),
        tree: Parts {
            main: bytes("main GPU RAM", gpu.memory.main),
            descendants: bytes("descendants' GPU RAM", gpu.memory.descendants),
            combined: bytes("combined GPU RAM", gpu.memory.combined),
        },
    };
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let is_expected = |card: &&CardUsage| card.is_chosen && card.lost.is_none();
    let expected = count(gpu.cards.iter().filter(is_expected).count());
    let load = known.take("GPU utilization", gpu.utilization);
    let utilization = GpuUtilization {
        system_gpu_count: Some(count(gpu.cards.len())),
        n_expected_gpus: Some(expected),
        gpu_percentages: load.map(|load| Percentages::new(load, expected)),
    };
    let lost = |card: &CardUsage| card.lost.map(|why| Unknown::Card(card.index, why));
    unknown.extend(gpu.cards.iter().filter_map(lost));
    (memory, utilization)
}

impl Percentages {
    fn new(load: Load, units: u32) -> Self {
        let share = |Percent(sum): Percent| if units > 0 { sum / f64::from(units) } else { 0.0 };
        Self {
            max_sum: load.max.0,
            max_hardware: share(load.max),
            mean_sum: load.mean.0,
            mean_hardware: share(load.mean),
        }
    }
}

impl RssValues {
    fn new(ram: Ram, unit: RamUnit, known: &mut Known<'_>) -> Self {
        let split = known.take("private and shared RSS", ram.split());
        Self {
            total: unit.of(ram.total),
            private: split.map(|(private, _)| unit.of(private)),
            shared: split.map(|(_, shared)| unit.of(shared)),
        }
    }
}

impl MaxGpuRam {
    pub(super) const fn none(unit: RamUnit) -> Self {
        let tree = Parts { main: None, descendants: None, combined: None };
        Self { unit, system_capacity: None, system: None, tree }
    }
}

impl GpuUtilization {
    pub(super) const fn none() -> Self {
        Self { system_gpu_count: None, n_expected_gpus: None, gpu_percentages: None }
    }
}
