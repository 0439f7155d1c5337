//! `/proc/PID/stat` and `/proc/stat`: when a process started and when the host did.

use super::stat_line::{Field, StatLine};

/// What identifies a process and places it in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    pub comm: String,
    /// Whether it has ended, and only its parent has not taken note of that.
    pub is_ended: bool,
    pub parent: u32,
    /// In clock ticks since boot.
    pub start_ticks: u64,
}

/// `None` when it is not a stat line.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<ProcessStat> {
    let line = StatLine::parse(bytes)?;
    Some(ProcessStat {
        comm: String::from_utf8_lossy(line.name()).into_owned(),
        is_ended: matches!(line.text(Field::State), "Z" | "X"),
        parent: line.number(Field::Parent)?,
        start_ticks: line.number(Field::StartTicks)?,
    })
}

/// The boot time in seconds since the Unix epoch, from the whole `/proc/stat`.
#[must_use]
pub fn boot_seconds(text: &str) -> Option<i64> {
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture, with a name that tries to look like the rest of the line.
    const CAPTURE: &[u8] = b"4242 (py) S 1 (thon) S 17 4242 4242 34816 4242 4194304 5 0 0 0 7 3 0 0 \
        20 0 4 0 777123 11223344 900 18446744073709551615 1 1 0 0 0 0 0 16781312 16386 0 0 0 17 1 0 \
        0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = parse(CAPTURE).unwrap();
        assert_eq!((stat.comm.as_str(), stat.is_ended), ("py) S 1 (thon", false));
        assert!(parse(b"7 (a) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0").unwrap().is_ended);
        assert_eq!((stat.parent, stat.start_ticks), (17, 777_123));
    }

    #[test]
    fn our_own_stat_can_be_read() {
        let stat = parse(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        assert_eq!(stat.parent, std::os::unix::process::parent_id());
        assert!(stat.start_ticks > 0);
    }

    #[test]
    fn the_boot_time_is_found_among_the_counters() {
        assert_eq!(
            boot_seconds("cpu  1 2 3\nintr 5\nctxt 1\nbtime 1763200000\n"),
            Some(1_763_200_000)
        );
        assert_eq!(boot_seconds("cpu 1\n"), None);
    }
}
