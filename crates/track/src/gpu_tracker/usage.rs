//! A measurement in gpu_tracker's shape: plain numbers in the units asked for.
//!
//! It has no place for what is not known, so that is 0.0 here; [`ResourceUsage::unknown`]
//! tells which, for whoever shows it to say so.

use probe::Reading;
use probe::units::{Bytes, Percent};

use super::tree::Tree;
use super::units::{RamUnit, TimeUnit, Units};
use crate::parts::Parts;
use crate::sample::Ram;
use crate::usage::{GpuUsage, Load, NoGpu, Usage};

/// What the hardware percentages are shares of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expected {
    /// All of the machine's when `None`.
    pub cores: Option<u32>,
}

/// How the processes below the main one are called in keys and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spelling {
    /// As in the paper and the versions around it.
    #[default]
    Descendents,
    /// As in 5.0 and later.
    Descendants,
}

impl Spelling {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Descendents => "descendents",
            Self::Descendants => "descendants",
        }
    }
}

/// The whole measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceUsage {
    pub max_ram: MaxRam,
    pub max_gpu_ram: MaxGpuRam,
    pub cpu_utilization: CpuUtilization,
    pub gpu_utilization: GpuUtilization,
    pub compute_time: ComputeTime,
    /// What stands here as 0.0 because it is not known.
    pub unknown: Vec<Unknown>,
}

/// Figures that are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// All of the GPUs'.
    Gpu(NoGpu),
    /// One of them, by its key and with the reason.
    Figure(&'static str, probe::Why),
}

