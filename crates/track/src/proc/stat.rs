//! `/proc/PID/stat`: what a process's waited-for children have used.

/// The accounts of children that have ended and were waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waited {
    /// User and system time, in clock ticks.
    pub cpu_ticks: u64,
    /// Page faults: above zero as soon as there was any child.
    pub faults: u64,
}

/// What places a process in time, and the accounts of its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    /// In clock ticks since the machine started.
    pub start_ticks: u64,
    pub waited: Waited,
}

/// The places among the fields after the name.
const CHILD_MINOR_FAULTS: usize = 8;
const CHILD_MAJOR_FAULTS: usize = 10;
const CHILD_USER: usize = 13;
const CHILD_SYSTEM: usize = 14;
const START: usize = 19;

/// `None` when it is no stat line. The name may hold anything, so it ends at the last
/// parenthesis only.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Stat> {
    let name_end = bytes.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(bytes.get(name_end + 1..)?).ok()?;
    let mut stat = Stat::default();
    let mut is_whole = false;
    for (place, field) in fields.split_ascii_whitespace().enumerate().take(START + 1) {
        let into = match place {
            CHILD_MINOR_FAULTS | CHILD_MAJOR_FAULTS => &mut stat.waited.faults,
            CHILD_USER | CHILD_SYSTEM => &mut stat.waited.cpu_ticks,
            START => &mut stat.start_ticks,
            _ => continue,
        };
        // The times of children are signed in this file.
        *into = into.saturating_add(field.parse::<u64>().ok()?);
        is_whole = place == START;
    }
    is_whole.then_some(stat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_children_are_found_behind_any_name() {
        let line = b"20230 (a) b (cl) Z 20229 20221 19107 0 -1 4227148 19 16 1 2 6 0 3 4 20 0 1 0 \
            2142715 0 0 18446744073709551615 0 0\n";
        let expected =
            Stat { start_ticks: 2_142_715, waited: Waited { cpu_ticks: 7, faults: 16 + 2 } };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse(b"1 (x) S 1 2 3"), None);
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b")"), None);
    }
}
