//! A measurement in gpu_tracker's shape: plain numbers in the units asked for.
//!
//! It has no place for what is not known, so that is 0.0 here; [`ResourceUsage::unknown`]
//! tells which, for whoever shows it to say so.

mod measured;
#[cfg(test)]
mod tests;
mod told;

use super::units::{RamUnit, TimeUnit};
use crate::parts::Parts;
use crate::usage::NoGpu;

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