#[derive(Debug, Clone, PartialEq)]
pub struct MaxRam {
    pub unit: RamUnit,
    pub system_capacity: f64,
    pub system: f64,
    pub tree: Parts<RssValues>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RssValues {
    pub total: f64,
    pub private: f64,
    pub shared: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MaxGpuRam {
    pub unit: RamUnit,
    pub system_capacity: f64,
    pub system: f64,
    pub tree: Parts<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CpuUtilization {
    pub system_core_count: u32,
    pub n_expected_cores: u32,
    pub system: Percentages,
    pub tree: Parts<Percentages>,
    pub n_threads: Parts<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GpuUtilization {
    pub system_gpu_count: usize,
    pub n_expected_gpus: usize,
    pub gpu_percentages: Percentages,
}

/// Sums, where 100 is one core or card, and shares of what was expected to be used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Percentages {
    pub max_sum: f64,
    pub max_hardware: f64,
    pub mean_sum: f64,
    pub mean_hardware: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ComputeTime {
    pub unit: TimeUnit,
    pub time: f64,
}

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

    /// The keys and values in the order in which they are told.
    #[must_use]
    pub fn tree(&self, spelling: Spelling) -> Tree {
        Tree::group([
            ("max_ram", self.max_ram.tree(spelling)),
            ("max_gpu_ram", self.max_gpu_ram.tree(spelling)),
            ("cpu_utilization", self.cpu_utilization.tree(spelling)),
            ("gpu_utilization", self.gpu_utilization.tree()),
            ("compute_time", self.compute_time.tree()),
        ])
    }
}

/// A value, or 0.0 with a note of it.
struct Known<'a>(&'a mut Vec<Unknown>);

impl Known<'_> {
    fn or_zero<T: Default>(&mut self, key: &'static str, reading: Reading<T>) -> T {
        match reading {
            Reading::Known(value) => value,
            Reading::Unknown(why) => {
                self.0.push(Unknown::Figure(key, why));
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
        tree: usage.ram.peak.map(|ram| RssValues::new(ram, unit)),
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

    fn tree(&self) -> Tree {
        Tree::group([
            ("max_sum_percent", self.max_sum.into()),
            ("max_hardware_percent", self.max_hardware.into()),
            ("mean_sum_percent", self.mean_sum.into()),
            ("mean_hardware_percent", self.mean_hardware.into()),
        ])
    }
}

impl RssValues {
    fn new(ram: Ram, unit: RamUnit) -> Self {
        Self {
            total: unit.of(ram.total),
            private: unit.of(ram.private),
            shared: unit.of(ram.shared),
        }
    }

    fn tree(&self) -> Tree {
        Tree::group([
            ("total_rss", self.total.into()),
            ("private_rss", self.private.into()),
            ("shared_rss", self.shared.into()),
        ])
    }
}

impl MaxRam {
    fn tree(&self, spelling: Spelling) -> Tree {
        Tree::group([
            ("unit", self.unit.name().into()),
            ("system_capacity", self.system_capacity.into()),
            ("system", self.system.into()),
            ("main", self.tree.main.tree()),
            (spelling.word(), self.tree.descendants.tree()),
            ("combined", self.tree.combined.tree()),
        ])
    }
}

impl MaxGpuRam {
    const fn none(unit: RamUnit) -> Self {
        let tree = Parts { main: 0.0, descendants: 0.0, combined: 0.0 };
        Self { unit, system_capacity: 0.0, system: 0.0, tree }
    }

    fn tree(&self, spelling: Spelling) -> Tree {
        Tree::group([
            ("unit", self.unit.name().into()),
            ("system_capacity", self.system_capacity.into()),
            ("system", self.system.into()),
            ("main", self.tree.main.into()),
            (spelling.word(), self.tree.descendants.into()),
            ("combined", self.tree.combined.into()),
        ])
    }
}

impl CpuUtilization {
    fn tree(&self, spelling: Spelling) -> Tree {
        let threads = |whose: &str| format!("{whose}_n_threads");
        Tree::group([
            ("system_core_count".to_owned(), self.system_core_count.into()),
            ("n_expected_cores".to_owned(), self.n_expected_cores.into()),
            ("system".to_owned(), self.system.tree()),
            ("main".to_owned(), self.tree.main.tree()),
            (spelling.word().to_owned(), self.tree.descendants.tree()),
            ("combined".to_owned(), self.tree.combined.tree()),
            (threads("main"), self.n_threads.main.into()),
            (threads(spelling.word()), self.n_threads.descendants.into()),
            (threads("combined"), self.n_threads.combined.into()),
        ])
    }
}

impl GpuUtilization {
    fn none() -> Self {
        Self { system_gpu_count: 0, n_expected_gpus: 0, gpu_percentages: Percentages::default() }
    }

    fn tree(&self) -> Tree {
        Tree::group([
            ("system_gpu_count", self.system_gpu_count.into()),
            ("n_expected_gpus", self.n_expected_gpus.into()),
            ("gpu_percentages", self.gpu_percentages.tree()),
        ])
    }
}

impl ComputeTime {
    fn tree(&self) -> Tree {
        Tree::group([("unit", self.unit.name().into()), ("time", self.time.into())])
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use probe::Why;
    use probe::units::Millijoules;

    use super::*;
    use crate::gpu_tracker::{json::json, text::text};
    use crate::usage::{
        CardUsage, CpuUsage, Limits, Machine, MemorySource, Processes, RamUsage, Sampling,
    };

    fn ram(total: u64, private: u64, shared: u64) -> Ram {
        Ram { total: Bytes(total), private: Bytes(private), shared: Bytes(shared) }
    }

    const fn load(max: f64, mean: f64) -> Load {
        Load { max: Percent(max), mean: Percent(mean) }
    }

    fn card(index: u32, is_chosen: bool) -> CardUsage {
        CardUsage {
            index,
            uuid: Reading::Known(format!("GPU-{index}")),
            name: Reading::Known("Quadro".to_owned()),
            capacity: Reading::Known(Bytes(2_048_000_000)),
            is_chosen,
            memory: Reading::Known(Bytes(277_000_000)),
            memory_source: MemorySource::Samples,
            utilization: Reading::Known(load(6.0, 0.5)),
            energy: Reading::Unknown(Why::NotSupported),
        }
    }

    fn gpu() -> GpuUsage {
        GpuUsage {
            cards: vec![card(0, true), card(1, true), card(2, false)],
            memory: Parts {
                main: Reading::Known(Bytes(277_000_000)),
                descendants: Reading::Known(Bytes(0)),
                combined: Reading::Known(Bytes(277_000_000)),
            },
            system_memory: Reading::Known(Bytes(353_000_000)),
            capacity: Reading::Known(Bytes(6_144_000_000)),
            utilization: Reading::Known(load(6.0, 0.5)),
            tree_utilization: Reading::Unknown(Why::NotSupported),
            energy: Reading::Known(Millijoules(12)),
            looks: 3,
        }
    }

    fn measured() -> Usage {
        Usage {
            began: UNIX_EPOCH,
            wall: Duration::from_micros(3_345_628),
            machine: Machine {
                cores: 12,
                ram: Reading::Known(Bytes(63_088_230_400)),
                limits: Limits::default(),
            },
            ram: RamUsage {
                peak: Parts {
                    main: ram(890_703_872, 674_058_240, 216_924_160),
                    descendants: Ram::default(),
                    combined: ram(901_263_360, 684_617_728, 216_678_400),
                },
                system_peak: Reading::Known(Bytes(2_399_920_128)),
                cgroup_peak: None,
            },
            cpu: CpuUsage {
                time: Parts::default(),
                percent: Parts {
                    main: load(102.6, 91.258_333),
                    descendants: Load::default(),
                    combined: load(102.6, 91.258_333),
                },
                system: Reading::Known(load(164.3, 152.325)),
                threads: Parts { main: 24, descendants: 0, combined: 24 },
            },
            gpu: Ok(gpu()),
            processes: Processes::default(),
            sampling: Sampling {
                asked: Duration::from_secs(1),
                samples: 4,
                period: None,
                longest: None,
                map_reads: 4,
                is_cpu_exact: true,
                own_cpu: Duration::ZERO,
            },
        }
    }

    const MEGABYTES: Units =
        Units { ram: RamUnit::Megabytes, gpu_ram: RamUnit::Megabytes, time: TimeUnit::Seconds };

    #[test]
    fn the_text_is_as_in_the_paper() {
        let usage = ResourceUsage::new(&measured(), MEGABYTES, Expected::default());
        insta::assert_snapshot!(text(&usage.tree(Spelling::Descendents)));
    }

    #[test]
    fn the_json_is_as_in_the_paper() {
        let usage = ResourceUsage::new(&measured(), MEGABYTES, Expected { cores: Some(2) });
        insta::assert_snapshot!(json(&usage.tree(Spelling::Descendents)));
    }

    #[test]
    fn the_newer_spelling_is_the_only_difference() {
        let usage = ResourceUsage::new(&measured(), Units::default(), Expected::default());
        let (old, new) = (usage.tree(Spelling::Descendents), usage.tree(Spelling::Descendants));
        assert_eq!(json(&old).replace("descendents", "descendants"), json(&new));
        assert_eq!(json(&old).matches("descendents").count(), 4);
        assert_eq!(text(&new).matches("Descendants").count(), 4);
    }

    #[test]
    fn what_is_not_known_is_zero_and_said() {
        let mut gpu = gpu();
        gpu.memory.main = Reading::Unknown(Why::NotTold);
        let usage = ResourceUsage::new(
            &Usage { gpu: Ok(gpu), ..measured() },
            MEGABYTES,
            Expected::default(),
        );
        assert_eq!(usage.max_gpu_ram.tree.main, 0.0);
        assert_eq!(usage.max_gpu_ram.tree.combined, 277.0);
        assert_eq!(usage.unknown, [Unknown::Figure("main GPU RAM", Why::NotTold)]);
    }

    #[test]
    fn without_a_driver_the_gpu_figures_are_zero() {
        let why = NoGpu::NoDriver("no library".to_owned());
        let usage = Usage { gpu: Err(why.clone()), ..measured() };
        let usage = ResourceUsage::new(&usage, MEGABYTES, Expected::default());
        assert_eq!(usage.max_gpu_ram, MaxGpuRam::none(RamUnit::Megabytes));
        assert_eq!(usage.gpu_utilization, GpuUtilization::none());
        assert_eq!(usage.unknown, [Unknown::Gpu(why)]);
    }
}
