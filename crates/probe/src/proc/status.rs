//! `/proc/PID/status`: the uids of a process.

/// Uids of a process. They differ while a program acts for another user than the one who started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uids {
    pub real: u32,
    /// Uid that permissions for signals depend on.
    pub effective: u32,
    /// Uid that it may switch back to.
    pub saved: u32,
    pub file: u32,
}

impl Uids {
    /// Returns four equal uids, as an ordinary process has.
    #[must_use]
    pub const fn all(uid: u32) -> Self {
        Self { real: uid, effective: uid, saved: uid, file: uid }
    }

    /// Returns the common uid; `None` if they differ.
    #[must_use]
    pub fn only(self) -> Option<u32> {
        (self == Self::all(self.effective)).then_some(self.effective)
    }

    #[must_use]
    pub fn lowest(self) -> u32 {
        self.real.min(self.effective).min(self.saved).min(self.file)
    }
}

/// Returns all uids.
#[must_use]
pub fn uids(text: &str) -> Option<Uids> {
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut uids = line.split_whitespace().map(|uid| uid.parse().ok());
    let mut next = || uids.next().flatten();
    Some(Uids { real: next()?, effective: next()?, saved: next()?, file: next()? })
}

/// Returns the effective uid.
#[must_use]
pub fn uid(text: &str) -> Option<u32> {
    uids(text).map(|uids| uids.effective)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_uid_is_the_second() {
        let text = "Name:\tpython\nUmask:\t0022\nUid:\t1000\t1001\t1000\t1000\nGid:\t1\t2\t3\t4\n";
        assert_eq!(uid(text), Some(1001));
        assert_eq!(uid("Name:\tUid\n"), None);
        assert_eq!(uid("Uid:\t5\n"), None);
    }

    #[test]
    fn a_process_has_one_uid_or_several() {
        assert_eq!(uids("Uid:\t1000\t1000\t1000\t1000\n"), Some(Uids::all(1000)));
        assert_eq!(Uids::all(1000).only(), Some(1000));
        let several = uids("Uid:\t0\t1001\t1002\t1001\n").unwrap();
        assert_eq!((several.only(), several.lowest(), several.saved), (None, 0, 1002));
        assert_eq!(uids("Uid:\t5\t5\t5\n"), None);
    }
}
