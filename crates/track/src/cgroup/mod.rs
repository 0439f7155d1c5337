//! The cgroup of a container or a job: what it allows, and the peak it has noted.

mod allowed;
mod place;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use probe::Why;
use probe::units::Bytes;

use allowed::Allowed;
use place::Place;

use crate::usage::{CgroupPeak, Limits};

/// A limit of this size is none: an older kernel writes the largest number it has.
const NO_LIMIT: u64 = 1 << 60;

/// The cgroup that a process was in when the measurement began.
#[derive(Debug)]
pub struct Cgroup {
    limits: Limits,
    memory: Option<Place>,
    /// What the peak was at the begin.
    peak_before: Option<u64>,
}

impl Cgroup {
    /// One of which nothing is known.
    #[must_use]
    pub const fn unknown(why: Why) -> Self {
        Self { limits: Limits::unknown(why), memory: None, peak_before: None }
    }

    /// The cgroup of a process, from the text of its `cgroup` file, in the machine whose files
    /// begin at `root`.
    #[must_use]
    pub fn of(membership: &str, root: &Path) -> Self {
        let Allowed { memory, limits } = allowed::to(membership, root);
        let peak_before = memory.as_ref().and_then(peak);
        Self { limits, memory, peak_before }
    }

    /// What it allows, where that is less than what the machine has.
    #[must_use]
    pub fn limits(&self, ram: Option<Bytes>, cores: u32) -> Limits {
        Limits {
            ram: self
                .limits
                .ram
                .map(|limit| limit.filter(|limit| ram.is_none_or(|ram| *limit < ram))),
            cores: self.limits.cores.map(|limit| limit.filter(|limit| *limit < f64::from(cores))),
        }
    }

    /// Returns the peak. `None` when it was reached before the begin, or when the cgroup held others
    /// than those who belong there.
    #[must_use]
    pub fn peak(&self, belongs: impl Fn(u32) -> bool) -> Option<CgroupPeak> {
        let place = self.memory.as_ref()?;
        let peak = peak(place)?;
        let is_ours =
            peak > self.peak_before? && processes(&place.folder)?.into_iter().all(belongs);
        let without_cache = page_cache(place).map(|cache| Bytes(peak.saturating_sub(cache)));
        is_ours.then_some(CgroupPeak { total: Bytes(peak), without_cache })
    }
}

/// The narrowest limit on the way up.
fn memory_limit(place: &Place) -> Option<Bytes> {
    let name = if place.is_unified { "memory.max" } else { "memory.limit_in_bytes" };
    let limits = place.way_up().filter_map(|folder| number(&folder.join(name)));
    limits.filter(|limit| *limit < NO_LIMIT).min().map(Bytes)
}

fn core_limit(place: &Place) -> Option<f64> {
    let limits = place.way_up().filter_map(|folder| quota(&folder, place.is_unified));
    limits.reduce(f64::min)
}

