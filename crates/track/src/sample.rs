//! One row of the time line.

use std::time::{Duration, SystemTime};

use probe::units::{Bytes, Percent};
use probe::{Reading, Why};

use crate::parts::Parts;
use crate::usage::{GpuUsage, Load, NoGpu, Usage};

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

impl Sample {
    /// Returns the one sample of a run that ended before its first sample was due: peaks of the
    /// memory and of the threads, means of the loads.
    #[must_use]
    pub(crate) fn of_short_run(usage: &Usage) -> Self {
        Self {
            at: usage.began + usage.wall,
            since_begin: usage.wall,
            ram: usage.ram.peak,
            system_ram: usage.ram.system_peak,
            cpu: usage.cpu.percent.map(|load| load.mean),
            system_cpu: usage.cpu.system.map(|load| load.mean),
            threads: usage.cpu.threads,
            processes: usage.processes.seen,
            gpu: match &usage.gpu {
                Ok(gpu) => Reading::Known(GpuSample::of_short_run(gpu)),
                Err(NoGpu::NotAsked) => Reading::Unknown(Why::NotAsked),
                Err(NoGpu::NoDriver(_)) => Reading::Unknown(Why::NotTold),
                Err(NoGpu::NotInTime) => Reading::Unknown(Why::TimedOut),
            },
        }
    }
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

impl Ram {
    /// The same total, with as much of it private as was found a moment later.
    #[must_use]
    pub(crate) fn divided_as(self, later: Self) -> Self {
        let private = later.private.min(self.total);
        Self { private, shared: self.total.saturating_sub(private), ..self }
    }

    /// Private and shared, unless the total is a size that the kernel noted and no look has seen:
    /// then nobody knows whose those pages were.
    #[must_use]
    pub const fn split(&self) -> Reading<(Bytes, Bytes)> {
        let seen = self.private.0.saturating_add(self.shared.0);
        if seen >= self.total.0 / 2 {
            Reading::Known((self.private, self.shared))
        } else {
            Reading::Unknown(Why::FirstLook)
        }
    }
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

impl GpuSample {
    fn of_short_run(usage: &GpuUsage) -> Self {
        let mean = |load: Load| load.mean;
        Self {
            memory: usage.memory,
            system_memory: usage.system_memory,
            utilization: usage.utilization.map(mean),
            tree_utilization: usage.tree_utilization.map(mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ram(total: u64, private: u64, shared: u64) -> Ram {
        Ram { total: Bytes(total), private: Bytes(private), shared: Bytes(shared) }
    }

    #[test]
    fn a_size_that_nobody_saw_is_not_split() {
        assert_eq!(ram(1_900_000, 16_000, 16_000).split(), Reading::Unknown(Why::FirstLook));
        assert_eq!(ram(300, 200, 150).split(), Reading::Known((Bytes(200), Bytes(150))));
        assert_eq!(ram(0, 0, 0).split(), Reading::Known((Bytes(0), Bytes(0))));
    }
}
