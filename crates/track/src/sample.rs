//! One row of the time line.

use std::time::{Duration, SystemTime};

use probe::Reading;
use probe::units::{Bytes, Percent};

use crate::parts::Parts;

/// What was used at one moment; the percentages are means since the sample before.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub at: SystemTime,
    pub since_begin: Duration,
    pub ram: Parts<Ram>,
    /// Of the whole machine: all that is not available to a new program.
    pub system_ram: Reading<Bytes>,
    /// 100 is one core.
    pub cpu: Parts<Percent>,
    /// 100 is one core, also here.
    pub system_cpu: Reading<Percent>,
    pub threads: Parts<u32>,
    /// How many processes were alive.
    pub processes: u32,
    pub gpu: Reading<GpuSample>,
}

/// Resident memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ram {
    /// Private and shared together.
    pub total: Bytes,
    /// Pages that one process alone has.
    pub private: Bytes,
    /// Pages that several have, inside of the tree or outside; counted once.
    pub shared: Bytes,
}

/// What the cards did at one moment, as the newest look at them saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuSample {
    /// Held by the tree, on all cards.
    pub memory: Parts<Reading<Bytes>>,
    /// Held by anybody, on all cards.
    pub system_memory: Reading<Bytes>,
    /// Of the chosen cards, added up: 100 is one card.
    pub utilization: Reading<Percent>,
    /// The tree's own part of it, where the driver tells.
    pub tree_utilization: Reading<Percent>,
}