/// How many cores' time may be used.
fn quota(folder: &Path, is_unified: bool) -> Option<f64> {
    let (quota, period): (f64, f64) = if is_unified {
        let text = short_text(&folder.join("cpu.max"))?;
        let (quota, period) = text.trim().split_once(' ')?;
        (quota.parse().ok()?, period.parse().ok()?)
    } else {
        let text = |name| short_text(&folder.join(name));
        let quota = text("cpu.cfs_quota_us")?.trim().parse().ok()?;
        (quota, text("cpu.cfs_period_us")?.trim().parse().ok()?)
    };
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn peak(place: &Place) -> Option<u64> {
    let name = if place.is_unified { "memory.peak" } else { "memory.max_usage_in_bytes" };
    number(&place.folder.join(name))
}

/// Memory of files, as of now, that the kernel gives back when room is needed. That of tmpfs stays.
fn page_cache(place: &Place) -> Option<u64> {
    let [file, tmpfs] =
        if place.is_unified { ["file", "shmem"] } else { ["total_cache", "total_shmem"] };
    let text = fs::read_to_string(place.folder.join("memory.stat")).ok()?;
    let figure = |name| {
        let found =
            text.lines().filter_map(|line| line.split_once(' ')).find(|line| line.0 == name);
        found?.1.parse::<u64>().ok()
    };
    Some(figure(file)?.saturating_sub(figure(tmpfs)?))
}

/// `None` for a file that is not there and for the word `max`.
fn number(path: &Path) -> Option<u64> {
    short_text(path)?.trim().parse().ok()
}

/// A file of one line, which the kernel gives out whole.
fn short_text(path: &Path) -> Option<String> {
    let mut bytes = [0; 128];
    let length = File::open(path).ok()?.read(&mut bytes).ok()?;
    String::from_utf8(bytes.get(..length)?.to_vec()).ok()
}

/// All processes in a cgroup and in those below it; `None` when that cannot be told.
fn processes(folder: &Path) -> Option<HashSet<u32>> {
    let mut found = HashSet::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for pid in fs::read_to_string(folder.join("cgroup.procs")).ok()?.lines() {
            found.insert(pid.parse().ok()?);
        }
        for entry in fs::read_dir(&folder).ok()? {
            let entry = entry.ok()?;
            if entry.file_type().ok()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::Reading;

    const MEMBERSHIP: &str = "0::/job_7/step_0\n";
    const MOUNTS: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn limits(ram: u64, cores: f64) -> Limits {
        Limits { ram: Reading::Known(Some(Bytes(ram))), cores: Reading::Known(Some(cores)) }
    }

    /// A machine with these files.
    fn machine(mounts: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [("proc/self/mountinfo", mounts)].iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_narrowest_limit_on_the_way_up_counts() {
        let root = machine(
            MOUNTS,
            &[
                ("sys/fs/cgroup/job_7/memory.max", "4000000000\n"),
                ("sys/fs/cgroup/job_7/step_0/memory.max", "max\n"),
                ("sys/fs/cgroup/job_7/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/job_7/step_0/cpu.max", "max 100000\n"),
            ],
        );
        let large = Cgroup::of(MEMBERSHIP, root.path()).limits(Some(Bytes(64_000_000_000)), 8);
        assert_eq!(large, limits(4_000_000_000, 1.5));
        let small = Cgroup::of(MEMBERSHIP, root.path()).limits(Some(Bytes(2_000_000_000)), 1);
        assert_eq!(small, Limits::NONE, "more than there is limits nothing");
    }

    #[test]
    fn controllers_of_their_own_are_found_where_they_are_mounted() {
        let mounts = "35 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            36 30 0:32 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
        let membership = "4:memory:/slurm/uid_5/job_7\n3:cpu,cpuacct:/docker/abc\n0::/\n";
        let memory = "sys/fs/cgroup/memory/slurm/uid_5/job_7/memory.limit_in_bytes";
        let root = machine(
            mounts,
            &[
                (memory, "1000\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let found = Cgroup::of(membership, root.path()).limits(None, 64);
        assert_eq!(found, limits(1000, 2.0));
    }

    #[test]
    fn a_peak_counts_when_it_is_new_and_ours_alone() {
        let folder = "sys/fs/cgroup/job_7/step_0";
        let root = machine(
            MOUNTS,
            &[
                (&format!("{folder}/memory.peak"), "5000\n"),
                (&format!("{folder}/cgroup.procs"), "10\n11\n"),
                (&format!("{folder}/below/cgroup.procs"), "12\n"),
            ],
        );
        let cgroup = Cgroup::of(MEMBERSHIP, root.path());
        assert_eq!(cgroup.peak(|_| true), None, "it was reached before");
        fs::write(root.path().join(folder).join("memory.peak"), "7000\n").unwrap();
        let ours = |pid| [10, 11, 12].contains(&pid);
        let peak = |without_cache| Some(CgroupPeak { total: Bytes(7000), without_cache });
        assert_eq!(cgroup.peak(ours), peak(None), "no memory.stat");
        let stat = "anon 3000\nfile 3900\nkernel 100\nshmem 1500\n";
        fs::write(root.path().join(folder).join("memory.stat"), stat).unwrap();
        assert_eq!(cgroup.peak(ours), peak(Some(Bytes(4600))));
        assert_eq!(cgroup.peak(|pid| [10, 11].contains(&pid)), None, "12 is somebody else");
    }

    #[test]
    fn no_cgroup_is_no_limit() {
        let root = machine("", &[]);
        let cgroup = Cgroup::of("", root.path());
        assert_eq!(cgroup.limits(None, 8), Limits::NONE);
        assert_eq!(cgroup.peak(|_| true), None);
    }

    /// Trap: where it could not be read what is mounted, nothing was limited.
    #[test]
    fn a_limit_that_cannot_be_looked_for_is_unknown() {
        let root = tempfile::tempdir().unwrap();
        let cgroup = Cgroup::of(MEMBERSHIP, root.path());
        assert_eq!(cgroup.limits(None, 8), Limits::unknown(Why::Garbled));
        assert_eq!(cgroup.peak(|_| true), None);
    }

    #[test]
    fn a_mount_whose_name_is_no_text_hides_no_limit() {
        let root = machine("", &[("sys/fs/cgroup/job_7/memory.max", "4000\n")]);
        let mounts = [b"9 1 0:9 / /mnt/\xff rw - ext4 /dev/x rw\n", MOUNTS.as_bytes()].concat();
        fs::write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
        let cgroup = Cgroup::of(MEMBERSHIP, root.path());
        assert_eq!(cgroup.limits(None, 8).ram, Reading::Known(Some(Bytes(4000))));
    }
}
