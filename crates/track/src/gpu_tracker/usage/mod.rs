//! A measurement in gpu_tracker's shape: plain numbers in the units asked for.
//!
//! What is not known is `None` here. Its own reports have no place for that; who writes one says
//! what stands there instead ([`Gap`]), and [`ResourceUsage::unknown`] tells which figures they are.

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

/// What stands where a figure is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// 0, as in gpu_tracker's own reports.
    Zero,
    /// Nothing.
    Missing,
}

/// The whole measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceUsage {
    pub max_ram: MaxRam,
    pub max_gpu_ram: MaxGpuRam,
    pub cpu_utilization: CpuUtilization,
    pub gpu_utilization: GpuUtilization,
    pub compute_time: ComputeTime,
    /// What is not known, and why.
    pub unknown: Vec<Unknown>,
}

/// Figures that are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// All of the GPUs'.
    Gpu(NoGpu),
    /// All of one card's, which is in no sum and no share.
    Card(u32, probe::Why),
    /// One of them, by its key and with the reason.
    Figure(&'static str, probe::Why),
}

#[derive(Debug, Clone, PartialEq)]
pub struct MaxRam {
    pub unit: RamUnit,
    pub system_capacity: Option<f64>,
    pub system: Option<f64>,
    pub tree: Parts<RssValues>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RssValues {
    pub total: f64,
    pub private: Option<f64>,
    pub shared: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MaxGpuRam {
    pub unit: RamUnit,
    pub system_capacity: Option<f64>,
    pub system: Option<f64>,
    pub tree: Parts<Option<f64>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CpuUtilization {
    pub system_core_count: u32,
    pub n_expected_cores: u32,
    pub system: Option<Percentages>,
    pub tree: Parts<Percentages>,
    pub n_threads: Parts<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GpuUtilization {
    pub system_gpu_count: Option<u32>,
    pub n_expected_gpus: Option<u32>,
    pub gpu_percentages: Option<Percentages>,
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
