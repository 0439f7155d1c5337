//! `/proc/PID/cgroup`: the control groups that a process is in.

use std::sync::Arc;

/// One line a hierarchy: several with version 1, one with version 2, both in hybrids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cgroup {
    text: Arc<str>,
}

impl Cgroup {
    /// Of the whole file. A line that makes no sense is passed over when it is looked at.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: Arc::from(text) }
    }

    /// The parts of each hierarchy's path, from the root on.
    ///
    /// Who looks out of a cgroup namespace sees the others from there, as `/../../x`: the way
    /// up is left out.
    pub(super) fn paths(&self) -> impl Iterator<Item = Vec<&str>> {
        self.text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).map(|path| {
            let path = path.strip_suffix(" (deleted)").unwrap_or(path);
            path.split('/').filter(|part| !matches!(*part, "" | "..")).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hierarchy_has_a_path() {
        let cgroup = Cgroup::new(
            "9:name=systemd:/user.slice/user-7.slice\n4:cpu,cpuacct:/a:b/c\n\nnonsense\n0::/\n",
        );
        let paths: Vec<_> = cgroup.paths().collect();
        assert_eq!(paths, [vec!["user.slice", "user-7.slice"], vec!["a:b", "c"], vec![]]);
    }

    #[test]
    fn the_way_up_and_the_mark_of_what_is_gone_are_no_part_of_a_path() {
        let cgroup = Cgroup::new("0::/../../user.slice/x.scope (deleted)\n");
        assert_eq!(cgroup.paths().next().unwrap(), ["user.slice", "x.scope"]);
    }
}
