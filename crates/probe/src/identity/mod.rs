//! The identity behind a process: a person, a job, a container, a notebook, each with the source
//! that it is known from.
//!
//! [`Reader`] reads the files of a process and of its ancestors into an [`Evidence`]; [`identify`]
//! turns that into a [`Who`] and reads no files. There is one file for each kind of sign.
//!
//! # Layout
//!
//! | module | content |
//! |---|---|
//! | `reader` | [`Reader`]: reads the evidence below a host's root |
//! | `cgroup` | control groups, and who may have made them |
//! | `user` | the user, by the first source that can be trusted |
//! | `slurm`, `container` | jobs, containers and pods, by control groups |
//! | `environment` | environment variables, and the Python environment |
//! | `notebook` | notebooks and their kernels |
//! | `launcher` | the launcher, and the group of processes that work together |
//! | `command` | the script in a command line, and the command line without secrets |

mod cgroup;
mod command;
mod container;
mod environment;
mod launcher;
mod notebook;
mod reader;
mod slurm;
mod user;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use cgroup::Cgroup;
pub use command::{masked, script};
pub use container::docker_name;
pub use environment::{Environ, NAMES};
pub use gua_core::identity::{
    Client, Container, Environment, EnvironmentKind, Group, GroupKind, Job, Launcher, Notebook,
    Pod, Runtime, Source, Told, User, Who,
};
pub use notebook::{Kernel, kernel};
pub use reader::{Reader, Subject};

use crate::proc::cmdline::command_name;
use command::kept;
use environment::{Labels, Name};

/// Facts about a process and its ancestors that show its identity. They are not stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    pub program: Arc<str>,
    pub arguments: Vec<String>,
    pub uid: Option<u32>,
    /// `None` if nobody logged in.
    pub loginuid: Option<u32>,
    /// `None` if it cannot be read.
    pub cgroup: Option<Cgroup>,
    /// True if its user namespace is not ours: uid 0 there need not be root.
    pub is_in_a_user_namespace: bool,
    pub environ: Environ,
    pub folder: Option<Arc<str>>,
    /// Pid of its parent, which may be 1.
    pub parent: u32,
    /// Nearest first; without the first process of the host.
    pub ancestors: Vec<Arc<Ancestor>>,
}

/// An ancestor of a process.
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
    /// The kernel that its arguments start. No other argument is kept.
    pub kernel: Option<Kernel>,
    pub environ: Environ,
    /// Working folder of a kernel.
    pub folder: Option<Arc<str>>,
}

impl Ancestor {
    /// Returns true if both are in the same container, or both in none.
    fn is_in_the_container_of(&self, evidence: &Evidence) -> bool {
        let container = |cgroup: &Option<Cgroup>| cgroup.as_ref().and_then(container::place);
        container(&self.cgroup) == container(&evidence.cgroup)
    }
}

/// Names in the host's files that are not about a process.
pub trait Records {
    /// Returns the name of an account; `None` if the uid has none.
    fn account(&mut self, uid: u32) -> Option<Arc<str>>;

    /// Returns the name of a container, if it may be read.
    fn container(&mut self, runtime: Runtime, id: &str) -> Option<Arc<str>>;

    /// Returns true if Docker is known to have a container with this id.
    fn is_of_docker(&mut self, id: &str) -> bool;

    /// Returns the names of the folders with the logs of pods.
    fn pod_logs(&mut self) -> Vec<String>;
}

/// Returns the identity behind a process. What is not known is not guessed.
pub fn identify(evidence: &Evidence, records: &mut impl Records) -> Who {
    let labels = Labels::of(evidence);
    let cgroup = evidence.cgroup.as_ref();
    let job = cgroup.and_then(slurm::place);
    let group = launcher::group(&labels, &evidence.ancestors);
    Who {
        user: user::user(evidence, job.as_ref(), records),
        job: slurm::job(job.as_ref(), &labels),
        container: cgroup.and_then(|cgroup| container::container(cgroup, records)),
        pod: cgroup.and_then(|cgroup| container::pod(cgroup, records)),
        notebook: notebook::notebook(evidence, &labels),
        hub_user: labels.get(Name::JupyterHubUser),
        environment: environment::python_environment(&evidence.arguments, &labels),
        possible_group: launcher::possible_group(evidence, group.is_some()),
        group,
        launcher: launcher::launcher(evidence),
        ancestor_names: launcher::ancestor_names(evidence),
        script: script(&evidence.arguments),
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
