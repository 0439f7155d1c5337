//! Where a process's cgroup is in the file system.

use std::path::{Path, PathBuf};

/// What a cgroup controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    Memory,
    Cpu,
}

impl Controller {
    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
        }
    }
}

/// The folder of a cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub folder: PathBuf,
    /// Where its hierarchy begins.
    top: PathBuf,
    /// All controllers in one hierarchy (version 2), with other file names.
    pub is_unified: bool,
}

impl Place {
    /// The folder, and all above it.
    pub fn way_up(&self) -> impl Iterator<Item = PathBuf> {
        let top = self.top.clone();
        let folders: Vec<_> = self.folder.ancestors().map(Path::to_owned).collect();
        folders.into_iter().take_while(move |folder| folder.starts_with(&top))
    }
}

/// The cgroup of a controller, from `/proc/PID/cgroup` and `/proc/self/mountinfo`. A hierarchy of
/// the controller's own goes before the unified one, where it may be only named.
#[must_use]
pub fn find(membership: &str, mounts: &str, wanted: Controller, root: &Path) -> Option<Place> {
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
    let memberships: Vec<_> = membership.lines().filter_map(parse_membership).collect();
    [false, true].into_iter().find_map(|is_unified| {
        let (_, path) = memberships.iter().find(|(controllers, _)| {
            if is_unified { controllers.is_empty() } else { has(controllers, wanted) }
        })?;
        let mount = mounts.iter().find(|mount| {
            mount.is_unified == is_unified && (is_unified || has(mount.options, wanted))
        })?;
        let top = root.join(mount.point.trim_start_matches('/'));
        let folder = top.join(mount.below(path).trim_start_matches('/'));
        Some(Place { folder, top, is_unified })
    })
}

fn has(list: &str, wanted: Controller) -> bool {
    list.split(',').any(|name| name == wanted.name())
}

/// The controllers and the path of a line such as `4:cpu,cpuacct:/user.slice`.
fn parse_membership(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_once(':')
}

/// A mounted hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mount<'a> {
    /// The part of the hierarchy that is seen at the mount point.
    shown: &'a str,
    point: &'a str,
    is_unified: bool,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (shown, point) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let is_unified = match right.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        Some(Self { shown, point, is_unified, options: right.nth(1)? })
    }

    /// A path in the hierarchy, as it is seen below the mount point.
    fn below(&self, path: &'a str) -> &'a str {
        path.strip_prefix(self.shown).unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_container_sees_its_own_part_only() {
        let mounts = "1 2 0:3 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let place =
            find("0::/docker/abc/sub\n", mounts, Controller::Memory, Path::new("/")).unwrap();
        assert_eq!(place.folder, Path::new("/sys/fs/cgroup/sub"));
        let up: Vec<_> = place.way_up().collect();
        assert_eq!(up, [Path::new("/sys/fs/cgroup/sub"), Path::new("/sys/fs/cgroup/")]);
    }

    #[test]
    fn a_hierarchy_of_its_own_goes_first() {
        let mounts = "1 2 0:3 / /c/unified rw - cgroup2 cgroup2 rw\n\
            2 2 0:4 / /c/memory rw - cgroup cgroup rw,memory\n";
        let membership = "4:memory:/a\n0::/b\n";
        let memory = find(membership, mounts, Controller::Memory, Path::new("/")).unwrap();
        assert_eq!((memory.folder.as_path(), memory.is_unified), (Path::new("/c/memory/a"), false));
        let cpu = find(membership, mounts, Controller::Cpu, Path::new("/")).unwrap();
        assert_eq!((cpu.folder.as_path(), cpu.is_unified), (Path::new("/c/unified/b"), true));
    }

    proptest! {
        #[test]
        fn nothing_that_is_read_makes_it_fall_over(a in "[:/a,0 \\-\n]{0,60}", b in "[ \\-/cgroup2\n]{0,90}") {
            let _ = find(&a, &b, Controller::Cpu, Path::new("/"));
        }
    }
}
