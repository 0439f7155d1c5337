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
use crate::usage::{GpuUsage, Load, Usage};

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

/// A value, or 0.0 with a note of it.
struct Known<'a>(&'a mut Vec<Unknown>);

impl Known<'_> {
    fn or_zero<T: Default>(&mut self, key: &'static str, reading: Reading<T>) -> T {
        match reading {
            Reading::Known(value) => value,
            Reading::Unknown(why) => {
                let note = Unknown::Figure(key, why);
                if !self.0.contains(&note) {
                    self.0.push(note);
                }
                T::default()
            }
        }
    }
}

fn max_ram(usage: &Usage, unit: RamUnit, unknown: &mut Vec<Unknown>) -> MaxRam {
    let mut known = Known(unknown);
    MaxRam {
        unit,
        system_capacity: unit.of(known.or_zero("system capacity of RAM", usage.machine.ram)),
        system: unit.of(known.or_zero("system RAM", usage.ram.system_peak)),
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
    let system = Known(unknown).or_zero("system CPU utilization", usage.cpu.system);
    CpuUtilization {
        system_core_count: cores,
        n_expected_cores: expected,
        system: Percentages::new(system, f64::from(cores)),
        tree: usage.cpu.percent.map(|load| Percentages::new(load, f64::from(expected))),
        n_threads: usage.cpu.threads,
    }
}

fn gpu_figures(
    gpu: &GpuUsage,
    unit: RamUnit,
    unknown: &mut Vec<Unknown>,
) -> (MaxGpuRam, GpuUtilization) {
    let mut known = Known(unknown);
    let mut bytes = |key, reading: Reading<Bytes>| unit.of(known.or_zero(key, reading));
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
    let expected = gpu.cards.iter().filter(|card| card.is_chosen).count();
    let load = known.or_zero("GPU utilization", gpu.utilization);
    let utilization = GpuUtilization {
        system_gpu_count: gpu.cards.len(),
        n_expected_gpus: expected,
        gpu_percentages: Percentages::new(
            load,
            f64::from(u32::try_from(expected).unwrap_or(u32::MAX)),
        ),
    };
    (memory, utilization)
}

impl Percentages {
    fn new(load: Load, units: f64) -> Self {
        let share = |Percent(sum): Percent| if units > 0.0 { sum / units } else { 0.0 };
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
        let (private, shared) = known.or_zero("private and shared RSS", ram.split());
        Self { total: unit.of(ram.total), private: unit.of(private), shared: unit.of(shared) }
    }
}

impl MaxGpuRam {
    pub(super) const fn none(unit: RamUnit) -> Self {
        let tree = Parts { main: 0.0, descendants: 0.0, combined: 0.0 };
        Self { unit, system_capacity: 0.0, system: 0.0, tree }
    }
}

impl GpuUtilization {
    pub(super) fn none() -> Self {
        Self { system_gpu_count: 0, n_expected_gpus: 0, gpu_percentages: Percentages::default() }
    }
}
