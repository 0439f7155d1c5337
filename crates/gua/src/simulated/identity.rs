//! Who is behind a simulated process: by the files that its host would have, and the same parsers.

use std::sync::Arc;

use gua_core::identity::Who;
use probe::identity::{self, Ancestor, Cgroup, Environ, Evidence, Runtime};
use scenario::model::Owner;
use scenario::{Process, Scenario};

/// Longest line of parents that is followed.
const MOST_ANCESTORS: usize = 40;

/// Returns who is behind a process.
#[must_use]
pub fn identify(process: &Process, scenario: &Scenario) -> Who {
    let Owner { uid, identity, program, command, .. } = &process.owner;
    let evidence = Evidence {
        program: program.as_str().into(),
        arguments: command.clone(),
        uid: Some(*uid),
        loginuid: Some(identity.loginuid(*uid)).filter(|login| *login != u32::MAX),
        cgroup: Some(Cgroup::new(&identity.cgroup(*uid))),
        is_in_a_user_namespace: identity.uid_map.is_some(),
        environ: Environ::parse(identity.environ().as_bytes()),
        folder: identity.folder.as_deref().map(Into::into),
        parent: process.owner.parent,
        ancestors: ancestors(process, scenario),
    };
    identity::identify(&evidence, &mut Records { scenario })
}

/// Returns those ancestors of a process that the scenario has.
fn ancestors(process: &Process, scenario: &Scenario) -> Vec<Arc<Ancestor>> {
    let parent = |child: &Process| {
        let is_parent = |other: &&Process| {
            other.pid == child.owner.parent && !other.owner.gone && other.begin <= child.begin
        };
        scenario.processes.iter().find(is_parent)
    };
    let line = std::iter::successors(parent(process), |child| parent(child));
    line.take(MOST_ANCESTORS).map(|process| Arc::new(ancestor(process))).collect()
}

fn ancestor(process: &Process) -> Ancestor {
    let Owner { uid, identity, program, command, parent, .. } = &process.owner;
    let program = program.as_str().into();
    Ancestor {
        pid: process.pid,
        parent: *parent,
        start_ticks: 0,
        names: identity::names(&program, command),
        program,
        uid: Some(*uid),
        cgroup: Some(Cgroup::new(&identity.cgroup(*uid))),
        folder: identity.folder.as_deref().map(Into::into),
        kernel: identity::kernel(command),
        environ: Environ::parse(identity.environ().as_bytes()),
    }
}

/// Records of the simulated host.
struct Records<'a> {
    scenario: &'a Scenario,
}

impl identity::Records for Records<'_> {
    fn account(&mut self, uid: u32) -> Option<Arc<str>> {
        if uid == 0 {
            return Some("root".into());
        }
        let mut owners = self.scenario.processes.iter().map(|process| &process.owner);
        owners.find_map(|owner| owner.user.as_deref().filter(|_| owner.uid == uid)).map(Into::into)
    }

    fn container(&mut self, runtime: Runtime, id: &str) -> Option<Arc<str>> {
        let mut containers = self.scenario.records.containers.iter();
        let container = containers.find(|container| container.id == id)?;
        (runtime == Runtime::Docker).then(|| container.name.as_str().into())
    }

    fn is_of_docker(&mut self, id: &str) -> bool {
        self.scenario.records.containers.iter().any(|container| container.id == id)
    }

    fn pod_logs(&mut self) -> Vec<String> {
        self.scenario.records.pods.iter().map(scenario::identity::Pod::log_folder).collect()
    }
}
