//! Reads the evidence of a process's identity below a host's root.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::command::kept;
use super::{
    Ancestor, Cgroup, Environ, Evidence, Records, Runtime, Who, container, identify, names,
    notebook, user,
};
use crate::proc::{self, Accounts, cmdline, stat, status};
use crate::reading::{Reading, Why};

/// Greatest number of ancestors that are read.
const GENERATIONS: usize = 40;
/// Greatest number of ancestors that are remembered at once.
const REMEMBERED: usize = 1024;
/// Greatest number of bytes that are read of a file.
const LONGEST_FILE: u64 = 16 << 20;
/// Pid of the first process. It becomes the parent of orphans, so it did not start them.
const FIRST_PROCESS: u32 = 1;

/// A process of which some files were read already.
#[derive(Debug)]
pub struct Subject<'a> {
    pub pid: u32,
    pub stat: &'a stat::ProcessStat,
    pub program: Arc<str>,
    pub uid: Option<u32>,
    /// Bytes of `/proc/PID/cmdline`.
    pub arguments: &'a [u8],
}

/// Finds the identity behind processes. It remembers ancestors, so that many processes of one launcher
/// cost little more than one. The cost depends on the processes that are asked for, not on how many the
/// host has.
#[derive(Debug)]
pub struct Reader {
    root: PathBuf,
    ancestors: HashMap<u32, Arc<Ancestor>>,
    /// Our own user namespace.
    uid_map: Option<String>,
}

impl Reader {
    /// Returns a reader of the host below this root.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root, ancestors: HashMap::new(), uid_map: None }
    }

    /// Returns the identity behind a process. `Gone` if it ended meanwhile: another process with its pid
    /// may have been read.
    pub fn who(&mut self, subject: &Subject<'_>, accounts: &mut Accounts) -> Reading<Arc<Who>> {
        let mut evidence = self.evidence(subject);
        evidence.ancestors = self.ancestors_of(subject.stat);
        match self.stat(subject.pid) {
            Some(now) if now.start_ticks != subject.stat.start_ticks => {
                return Reading::Unknown(Why::Gone);
            }
            // It was orphaned while its parents were read.
            Some(now) if now.parent != subject.stat.parent => {
                (evidence.parent, evidence.ancestors) = (now.parent, self.ancestors_of(&now));
            }
            Some(_) => {}
            None => return Reading::Unknown(Why::Gone),
        }
        let mut records = HostRecords { root: &self.root, accounts };
        Reading::Known(Arc::new(identify(&evidence, &mut records)))
    }

    /// Forgets the ancestors. To be called before each poll: their pids may belong to others by then.
    pub fn forget_ancestors(&mut self) {
        self.ancestors.clear();
    }

    /// Returns the number of ancestors that are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.ancestors.len()
    }

    fn evidence(&mut self, subject: &Subject<'_>) -> Evidence {
        let pid = subject.pid;
        Evidence {
            program: Arc::clone(&subject.program),
            arguments: cmdline::parse(subject.arguments),
            uid: subject.uid,
            loginuid: self.text(pid, "loginuid").and_then(|text| user::loginuid(&text)),
            cgroup: self.text(pid, "cgroup").map(|text| Cgroup::new(&text)),
            is_in_a_user_namespace: self.is_in_a_user_namespace(pid),
            environ: self.environ(pid),
            folder: self.folder(pid),
            parent: subject.stat.parent,
            ancestors: Vec::new(),
        }
    }

    /// Returns the ancestors, nearest first, without the first process of the host. A process that began
    /// after its child is not its parent, but another one with the parent's pid.
    fn ancestors_of(&mut self, stat: &stat::ProcessStat) -> Vec<Arc<Ancestor>> {
        let mut ancestors: Vec<Arc<Ancestor>> = Vec::new();
        let (mut pid, mut before) = (stat.parent, stat.start_ticks);
        while pid > FIRST_PROCESS && ancestors.len() < GENERATIONS {
            let ancestor = self.ancestor(pid);
            let Some(ancestor) = ancestor.filter(|it| it.start_ticks <= before) else { break };
            (pid, before) = (ancestor.parent, ancestor.start_ticks);
            ancestors.push(ancestor);
        }
        ancestors
    }

    fn ancestor(&mut self, pid: u32) -> Option<Arc<Ancestor>> {
        if let Some(known) = self.ancestors.get(&pid) {
            return Some(Arc::clone(known));
        }
        let stat = self.stat(pid)?;
        let bytes = self.bytes(pid, "cmdline").unwrap_or_default();
        let (arguments, program) =
            (cmdline::parse(&bytes), cmdline::program(&stat.comm, &bytes).into());
        let kernel = notebook::kernel(&arguments);
        let ancestor = Arc::new(Ancestor {
            pid,
            parent: stat.parent,
            start_ticks: stat.start_ticks,
            names: names(&program, &arguments),
            program,
            uid: self.text(pid, "status").and_then(|text| status::uid(&text)),
            cgroup: self.text(pid, "cgroup").map(|text| Cgroup::new(&text)),
            environ: self.environ(pid),
            folder: kernel.as_ref().and_then(|_| self.folder(pid)),
            kernel,
        });
        if self.ancestors.len() >= REMEMBERED {
            self.ancestors.clear();
        }
        self.ancestors.insert(pid, Arc::clone(&ancestor));
        Some(ancestor)
    }

    /// Returns an empty environment if it cannot be read, so that the ancestors' is used.
    fn environ(&self, pid: u32) -> Environ {
        self.bytes(pid, "environ").map(|bytes| Environ::parse(&bytes)).unwrap_or_default()
    }

    fn folder(&self, pid: u32) -> Option<Arc<str>> {
        let folder = fs::read_link(self.of(pid, "cwd")).ok()?;
        kept(&folder.to_string_lossy())
    }

    /// Returns false also for a map that cannot be read: containers are found in another way.
    fn is_in_a_user_namespace(&mut self, pid: u32) -> bool {
        let Some(map) = self.text(pid, "uid_map") else { return false };
        let own = match &self.uid_map {
            Some(own) => own,
            None => {
                let own = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
                self.uid_map.insert(own)
            }
        };
        user::is_another_namespace(&map, own)
    }

    fn stat(&self, pid: u32) -> Option<stat::ProcessStat> {
        stat::parse(&self.bytes(pid, "stat")?)
    }

    fn text(&self, pid: u32, file: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(pid, file)?).into_owned())
    }

    fn bytes(&self, pid: u32, file: &str) -> Option<Vec<u8>> {
        proc::read(&self.of(pid, file)).ok()
    }

    fn of(&self, pid: u32, file: &str) -> PathBuf {
        self.root.join(format!("proc/{pid}/{file}"))
    }
}

