//! Launcher of a process, and the group of processes that work on one thing together: those of one
//! `torchrun` or of one Ray job.

use std::sync::Arc;

use super::command::script;
use super::environment::{Labels, Name};
use super::{Ancestor, Evidence, Group, GroupKind, Launcher, Source, Told, notebook};

/// Programs that only let users log in.
const LOGIN_PROGRAMS: [&str; 3] = ["sshd", "sshd-session", "login"];

/// Returns the distinct names of all ancestors with the same uid, nearest first.
#[must_use]
pub(super) fn ancestor_names(evidence: &Evidence) -> Option<Arc<[Arc<str>]>> {
    let uid = evidence.uid?;
    let same = evidence.ancestors.iter().filter(|ancestor| ancestor.uid == Some(uid));
    let mut names: Vec<Arc<str>> = Vec::new();
    for name in same.flat_map(|ancestor| &ancestor.names) {
        if !names.contains(name) {
            names.push(Arc::clone(name));
        }
    }
    Some(names.into())
}

/// Returns the top ancestor with the same uid and control groups. The new parent of an orphan is not
/// one: it has another user or group.
#[must_use]
pub(super) fn launcher(evidence: &Evidence) -> Option<Told<Launcher>> {
    let is_related = |ancestor: &&Arc<Ancestor>| {
        ancestor.uid == evidence.uid
            && ancestor.cgroup == evidence.cgroup
            && !LOGIN_PROGRAMS.contains(&&*ancestor.program)
    };
    let top = evidence.ancestors.iter().rev().find(is_related)?;
    let value = Launcher { pid: top.pid, program: Arc::clone(&top.program) };
    Some(Told { value, source: Source::Ancestors })
}

/// The run id that `torchrun` sets when none was given.
const NAMELESS: &str = "none";

/// Programs that start the ranks of a job: `torchrun`, accelerate, deepspeed, Ray, Horovod, and
/// the starters and daemons of Open MPI, PRRTE, MPICH and Intel MPI.
const LAUNCHERS: [&str; 17] = [
    "torchrun",
    "accelerate",
    "accelerate-launch",
    "deepspeed",
    "ray",
    "raylet",
    "horovodrun",
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "orterun",
    "prterun",
    "prun",
    "orted",
    "prted",
    "hydra_pmi_proxy",
    "hydra_bstrap_proxy",
];

/// Prefixes of the modules and process titles that do the same.
const LAUNCHER_PREFIXES: [&str; 4] =
    ["torch.distributed.", "accelerate.commands.", "deepspeed.launcher.", "ray::"];

/// Returns the group that the environment of a process names. A run without a name is identified
/// by the process that started its workers.
#[must_use]
pub(super) fn group(labels: &Labels, ancestors: &[Arc<Ancestor>]) -> Option<Told<Group>> {
    let told = |name, kind| {
        let Told { value: id, source } = labels.get(name)?;
        Some(Told { value: Group { kind, id }, source })
    };
    let mut group = told(Name::TorchelasticRun, GroupKind::Torchrun)
        .or_else(|| told(Name::RayJob, GroupKind::Ray))?;
    if *group.value.id == *NAMELESS {
        group.value.id = Arc::from(format!("pid {}", ancestors.first()?.pid));
    }
    Some(group)
}

/// Returns the group that a process may belong to by other evidence than its environment: all processes
/// of the same launcher. If there is none, and the environment names no group because it cannot be read
/// or was overwritten: all with the same parent and script.
#[must_use]
pub(super) fn possible_group(evidence: &Evidence, is_named: bool) -> Option<Group> {
    let siblings = || (!is_named && !evidence.environ.is_whole()).then(|| of_siblings(evidence));
    of_launcher(&evidence.ancestors).or_else(siblings)
}

/// Returns the group of the topmost launcher: a launcher may start another on each host.
fn of_launcher(ancestors: &[Arc<Ancestor>]) -> Option<Group> {
    let launched_by = |ancestor: &Arc<Ancestor>| {
        let name = ancestor.names.iter().find(|name| is_launcher(name))?;
        let id = Arc::from(format!("{name} pid {}", ancestor.pid));
        Some(Group { kind: GroupKind::Launcher, id })
    };
    ancestors.iter().rev().find_map(launched_by)
}

fn is_launcher(name: &str) -> bool {
    LAUNCHERS.contains(&name) || LAUNCHER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the group of the processes with the same parent and script. A rank that starts the others
/// with its own script, as Lightning does, is one of them. Kernels of one notebook server run the same
/// module but are not ranks of one job, so the id of the kernel takes the place of the script; forked
/// children of a kernel have the same id. Titles without a script may differ in their numbers.
fn of_siblings(evidence: &Evidence) -> Group {
    let kernel = notebook::kernel(&evidence.arguments).map(|kernel| kernel.id);
    let script = kernel.or_else(|| script(&evidence.arguments));
    let runs_the_same = |ancestor: &&Arc<Ancestor>| {
        let kernel = ancestor.kernel.as_ref().map(|kernel| &kernel.id);
        let is_script = |script| kernel == Some(script) || ancestor.names.contains(script);
        ancestor.uid == evidence.uid && script.as_ref().is_some_and(is_script)
    };
    let topmost = evidence.ancestors.iter().take_while(runs_the_same).last();
    let parent = topmost.map_or(evidence.parent, |topmost| topmost.parent);
    let is_digit = |letter: char| letter.is_ascii_digit();
    let runs = script.unwrap_or_else(|| evidence.program.replace(is_digit, "").into());
    Group { kind: GroupKind::Siblings, id: Arc::from(format!("{runs} of pid {parent}")) }
}
