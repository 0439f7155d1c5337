//! `/proc/PID/stat`: a process's parent, its page faults, and the accounts of its children.

use probe::proc::stat::{Field, StatLine};

/// The kernel's flag of a process that was forked and has not executed a program since.
const PF_FORKNOEXEC: u64 = 0x40;

/// The accounts of children that have ended and were waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waited {
    /// User and system time, in clock ticks.
    pub cpu_ticks: u64,
    /// Page faults: above zero as soon as there was any child.
    pub faults: u64,
}

/// One process as its stat line describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    pub parent: u32,
    /// Page faults of the process itself. Every page that is copied on a write takes one.
    pub faults: u64,
    pub waited: Waited,
    /// It runs in a copy of its parent's memory: it was forked and has executed no program.
    pub is_forked_copy: bool,
}

/// `None` when it is no stat line.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Stat> {
    let line = StatLine::parse(bytes)?;
    Some(Stat {
        parent: line.number(Field::Parent)?,
        faults: line.sum(&[Field::MinorFaults, Field::MajorFaults])?,
        waited: Waited {
            cpu_ticks: line.sum(&[Field::ChildUserTicks, Field::ChildSystemTicks])?,
            faults: line.sum(&[Field::ChildMinorFaults, Field::ChildMajorFaults])?,
        },
        is_forked_copy: line.number::<u64>(Field::Flags)? & PF_FORKNOEXEC != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let line = b"20230 (a) b (cl) Z 20229 20221 19107 0 -1 4227148 19 16 1 2 6 0 3 4 20 0 1 0 \
            2142715 0 0 18446744073709551615 0 0\n";
        let expected = Stat {
            parent: 20_229,
            faults: 19 + 1,
            waited: Waited { cpu_ticks: 7, faults: 16 + 2 },
            is_forked_copy: true,
        };
        assert_eq!(parse(line), Some(expected));
        let executed = b"20230 (cat) S 20229 20221 19107 0 -1 4194304 19 16 1 2 6 0 3 4 20 0 1 0\n";
        assert!(!parse(executed).unwrap().is_forked_copy);
        assert_eq!(parse(b"1 (x) S 1 2 3"), None);
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b")"), None);
    }
}
