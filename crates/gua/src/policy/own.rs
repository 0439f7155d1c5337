//! Ourselves and what started us, which no rule may touch.

use std::fs;

use probe::proc::stat;

/// Deeper than any tree of processes.
const MOST_ANCESTORS: usize = 1000;

/// Our own pid and those of all processes that we come from.
#[must_use]
pub fn lineage() -> Vec<u32> {
    let mut pids = vec![std::process::id()];
    while let Some(pid) = pids.last().copied()
        && pids.len() < MOST_ANCESTORS
        && let Some(parent) = parent(pid).filter(|parent| *parent > 0)
    {
        pids.push(parent);
    }
    pids
}

fn parent(pid: u32) -> Option<u32> {
    stat::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?).map(|stat| stat.parent)
}

/// When a process of our own host started.
#[cfg(test)]
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    stat::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?).map(|stat| stat.start_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_come_from_somebody() {
        let pids = lineage();
        assert_eq!(pids.first(), Some(&std::process::id()));
        assert_eq!(pids.get(1), Some(&std::os::unix::process::parent_id()));
        assert_eq!(pids.last(), Some(&1));
    }
}
