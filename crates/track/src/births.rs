//! Which processes were started since the last time one asked.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use crate::proc::loadavg;

/// Up to so many new pids are tried one by one; more of them are picked from the list of all.
const FEW: u32 = 64;

/// Watches the pids that the kernel gives out, one after the other. As long as none was given
/// out, no process was started, and nothing else needs to be read.
#[derive(Debug)]
pub struct Births {
    loadavg: Option<File>,
    last: Option<u32>,
}

impl Births {
    #[must_use]
    pub fn new() -> Self {
        let mut births = Self { loadavg: File::open("/proc/loadavg").ok(), last: None };
        births.last = births.newest();
        births
    }

    /// From a process on that was just started: it may have children already.
    #[must_use]
    pub fn after(pid: u32) -> Self {
        Self { last: Some(pid), ..Self::new() }
    }

    /// The pids that may be new processes since the last call. Some are threads, and some are
    /// gone again.
    pub fn since_last(&mut self) -> Vec<u32> {
        let newest = self.newest();
        let range = Range { after: self.last, up_to: newest };
        self.last = newest;
        match range.few() {
            Some(few) => few.collect(),
            None => all().into_iter().filter(|pid| range.contains(*pid)).collect(),
        }
    }

    fn newest(&self) -> Option<u32> {
        let mut buffer = [0; 128];
        let length = self.loadavg.as_ref()?.read_at(&mut buffer, 0).ok()?;
        loadavg::newest_pid(str::from_utf8(&buffer[..length]).ok()?)
    }
}

/// All processes that there are now.
#[must_use]
pub fn all() -> Vec<u32> {
    let names = fs::read_dir("/proc").into_iter().flatten().filter_map(io::Result::ok);
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The pids given out between two readings. Unknown ends leave every pid possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    after: Option<u32>,
    up_to: Option<u32>,
}

impl Range {
    /// The pids themselves, where they are few and have not begun anew from the lowest.
    fn few(self) -> Option<impl Iterator<Item = u32>> {
        let (after, up_to) = (self.after?, self.up_to?);
        let is_few = up_to.checked_sub(after)? <= FEW;
        is_few.then(|| after + 1..=up_to)
    }

    const fn contains(self, pid: u32) -> bool {
        match (self.after, self.up_to) {
            (Some(after), Some(up_to)) if after <= up_to => after < pid && pid <= up_to,
            (Some(after), Some(up_to)) => pid > after || pid <= up_to,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A command forks before anybody has had a look at it.
    #[test]
    fn what_came_right_after_a_process_is_among_the_births() {
        let mut first = Command::new("sleep").arg("60").spawn().unwrap();
        let mut second = Command::new("sleep").arg("60").spawn().unwrap();
        let born = Births::after(first.id()).since_last();
        assert!(born.contains(&second.id()) && !born.contains(&first.id()), "{born:?}");
        for child in [&mut first, &mut second] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_child_is_among_the_births_and_not_twice() {
        let mut births = Births::new();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(births.since_last().contains(&child.id()));
        assert!(!births.since_last().contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_pids_may_begin_anew() {
        let wrapped = Range { after: Some(32_000), up_to: Some(310) };
        assert!(wrapped.few().is_none());
        let within = [301, 310, 311, 31_999, 32_000, 32_001].map(|pid| wrapped.contains(pid));
        assert_eq!(within, [true, true, false, false, false, true]);
    }

    #[test]
    fn what_cannot_be_read_rules_nobody_out() {
        let unknown = Range { after: None, up_to: Some(5) };
        assert!(unknown.few().is_none() && unknown.contains(7));
    }

    #[test]
    fn nothing_given_out_is_nothing_new() {
        let none = Range { after: Some(9), up_to: Some(9) };
        assert_eq!(none.few().unwrap().count(), 0);
    }
}
