//! The whole measurement, when it is over.

use std::time::{Duration, SystemTime};

use probe::units::{Bytes, Millijoules, Percent};
use probe::{Reading, Why};

use crate::parts::Parts;
use crate::sample::Ram;

/// What was used from the begin to the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    pub began: SystemTime,
    pub wall: Duration,
    pub machine: Machine,
    pub ram: RamUsage,
    pub cpu: CpuUsage,
    pub gpu: Result<GpuUsage, NoGpu>,
    pub processes: Processes,
    pub sampling: Sampling,
}

/// What there was to be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Of the whole machine.
    pub cores: u32,
    /// Of the whole machine.
    pub ram: Reading<Bytes>,
    /// What the process's cgroup allows it, where that is less.
    pub limits: Limits,
}

/// What a cgroup allows: a container's or a job's. `None` where it limits nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    pub ram: Reading<Option<Bytes>>,
    pub cores: Reading<Option<f64>>,
}

impl Limits {
    /// Nothing is limited.
    pub const NONE: Self = Self { ram: Reading::Known(None), cores: Reading::Known(None) };

    /// Nobody knows what is.
    #[must_use]
    pub const fn unknown(why: Why) -> Self {
        Self { ram: Reading::Unknown(why), cores: Reading::Unknown(why) }
    }
}

/// The most RAM at any time; each figure has a maximum of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct RamUsage {
    /// The totals include what the kernel noted between two samples.
    pub peak: Parts<Ram>,
    /// The most that `peak.combined` can have been, where the peaks are lower bounds: pages were
    /// copied or came and went, and nobody could see how many.
    pub at_most: Option<Bytes>,
    /// Of the whole machine.
    pub system_peak: Reading<Bytes>,
    /// The cgroup's own peak, where the cgroup held nothing but the tree and the peak was reached
    /// meanwhile.
    pub cgroup_peak: Option<CgroupPeak>,
    /// What there was when it began.
    pub at_begin: Parts<Ram>,
    /// What there was when it ended.
    pub at_end: Parts<Ram>,
}

/// The peak of a cgroup's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CgroupPeak {
    /// With the page cache, that is files which were read or written.
    pub total: Bytes,
    /// The same without the page cache of the end, where that can be read. What remains cannot be
    /// given back: memory of processes and of the kernel, and files in tmpfs.
    pub without_cache: Option<Bytes>,
}

/// The CPU used.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuUsage {
    /// Exact where the kernel gave its account at the end, else as of the last sample.
    pub time: Parts<Duration>,
    /// Children may have ended whose time is in no account, since their parent ignores their end.
    pub is_lower_bound: bool,
    pub percent: Parts<Load>,
    pub system: Reading<Load>,
    /// The most at any time.
    pub threads: Parts<u32>,
}

/// How much of something was used: 100 is one core or one card.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    pub max: Percent,
    pub mean: Percent,
}

/// The GPUs used.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuUsage {
    /// By index.
    pub cards: Vec<CardUsage>,
    /// The most the tree held at any time, on all cards.
    pub memory: Parts<Reading<Bytes>>,
    /// What the tree held at the begin; unknown where the driver took too long to tell.
    pub at_begin: Parts<Reading<Bytes>>,
    /// What the tree held at the last look.
    pub at_end: Parts<Reading<Bytes>>,
    /// The most anybody held at any time, on all cards.
    pub system_memory: Reading<Bytes>,
    /// Of all cards.
    pub capacity: Reading<Bytes>,
    /// Of the chosen cards, added up.
    pub utilization: Reading<Load>,
    /// The tree's own part, where the driver tells.
    pub tree_utilization: Reading<Load>,
    /// Of the chosen cards, meanwhile.
    pub energy: Reading<Millijoules>,
    /// How often the cards were looked at.
    pub looks: u64,
    /// In how many of these looks a card that was there did not tell who held it.
    pub unread_looks: u64,
}

/// One card meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct CardUsage {
    pub index: u32,
    pub uuid: Reading<String>,
    pub name: Reading<String>,
    pub capacity: Reading<Bytes>,
    pub is_chosen: bool,
    /// Why it was of no use from the first look to the last; then it is in no sum.
    pub lost: Option<Why>,
    /// The most the tree held of it at any time.
    pub memory: Reading<Bytes>,
    pub memory_source: MemorySource,
    pub utilization: Reading<Load>,
    pub energy: Reading<Millijoules>,
}

/// Where a card's peak comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySource {
    Samples,
    /// The driver's accounting, which misses nothing.
    Accounting,
}

/// Why nothing is told of the GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoGpu {
    /// Nobody asked.
    NotAsked,
    /// There is no driver, or it fails: its words.
    NoDriver(String),
    /// It was over before the driver had answered.
    NotInTime,
}

/// The processes that were followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Processes {
    /// How many were seen, the main one included. Some live too shortly to be seen; what they
    /// used is in the totals all the same.
    pub seen: u32,
    /// How many of the descendants go on.
    pub left_running: u32,
    /// Of how many it is not known whose their pages are, since they belong to another user.
    pub hidden: u32,
    /// How many could not be followed, for want of files that this process may hold.
    pub missed: u32,
}

/// How it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    pub asked: Duration,
    pub samples: u64,
    /// The mean distance of two samples; `None` with fewer than two.
    pub period: Option<Duration>,
    /// The longest distance of two samples.
    pub longest: Option<Duration>,
    /// How often the memory maps were read, the dear part.
    pub map_reads: u64,
    /// The CPU times are the kernel's final account, and nobody's time is missing in it.
    pub is_cpu_exact: bool,
    /// The CPU time that the measuring itself took, reading the cards aside.
    pub own_cpu: Duration,
}
