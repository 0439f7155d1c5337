//! Who is behind processes that really run here, in control groups and namespaces of ours.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nvidia_ml::skip::skipped;
use probe::identity::{Source, Who};
use probe::proc::Host;
use probe::process::Presence;

/// A process that ends when it is dropped.
struct Running(Child);

impl Running {
    fn start(program: &str, arguments: &[&str]) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self(command.stderr(Stdio::null()).spawn()?))
    }

    /// Waits until it has said something; false when it ended instead.
    fn has_begun(&mut self) -> bool {
        let mut byte = [0];
        let said = self.0.stdout.as_mut().map(|out| io::Read::read(out, &mut byte));
        matches!(said, Some(Ok(1)))
    }

    fn who(&self) -> Who {
        let mut host = Host::new(Some("/".into())).with_identities(true);
        let Presence::Here(facts) = host.process(self.0.id()) else { panic!("not here") };
        (*facts.who.clone().known().unwrap()).clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Control groups that were made for a test, and go with it.
struct Groups {
    top: PathBuf,
    made: Vec<PathBuf>,
}

impl Groups {
    /// Below the root of a hierarchy that this user may write to.
    fn make(path: &str) -> io::Result<Self> {
        let mounts = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let is_one = |mount: &&Path| mount.join("cgroup.procs").exists();
        let mut found = mounts.iter().map(Path::new).filter(is_one);
        let top = found.next().ok_or(io::ErrorKind::NotFound)?.to_owned();
        let mut groups = Self { made: Vec::new(), top };
        for part in path.split('/') {
            let next = groups.innermost().join(part);
            fs::create_dir(&next)?;
            groups.made.push(next);
        }
        Ok(groups)
    }

    fn innermost(&self) -> &Path {
        self.made.last().unwrap_or(&self.top)
    }

    fn take_in(&self, process: &Running) -> io::Result<()> {
        fs::write(self.innermost().join("cgroup.procs"), process.0.id().to_string())
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[test]
fn a_job_in_a_control_group_of_ours() {
    let name = "a_job_in_a_control_group_of_ours";
    let process = Running::start("cat", &[]).unwrap();
    let path = format!("slurm_gua-test-{}/uid_4242/job_77/step_batch", std::process::id());
    let groups = Groups::make(&path);
    let placed = groups.as_ref().map_or_else(
        |error| Err(error.to_string()),
        |groups| groups.take_in(&process).map_err(|error| error.to_string()),
    );
    if let Err(why) = placed {
        return skipped(name, &format!("no control group can be made: {why}"));
    }
    let text = fs::read_to_string(format!("/proc/{}/cgroup", process.0.id())).unwrap();
    if !text.contains(":/slurm_gua-test") {
        return skipped(name, "we are in a container, and no group of ours is at the top");
    }
    let who = process.who();
    drop(process);
    let job = who.job.unwrap();
    assert_eq!((&*job.value.id, job.value.step.as_deref()), ("77", Some("batch")));
    assert_eq!(job.source, Source::Cgroup);
    let user = who.user.unwrap();
    assert_eq!((user.value.uid, user.source), (4242, Source::Cgroup));
    drop(groups);
}

#[test]
fn a_container_in_a_control_group_of_ours() {
    let name = "a_container_in_a_control_group_of_ours";
    let process = Running::start("cat", &[]).unwrap();
    let id = format!("{:064x}", std::process::id());
    let groups = Groups::make(&format!("gua-test-{}/docker-{id}.scope", std::process::id()));
    let placed = groups.as_ref().is_ok_and(|groups| groups.take_in(&process).is_ok());
    if !placed {
        return skipped(name, "no control group can be made");
    }
    let who = process.who();
    drop(process);
    assert_eq!(*who.container.unwrap().value.id, *id);
    if rustix::process::geteuid().is_root() {
        assert_eq!(who.user, None, "root in a container is nobody");
    }
    drop(groups);
}

#[test]
fn root_in_a_user_namespace_is_nobody() {
    let name = "root_in_a_user_namespace_is_nobody";
    let script = ["--user", "--map-root-user", "sh", "-c", "echo; read -r line"];
    let Ok(mut process) = Running::start("unshare", &script) else {
        return skipped(name, "there is no unshare(1)");
    };
    if !process.has_begun() {
        return skipped(name, "no user namespace can be made");
    }
    let who = process.who();
    if rustix::process::geteuid().is_root() {
        assert_eq!(who.user, None, "{who:?}");
    } else {
        let uid = rustix::process::geteuid().as_raw();
        assert!(who.user.is_none_or(|user| user.value.uid == uid));
    }
}

/// How often this thread has read a file so far.
fn reads() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    let count = io.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
    count.parse().unwrap()
}

/// Who comes anew costs some files, however many processes the host has; who stays costs none.
#[test]
fn what_it_costs_follows_those_who_come() {
    let crowd: Vec<Running> = (0..50).map(|_| Running::start("cat", &[]).unwrap()).collect();
    let mut host = Host::new(Some("/".into())).with_identities(true);
    let mut look = || {
        let before = reads();
        host.forget_the_ended();
        for process in &crowd {
            assert!(matches!(host.process(process.0.id()), Presence::Here(_)));
        }
        reads() - before
    };
    let (anew, again) = (look(), look());
    // Nine files of its own, each read to its end, and those of their ancestors once.
    assert!(anew < 50 * 18 + 40 * 12, "{anew}");
    // What it takes to count.
    assert!(again < 5, "{again}");
}
