//! `/proc/PID/stat` once more: what a process takes of the host's processors and memory.

/// What a process has used, in the kernel's own units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// User and system time since its start, in clock ticks.
    pub cpu_ticks: u64,
    /// In clock ticks since boot: tells whose figures these are.
    pub start_ticks: u64,
    pub resident_pages: u64,
}

/// The places among the fields after the name.
const USER: usize = 11;
const SYSTEM: usize = 12;
const START: usize = 19;
const RESIDENT: usize = 21;

/// `None` when it is no stat line. The name may hold anything, so it ends at the last
/// parenthesis only.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Usage> {
    let name_end = bytes.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(bytes.get(name_end + 1..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let mut number = |place: usize| fields.nth(place)?.parse::<u64>().ok();
    let user = number(USER)?;
    let system = number(SYSTEM - USER - 1)?;
    let start_ticks = number(START - SYSTEM - 1)?;
    let resident_pages = number(RESIDENT - START - 1)?;
    Some(Usage { cpu_ticks: user.saturating_add(system), start_ticks, resident_pages })
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
