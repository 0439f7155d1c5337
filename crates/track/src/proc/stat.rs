//! `/proc/PID/stat`: a process's parent, and what its waited-for children have used.

use probe::proc::stat_line::{Field, StatLine};

/// The accounts of children that have ended and were waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waited {
    /// User and system time, in clock ticks.
    pub cpu_ticks: u64,
    /// Page faults: above zero as soon as there was any child.
    pub faults: u64,
}

/// Whose child a process is, and the accounts of its own children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    pub parent: u32,
    pub waited: Waited,
}

/// `None` when it is no stat line.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Stat> {
    let line = StatLine::parse(bytes)?;
    Some(Stat {
        parent: line.number(Field::Parent)?,
        waited: Waited {
            cpu_ticks: line.sum(&[Field::ChildUserTicks, Field::ChildSystemTicks])?,
            faults: line.sum(&[Field::ChildMinorFaults, Field::ChildMajorFaults])?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_children_are_found_behind_any_name() {
        let line = b"20230 (a) b (cl) Z 20229 20221 19107 0 -1 4227148 19 16 1 2 6 0 3 4 20 0 1 0 \
            2142715 0 0 18446744073709551615 0 0\n";
        let expected = Stat { parent: 20_229, waited: Waited { cpu_ticks: 7, faults: 16 + 2 } };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse(b"1 (x) S 1 2 3"), None);
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b")"), None);
    }
}
