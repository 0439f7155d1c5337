//! `/proc/PID/stat` once more: what a process takes of the host's processors and memory.

use std::time::Duration;

use super::stat_line::{Field, StatLine};
use crate::units::Bytes;

/// What a process has used, in the kernel's own units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// User and system time since its start, in clock ticks.
    pub cpu_ticks: u64,
    /// In clock ticks since boot: tells whose figures these are.
    pub start_ticks: u64,
    pub resident_pages: u64,
}

/// What a process has of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Processor time since its start.
    pub cpu: Duration,
    /// Memory that is resident, shared pages included.
    pub resident: Bytes,
}

impl From<Usage> for Taken {
    fn from(usage: Usage) -> Self {
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        Self {
            cpu: Duration::from_millis(usage.cpu_ticks.saturating_mul(1000) / per_second),
            resident: Bytes(usage.resident_pages.saturating_mul(page)),
        }
    }
}

/// `None` when it is no stat line.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Usage> {
    let line = StatLine::parse(bytes)?;
    Some(Usage {
        cpu_ticks: line.sum(&[Field::UserTicks, Field::SystemTicks])?,
        start_ticks: line.number(Field::StartTicks)?,
        resident_pages: line.number(Field::ResidentPages)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_are_found_behind_any_name() {
        let line =
            b"4242 (py) S 1 (thon) S 17 4242 4242 34816 4242 4194304 5 0 0 0 7 3 0 0 20 0 4 \
            0 777123 11223344 900 18446744073709551615 1 1 0 0 0\n";
        let expected = Usage { cpu_ticks: 10, start_ticks: 777_123, resident_pages: 900 };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse(b"1 (x) S 1 2 3"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn our_own_memory_is_not_nothing() {
        let usage = parse(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        assert!(usage.resident_pages > 0);
    }
}
