//! Control groups of a process (`/proc/PID/cgroup`), and how far their names can be trusted.

use std::sync::Arc;

use super::{container, slurm};

/// Control groups of a process, one line for each hierarchy: several with version 1, one with
/// version 2, both in hybrids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cgroup {
    text: Arc<str>,
}

impl Cgroup {
    /// Takes the text of the whole file. Lines that make no sense are skipped when they are read.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: Arc::from(text) }
    }

    /// Returns the parts of each hierarchy's path, from the root on. Leading `..` parts, as seen from
    /// within a cgroup namespace, are left out.
    pub(super) fn paths(&self) -> impl Iterator<Item = Vec<&str>> {
        self.text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).map(|path| {
            let path = path.strip_suffix(" (deleted)").unwrap_or(path);
            path.split('/').filter(|part| !matches!(*part, "" | "..")).collect()
        })
    }

    /// Returns the number of the Slurm job that the groups name.
    #[must_use]
    pub fn job(&self) -> Option<Arc<str>> {
        match slurm::place(self)?.id {
            slurm::JobId::Number(number) => Some(number),
            slurm::JobId::Unique(_) => None,
        }
    }

    /// Returns true if a hierarchy has the process below this top-level group.
    #[must_use]
    pub fn is_below(&self, top: &str) -> bool {
        self.paths().any(|path| path.first() == Some(&top))
    }
}

/// Creator of a control group, which decides how far its name can be trusted. The trusted one is
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Maker {
    /// Programs of the system: only root can create groups there.
    System,
    /// A user, below a group of their own. They can choose any name.
    Anybody,
}

impl Maker {
    /// Returns who may have created the groups below this path: below a login session, a job or a
    /// container it is a user.
    #[must_use]
    pub(super) fn of(above: &[&str]) -> Self {
        let is_delegated = (0..above.len()).any(|at| {
            let part = above.get(at).copied().unwrap_or_default();
            is_user_group(part)
                || is_guest(part)
                || slurm::is_job(part)
                || container::is_container(above, at)
        });
        if is_delegated { Self::Anybody } else { Self::System }
    }
}

/// Returns true for `user.slice`, `user-UID.slice` and `user@UID.service`. Within a cgroup namespace
/// the upper ones are not visible, so each counts alone.
fn is_user_group(part: &str) -> bool {
    let is_numbered = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
    let slice = part.strip_prefix("user-").and_then(|rest| rest.strip_suffix(".slice"));
    let service = part.strip_prefix("user@").and_then(|rest| rest.strip_suffix(".service"));
    part == "user.slice" || slice.or(service).is_some_and(is_numbered)
}

/// Returns true for a system in a container or a virtual machine: LXC, Incus, systemd-nspawn, libvirt.
fn is_guest(part: &str) -> bool {
    let is_machine = part.starts_with("machine-") && part.ends_with(".scope");
    is_machine || part.starts_with("lxc.payload") || part == "lxc"
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

    fn maker(path: &str) -> Maker {
        Maker::of(&path.split('/').collect::<Vec<_>>())
    }

    #[test]
    fn the_system_makes_its_slices() {
        for path in [
            "system.slice",
            "machine.slice",
            "kubepods.slice/kubepods-burstable.slice",
            "docker",
            "system.slice/containerd.service",
            "users.slice",
            "user-data.slice",
            "slurm",
        ] {
            assert_eq!(maker(path), Maker::System, "{path}");
        }
    }

    #[test]
    fn people_make_what_is_below_a_place_of_their_own() {
        let id = "ab".repeat(32);
        for path in [
            "user.slice".to_owned(),
            "user-1001.slice".to_owned(),
            "user.slice/user-1001.slice/user@1001.service/app.slice".to_owned(),
            "system.slice/user@1001.service".to_owned(),
            "slurm/uid_1001/job_5/step_0".to_owned(),
            "system.slice/slurmstepd.scope/job_5/step_0/user".to_owned(),
            "slurmstepd.scope/s6GT5B2PVQ8G00/step_0".to_owned(),
            format!("docker/{id}/system.slice"),
            format!("machine.slice/libpod-{id}.scope/container"),
            "machine.slice/machine-vm.scope/payload".to_owned(),
            "lxc.payload.x/system.slice".to_owned(),
            "lxc/x/docker".to_owned(),
        ] {
            assert_eq!(maker(&path), Maker::Anybody, "{path}");
        }
    }
}
