//! Reads what tells who is behind a process, below a host's root.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::cgroup::Cgroup;
use super::environ::Environ;
use super::evidence::{Ancestor, Evidence, Records, names};
use super::text::kept;
use super::{Runtime, Who, attribution, container, jupyter, login};
use crate::proc::{self, Accounts, cmdline, stat, status};
use crate::reading::{Reading, Why};

/// A longer line of parents makes no sense.
const GENERATIONS: usize = 40;
/// So many ancestors are remembered at once.
const REMEMBERED: usize = 1024;
/// In bytes, of any file.
const LONGEST_FILE: u64 = 16 << 20;
/// Orphans come to it, so it says nothing of who started them.
const FIRST_PROCESS: u32 = 1;

/// A process, as far as it was read before.
#[derive(Debug)]
pub struct Subject<'a> {
    pub pid: u32,
    pub stat: &'a stat::ProcessStat,
    pub program: Arc<str>,
    pub uid: Option<u32>,
    /// As `/proc/PID/cmdline` has them.
    pub arguments: &'a [u8],
}

/// Finds out who is behind a process. Remembers the processes that others came from, so that a
/// crowd of one launcher costs little more than one of them. What it costs follows those who
/// are asked for, never how many processes the host has.
#[derive(Debug)]
pub struct Reader {
    root: PathBuf,
    ancestors: HashMap<u32, Arc<Ancestor>>,
    /// Our own user namespace.
    uid_map: Option<String>,
}

impl Reader {
    /// Reads below this root.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root, ancestors: HashMap::new(), uid_map: None }
    }

    /// Who is behind a process. `Gone` where it ended meanwhile: what was read may be another's
    /// with its pid.
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
        Reading::Known(Arc::new(attribution::who(&evidence, &mut records)))
    }

    /// Forgets those that others came from. To be called before each time that some are asked
    /// for: their pids may be others' by then.
    pub fn forget_ancestors(&mut self) {
        self.ancestors.clear();
    }

    /// How many processes that others came from are remembered.
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
            loginuid: self.text(pid, "loginuid").and_then(|text| login::loginuid(&text)),
            cgroup: self.text(pid, "cgroup").map(|text| Cgroup::new(&text)),
            is_in_a_user_namespace: self.is_in_a_user_namespace(pid),
            environ: self.environ(pid),
            folder: self.folder(pid),
            parent: subject.stat.parent,
            ancestors: Vec::new(),
        }
    }

    /// Nearest first, up to the first process of the host. Who began after its child is not its
    /// parent, but another process with the parent's pid.
    fn ancestors_of(&mut self, stat: &stat::ProcessStat) -> Vec<Arc<Ancestor>> {
        let mut ancestors: Vec<Arc<Ancestor>> = Vec::new();
        let (mut pid, mut before) = (stat.parent, stat.start_ticks);
        while pid > FIRST_PROCESS && ancestors.len() < GENERATIONS {
            let ancestor = self.ancestor(pid);
            let Some(ancestor) = ancestor.filter(|kin| kin.start_ticks <= before) else { break };
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
        let kernel = jupyter::kernel(&arguments);
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

    /// What cannot be read is as good as wiped: its parents are asked.
    fn environ(&self, pid: u32) -> Environ {
        self.bytes(pid, "environ").map(|bytes| Environ::parse(&bytes)).unwrap_or_default()
    }

    fn folder(&self, pid: u32) -> Option<Arc<str>> {
        let folder = fs::read_link(self.of(pid, "cwd")).ok()?;
        kept(&folder.to_string_lossy())
    }

    /// Of a process whose map cannot be read nothing is known; it is taken for one of ours, as
    /// its container is told otherwise.
    fn is_in_a_user_namespace(&mut self, pid: u32) -> bool {
        let Some(map) = self.text(pid, "uid_map") else { return false };
        let own = match &self.uid_map {
            Some(own) => own,
            None => {
                let own = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
                self.uid_map.insert(own)
            }
        };
        login::is_another_namespace(&map, own)
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

/// The files that engines and nodes keep. A rootless engine's are in its owner's home, which
/// may lie on a disk that hangs: those are left alone.
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
            // Theirs are in databases of their own; the pod says more.
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

/// What a file holds. A pipe or a device in its place is not waited for.
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
