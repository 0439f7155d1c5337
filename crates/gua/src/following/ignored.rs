//! Which signals this process was started to ignore.

use std::fs;

/// A set of signals, as the kernel tells it: a bit each, the lowest is signal 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ignored(u64);

impl Ignored {
    pub(super) fn has(self, signal: i32) -> bool {
        let bit = signal.checked_sub(1).and_then(|bit| u32::try_from(bit).ok());
        bit.and_then(|bit| 1_u64.checked_shl(bit)).is_some_and(|bit| self.0 & bit != 0)
    }
}

/// None where the kernel does not tell.
pub(super) fn of_this_process() -> Ignored {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse(&status).unwrap_or(Ignored(0))
}

fn parse(status: &str) -> Option<Ignored> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok().map(Ignored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_each() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        let ignored = parse(status).unwrap();
        let (hangup, interrupt, pipe) = (1, 2, 13);
        assert!(ignored.has(hangup) && ignored.has(pipe));
        assert!(!ignored.has(interrupt) && !ignored.has(0) && !ignored.has(-1) && !ignored.has(99));
    }

    #[test]
    fn a_garbled_status_ignores_none() {
        assert_eq!(parse("SigIgn:\tzz\n"), None);
        assert_eq!(parse(""), None);
    }
}
