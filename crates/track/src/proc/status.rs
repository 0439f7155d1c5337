//! `/proc/PID/status`: what a process is now, from counters that cost the kernel little.

use super::kib_in_bytes;
use super::rollup::ByKind;

/// One process now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// The process that it, if it is a thread, belongs to; else itself.
    pub process: u32,
    pub parent: u32,
    pub threads: u32,
    /// `None` once it has ended, and for a kernel thread.
    pub memory: Option<Memory>,
    /// It has ended and nobody has waited for it.
    pub has_ended: bool,
    /// It ignores SIGCHLD, so the kernel drops the accounts of its children when they end.
    pub ignores_children: bool,
}

/// Resident memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    pub resident: u64,
    /// The most it ever was since the program was started.
    pub high_water: u64,
    pub by_kind: ByKind,
}

/// The bit of SIGCHLD in a set of signals.
const SIGCHLD: u64 = 1 << (libc::SIGCHLD - 1);

#[must_use]
pub fn parse(text: &str) -> Option<Status> {
    let mut status = Status::default();
    let mut memory = Memory::default();
    let mut has_memory = false;
    for (name, rest) in text.lines().filter_map(|line| line.split_once(':')) {
        let rest = rest.trim_ascii_start();
        match name {
            "State" => status.has_ended = rest.starts_with(['Z', 'X']),
            "Tgid" => status.process = rest.parse().ok()?,
            "PPid" => status.parent = rest.parse().ok()?,
            "VmHWM" => memory.high_water = kib_in_bytes(rest)?,
            "VmRSS" => {
                memory.resident = kib_in_bytes(rest)?;
                has_memory = true;
            }
            "RssAnon" => memory.by_kind.anonymous = kib_in_bytes(rest)?,
            "RssFile" => memory.by_kind.file = kib_in_bytes(rest)?,
            "RssShmem" => memory.by_kind.shared_memory = kib_in_bytes(rest)?,
            "Threads" => status.threads = rest.parse().ok()?,
            // The lines after this one are not needed, and there are many.
            "SigIgn" => {
                status.ignores_children = u64::from_str_radix(rest, 16).ok()? & SIGCHLD != 0;
                status.memory = has_memory.then_some(memory);
                return (status.process != 0).then_some(status);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTURE: &str = "Name:\tpython\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t77\nNgid:\t0\n\
        Pid:\t77\nPPid:\t12\nUid:\t0\t0\t0\t0\nVmPeak:\t    9000 kB\nVmSize:\t    9000 kB\n\
        VmHWM:\t    7000 kB\nVmRSS:\t    5000 kB\nRssAnon:\t    3000 kB\nRssFile:\t    1500 kB\n\
        RssShmem:\t     500 kB\nVmSwap:\t       0 kB\nThreads:\t4\nSigQ:\t0/1\n\
        SigPnd:\t0000000000000000\nSigBlk:\t0000000000010000\nSigIgn:\t0000000001001000\nSigCgt:\t0\n";

    #[test]
    fn the_counters_are_bytes() {
        let status = parse(CAPTURE).unwrap();
        assert_eq!((status.process, status.parent, status.threads), (77, 12, 4));
        let by_kind = ByKind { anonymous: 3000 << 10, file: 1500 << 10, shared_memory: 500 << 10 };
        let memory = Memory { resident: 5000 << 10, high_water: 7000 << 10, by_kind };
        assert_eq!(status.memory, Some(memory));
        assert!(!status.has_ended && !status.ignores_children);
        let ignoring = CAPTURE.replace("SigIgn:\t0000000001001000", "SigIgn:\t0000000001011000");
        assert!(parse(&ignoring).unwrap().ignores_children);
    }

    #[test]
    fn what_has_ended_has_no_memory() {
        let status =
            parse("Name:\tx\nState:\tZ (zombie)\nTgid:\t5\nPPid:\t1\nThreads:\t1\nSigIgn:\t0\n")
                .unwrap();
        assert!(status.has_ended);
        assert_eq!(status.memory, None);
        assert_eq!(parse("Name:\tx\nState:\tZ (zombie)\n"), None);
        assert_eq!(parse(""), None);
    }
}
