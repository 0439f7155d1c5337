//! What was read of a process, for finding out who is behind it.

use std::sync::Arc;

use super::Runtime;
use super::cgroup::Cgroup;
use super::container;
use super::environ::Environ;
use super::jupyter::Kernel;
use super::script::script;
use super::text::kept;
use crate::proc::cmdline::command_name;

/// A process, its surroundings and those that it came from. Its arguments are looked at, and
/// not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    pub program: Arc<str>,
    pub arguments: Vec<String>,
    pub uid: Option<u32>,
    /// `None` where nobody logged in.
    pub loginuid: Option<u32>,
    /// `None` where it cannot be read.
    pub cgroup: Option<Cgroup>,
    /// Whether its uids are others than ours: it may be root there.
    pub is_in_a_user_namespace: bool,
    pub environ: Environ,
    pub folder: Option<Arc<str>>,
    /// Pid of its parent, which may be 1.
    pub parent: u32,
    /// Nearest first; without the first process of the host.
    pub ancestors: Vec<Arc<Ancestor>>,
}

/// A process that another one came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    pub pid: u32,
    pub parent: u32,
    pub start_ticks: u64,
    pub program: Arc<str>,
    /// See [`names`].
    pub names: Vec<Arc<str>>,
    pub uid: Option<u32>,
    pub cgroup: Option<Cgroup>,
    /// Of its arguments nothing else is kept.
    pub kernel: Option<Kernel>,
    pub environ: Environ,
    /// Of a kernel, where it works.
    pub folder: Option<Arc<str>>,
}

impl Ancestor {
    /// Whether both are in one container, or in none.
    pub(super) fn is_in_the_container_of(&self, evidence: &Evidence) -> bool {
        let container = |cgroup: &Option<Cgroup>| cgroup.as_ref().and_then(container::placed);
        container(&self.cgroup) == container(&evidence.cgroup)
    }
}

/// Returns the names of a process: its program, the kernel's command name, the first word of its
/// command line without the folder, and its script or module.
#[must_use]
pub fn names(program: &Arc<str>, arguments: &[String]) -> Vec<Arc<str>> {
    let first = arguments.first().and_then(|title| title.split_whitespace().next());
    let first = first.and_then(|word| kept(word.rsplit('/').next().unwrap_or(word)));
    let mut names = vec![Arc::clone(program)];
    let command = kept(command_name(program));
    for name in command.into_iter().chain(first).chain(script(arguments)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What the host has on record besides its processes.
pub trait Records {
    /// The name of an account; `None` where the uid has none.
    fn account(&mut self, uid: u32) -> Option<Arc<str>>;

    /// The name of a container, where it may be read.
    fn container(&mut self, runtime: Runtime, id: &str) -> Option<Arc<str>>;

    /// Whether Docker has a container by this id, as far as that may be known.
    fn is_of_docker(&mut self, id: &str) -> bool;

    /// The names of the folders of pods' logs.
    fn pod_logs(&mut self) -> Vec<String>;
}