/// Files of container engines and nodes. A rootless engine has them in its owner's home, which may be
/// on a disk that hangs, so those are not read.
struct HostRecords<'a> {
    root: &'a Path,
    accounts: &'a mut Accounts,
}

impl HostRecords<'_> {
    fn of_docker(&self, id: &str) -> PathBuf {
        self.root.join("var/lib/docker/containers").join(id)
    }
}

impl Records for HostRecords<'_> {
    fn account(&mut self, uid: u32) -> Option<Arc<str>> {
        self.accounts.name(uid).ok().flatten()
    }

    fn container(&mut self, runtime: Runtime, id: &str) -> Option<Arc<str>> {
        const PODMAN: &str = "var/lib/containers/storage/overlay-containers/containers.json";
        match runtime {
            Runtime::Docker => {
                let record = regular_file(&self.of_docker(id).join("config.v2.json")).ok()?;
                container::docker_name(&record)
            }
            Runtime::Podman => {
                container::podman_name(&regular_file(&self.root.join(PODMAN)).ok()?, id)
            }
            // They keep names in databases. The pod has more information.
            Runtime::Containerd | Runtime::Crio => None,
        }
    }

    fn is_of_docker(&mut self, id: &str) -> bool {
        self.of_docker(id).is_dir()
    }

    fn pod_logs(&mut self) -> Vec<String> {
        let Ok(folders) = fs::read_dir(self.root.join("var/log/pods")) else { return Vec::new() };
        folders.flatten().map(|folder| folder.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Reads a regular file. It does not wait for a pipe or a device in its place.
fn regular_file(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}
