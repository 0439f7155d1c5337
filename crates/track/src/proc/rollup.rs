//! `/proc/PID/smaps_rollup`: whose the pages of a process are.

use super::kib_in_bytes;

/// All mappings of a process added up, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rollup {
    /// Pages that it alone has.
    pub private: u64,
    /// Its share of all its pages, each divided by the number of processes that have it.
    pub proportional: u64,
    /// All of its anonymous pages, shared or not.
    pub anonymous: Option<u64>,
    /// Its share by kind; an older kernel does not tell.
    pub by_kind: Option<ByKind>,
}

/// A figure for each kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByKind {
    pub anonymous: u64,
    pub file: u64,
    pub shared_memory: u64,
}

impl ByKind {
    /// What may be shared with others that were not forked from it.
    #[must_use]
    pub const fn may_be_shared(&self) -> u64 {
        self.file.saturating_add(self.shared_memory)
    }
}

#[must_use]
pub fn parse(text: &str) -> Option<Rollup> {
    let mut rollup = Rollup::default();
    let mut kinds = [None; 3];
    let mut has_proportional = false;
    for (name, rest) in text.lines().skip(1).filter_map(|line| line.split_once(':')) {
        match name {
            "Private_Clean" | "Private_Dirty" => {
                rollup.private = rollup.private.saturating_add(kib_in_bytes(rest)?);
            }
            "Pss" => {
                rollup.proportional = kib_in_bytes(rest)?;
                has_proportional = true;
            }
            "Anonymous" => rollup.anonymous = kib_in_bytes(rest),
            "Pss_Anon" => kinds[0] = kib_in_bytes(rest),
            "Pss_File" => kinds[1] = kib_in_bytes(rest),
            "Pss_Shmem" => kinds[2] = kib_in_bytes(rest),
            _ => {}
        }
    }
    if let [Some(anonymous), Some(file), Some(shared_memory)] = kinds {
        rollup.by_kind = Some(ByKind { anonymous, file, shared_memory });
    }
    has_proportional.then_some(rollup)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTURE: &str = "56553b5c7000-7ffc2d29d000 ---p 00000000 00:00 0    [rollup]
Rss:                1688 kB
Pss:                 815 kB
Pss_Dirty:           112 kB
Pss_Anon:            112 kB
Pss_File:            703 kB
Pss_Shmem:             0 kB
Shared_Clean:       1396 kB
Private_Clean:       180 kB
Private_Dirty:       112 kB
Referenced:         1688 kB
Anonymous:           112 kB
";

    #[test]
    fn clean_and_dirty_are_both_private() {
        let expected = Rollup {
            private: 292 << 10,
            proportional: 815 << 10,
            anonymous: Some(112 << 10),
            by_kind: Some(ByKind { anonymous: 112 << 10, file: 703 << 10, shared_memory: 0 }),
        };
        assert_eq!(parse(CAPTURE), Some(expected));
    }

    #[test]
    fn an_older_kernel_does_not_tell_the_kinds() {
        let older = CAPTURE.replace("Pss_Anon", "X").replace("Pss_File", "Y");
        assert_eq!(parse(&older).unwrap().by_kind, None);
        assert_eq!(parse(""), None);
    }
}
