//! Who made a control group, which decides what its name is worth.

use super::{container, slurm};

/// The trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Maker {
    /// The system's own programs: nobody but root makes groups there.
    System,
    /// Somebody below a place of their own: they may call it anything.
    Anybody,
}

impl Maker {
    /// Of the last of these parts of a path: below a login session, a job or a container groups
    /// are made by who is in there.
    #[must_use]
    pub(super) fn of(above: &[&str]) -> Self {
        let is_theirs = (0..above.len()).any(|at| {
            let part = above.get(at).copied().unwrap_or_default();
            is_of_a_user(part)
                || is_of_a_guest(part)
                || slurm::is_of_a_job(part)
                || container::is_one(above, at)
        });
        if is_theirs { Self::Anybody } else { Self::System }
    }
}

/// `user.slice`, `user-UID.slice`, `user@UID.service`: any of them, as who looks out of a cgroup
/// namespace does not see those above.
fn is_of_a_user(part: &str) -> bool {
    let is_numbered = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
    let slice = part.strip_prefix("user-").and_then(|rest| rest.strip_suffix(".slice"));
    let service = part.strip_prefix("user@").and_then(|rest| rest.strip_suffix(".service"));
    part == "user.slice" || slice.or(service).is_some_and(is_numbered)
}

/// A whole system in a container or a machine: LXC, Incus, systemd-nspawn, libvirt.
fn is_of_a_guest(part: &str) -> bool {
    let is_machine = part.starts_with("machine-") && part.ends_with(".scope");
    is_machine || part.starts_with("lxc.payload") || part == "lxc"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Maker {
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
            assert_eq!(of(path), Maker::System, "{path}");
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
            assert_eq!(of(&path), Maker::Anybody, "{path}");
        }
    }
}
