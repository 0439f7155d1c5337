//! `/proc/PID/cgroup`: the control groups that a process is in.

use std::sync::Arc;

use super::slurm;

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

    /// The number of the job that Slurm has put it into, where its groups tell.
    #[must_use]
    pub fn job(&self) -> Option<Arc<str>> {
        match slurm::placed(self)?.id {
            slurm::Id::Number(number) => Some(number),
            slurm::Id::Unique(_) => None,
        }
    }

    /// Whether a hierarchy has it below this group at the top.
    #[must_use]
    pub fn is_below(&self, top: &str) -> bool {
        self.paths().any(|path| path.first() == Some(&top))
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

    /// Trap: below their own session, people make groups by any name.
    #[test]
    fn a_job_is_one_at_the_top_only() {
        let job = |text: &str| Cgroup::new(text).job().map(|job| job.to_string());
        assert_eq!(job("0::/system.slice/slurmstepd.scope/job_7/step_0\n").as_deref(), Some("7"));
        assert_eq!(job("0::/system.slice/slurmstepd.scope/s6GT5B2PVQ8G00/step_0\n"), None);
        let own = "0::/user.slice/user-7.slice/user@7.service/slurmstepd.scope/job_7\n";
        assert_eq!(job(own), None);
        assert!(Cgroup::new(own).is_below("user.slice"));
        assert!(!Cgroup::new("0::/system.slice/user.slice\n").is_below("user.slice"));
    }
}
