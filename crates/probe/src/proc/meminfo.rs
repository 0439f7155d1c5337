//! `/proc/meminfo`: the host's memory, for cards that share it.

use std::fs;
use std::path::Path;

use crate::units::Bytes;

/// Memory of the host, which a card without memory of its own uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemInfo {
    pub total: Bytes,
    pub available: Bytes,
}

/// Reads the memory of the host below `root`.
#[must_use]
pub fn of_host(root: &Path) -> Option<MemInfo> {
    parse(&fs::read_to_string(root.join("proc/meminfo")).ok()?)
}

/// Parses the file; `None` if a figure is missing or not a number.
#[must_use]
pub fn parse(text: &str) -> Option<MemInfo> {
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 =
            line.trim_start_matches(':').trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(Bytes(kib.checked_mul(1024)?))
    };
    Some(MemInfo { total: figure("MemTotal")?, available: figure("MemAvailable")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_become_bytes() {
        let text = "MemTotal:       131072 kB\nMemFree:         1 kB\nMemAvailable:    65536 kB\n";
        let expected = MemInfo { total: Bytes(131_072 << 10), available: Bytes(65_536 << 10) };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("MemTotal: 5 kB\n"), None);
    }
}
