//! A cgroup that was made for the test, where this user may make one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::subject::{skip, subject};

const LIMIT: u64 = 400 << 20;

/// A cgroup with this process in it. It goes when it is dropped.
struct Job {
    folder: PathBuf,
    above: PathBuf,
}

impl Job {
    /// # Errors
    /// When none can be made here, which is usual for a user who is not root.
    fn new() -> std::io::Result<Self> {
        let (above, limit) = if Path::new("/sys/fs/cgroup/memory").is_dir() {
            (own_folder("/sys/fs/cgroup/memory", ":memory:"), "memory.limit_in_bytes")
        } else {
            (own_folder("/sys/fs/cgroup", "0::"), "memory.max")
        };
        let folder = above.join(format!("gua-test-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let job = Self { folder, above };
        fs::write(job.folder.join(limit), LIMIT.to_string())?;
        enter(&job.folder)?;
        Ok(job)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = enter(&self.above);
        let _ = fs::remove_dir(&self.folder);
    }
}

fn enter(folder: &Path) -> std::io::Result<()> {
    fs::write(folder.join("cgroup.procs"), std::process::id().to_string())
}

/// The cgroup that this process is in.
fn own_folder(mount: &str, hierarchy: &str) -> PathBuf {
    let membership = fs::read_to_string("/proc/self/cgroup").unwrap();
    let path = membership.lines().find_map(|line| line.split_once(hierarchy)).unwrap().1;
    Path::new(mount).join(path.trim_start_matches('/'))
}

#[test]
fn its_limit_is_the_capacity_and_its_peak_is_told() {
    let job = match Job::new() {
        Ok(job) => job,
        Err(error) => return skip("a cgroup of our own", &error.to_string()),
    };
    let mut subject = subject(Duration::from_millis(20), &["alloc", "60"]);
    subject.is_seen(|sample| sample.ram.combined.total.0 > 60_000_000);
    let usage = subject.end().usage;
    drop(job);
    assert_eq!(usage.machine.limits.ram.known().flatten().unwrap().0, LIMIT);
    let peak = usage.ram.cgroup_peak.unwrap().total;
    assert!((60_000_000..LIMIT).contains(&peak.0), "{peak:?}");
}
