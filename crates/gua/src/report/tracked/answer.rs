//! What `gua track` answers.

use jiff::Timestamp;
use serde::Serialize;

use super::asked::Asked;
use super::ending::Ending;
use super::gpu::Gpu;
use super::remarks::Remark;
use super::subject::Subject;
use super::suggestion::Suggestion;
use crate::report::unknowns::Unknowns;

/// What one command used. Fields that are not known are null, and `unknown` says why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tracked {
    pub schema: &'static str,
    #[serde(flatten)]
    pub subject: Subject,
    pub began: Timestamp,
    pub wall_seconds: f64,
    pub ending: Ending,
    pub asked: Asked,
    pub ram: Ram,
    pub cpu: Cpu,
    /// Null where nothing is told of them.
    pub gpu: Option<Gpu>,
    /// In words, where nothing is told of the GPUs though somebody asked.
    pub gpu_error: Option<String>,
    pub processes: Processes,
    pub sampling: Sampling,
    pub suggestion: Suggestion,
    pub remarks: Vec<Remark>,
    pub unknown: Unknowns,
}

/// A figure for the main process, for its descendants, and for both together, which need not
/// be the sum: what they share counts once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Parts<T> {
    pub main: T,
    pub descendants: T,
    pub combined: T,
}

impl<T> From<track::Parts<T>> for Parts<T> {
    fn from(parts: track::Parts<T>) -> Self {
        let track::Parts { main, descendants, combined } = parts;
        Self { main, descendants, combined }
    }
}

/// How much of something was used; 100 is one core or one card unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Load {
    pub max: f64,
    pub mean: f64,
}

impl Load {
    /// Each of both, as a share of so many.
    #[must_use]
    pub fn of(self, count: f64) -> Self {
        let share = |percent: f64| hundredths(if count > 0.0 { percent / count } else { 0.0 });
        Self { max: share(self.max), mean: share(self.mean) }
    }
}

impl From<track::usage::Load> for Load {
    fn from(load: track::usage::Load) -> Self {
        Self { max: hundredths(load.max.0), mean: hundredths(load.mean.0) }
    }
}

/// More digits would pretend to know more; what is no number is taken for none.
pub(super) fn hundredths(percent: f64) -> f64 {
    if percent.is_finite() { (percent * 100.0).round() / 100.0 } else { 0.0 }
}

/// The most RAM at any time; each figure has a maximum of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ram {
    pub peak: Parts<RamPeak>,
    /// The peaks may have been much higher: more than 2 %, and more than 4 MB.
    pub is_lower_bound: bool,
    /// The most that the peak of both together can have been; null where it is no lower bound, or
    /// where nobody knows.
    pub at_most_bytes: Option<u64>,
    /// Of the whole machine.
    pub system_peak_bytes: Option<u64>,
    /// With page cache; null where the cgroup was not the command's alone.
    pub cgroup_peak_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RamPeak {
    pub total_bytes: u64,
    /// Null, as the other, where only the kernel has seen the peak.
    pub private_bytes: Option<u64>,
    pub shared_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cpu {
    pub time_seconds: Parts<f64>,
    /// The times are the kernel's final account, and nobody's time is missing in it.
    pub is_exact: bool,
    /// Time of children may be missing, since their parent ignores their end.
    pub is_lower_bound: bool,
    pub percent: Parts<Load>,
    /// Both together, as a share of the cores that were asked for.
    pub of_asked_percent: Load,
    pub system_percent: Option<Load>,
    pub threads_max: Parts<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Processes {
    pub seen: u32,
    pub left_running: u32,
    /// Those that did not end when they were asked to.
    pub killed: u32,
    /// Those of other users, which could not be read.
    pub hidden: u32,
    pub missed: u32,
}

/// How it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sampling {
    pub asked_seconds: f64,
    pub samples: u64,
    pub period_seconds: Option<f64>,
    pub longest_seconds: Option<f64>,
    pub map_reads: u64,
    /// What the measuring itself took.
    pub own_cpu_seconds: f64,
}
