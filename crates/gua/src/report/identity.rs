//! Who is behind a holder, as it is told: each part with where it is known from.

use probe::who::{self, Client, EnvironmentKind, Runtime, Told};
use serde::Serialize;

use crate::ledger;

/// Null is what is not known, and nothing is guessed. A user that is null is unattributed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    pub user: Option<Sourced<User>>,
    pub job: Option<Sourced<Job>>,
    pub container: Option<Sourced<Container>>,
    pub pod: Option<Sourced<Pod>>,
    pub notebook: Option<Sourced<Notebook>>,
    /// Whom a hub of notebooks says that it is for: a label, no account of this host.
    pub hub_user: Option<Sourced<HubUser>>,
    pub environment: Option<Sourced<Environment>>,
    pub group: Option<Sourced<Group>>,
    pub launcher: Option<Sourced<Launcher>>,
    pub script: Option<String>,
}

/// Something, and where it is known from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sourced<T> {
    #[serde(flatten)]
    pub value: T,
    pub source: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    pub uid: u32,
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Job {
    pub id: String,
    pub step: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    pub runtime: &'static str,
    pub id: String,
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pod {
    pub uid: String,
    pub name: Option<String>,
    pub namespace: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notebook {
    pub kernel: Option<String>,
    /// A folder ends with a slash.
    pub path: Option<String>,
    pub client: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HubUser {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Environment {
    pub kind: &'static str,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    pub kind: &'static str,
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Launcher {
    /// Null where it was long ago: the number may be another's now.
    pub pid: Option<u32>,
    pub program: String,
}

/// All that was written down of who is behind a holder; `None` where nothing was. Whose it is
/// stands apart from what it runs for.
#[must_use]
pub fn written(identity: &ledger::Identity, who: Option<&who::Who>) -> Option<Identity> {
    let ledger::Identity { user, uid, source } = identity;
    let user = uid
        .zip(*source)
        .map(|(uid, source)| Told { value: who::User { uid, name: user.clone() }, source });
    let is_known = who.is_some() || user.is_some();
    is_known.then(|| (&who::Who { user, ..who.cloned().unwrap_or_default() }).into())
}

impl From<&who::Who> for Identity {
    fn from(who: &who::Who) -> Self {
        Self {
            user: sourced(&who.user),
            job: sourced(&who.job),
            container: sourced(&who.container),
            pod: sourced(&who.pod),
            notebook: sourced(&who.notebook),
            hub_user: who.hub_user.as_ref().map(|told| Sourced {
                value: HubUser { name: told.value.to_string() },
                source: told.source.slug(),
            }),
            environment: sourced(&who.environment),
            group: sourced(&who.group),
            launcher: sourced(&who.launcher),
            script: who.script.as_ref().map(ToString::to_string),
        }
    }
}

fn sourced<'a, T, U: From<&'a T>>(told: &'a Option<Told<T>>) -> Option<Sourced<U>> {
    let told = told.as_ref()?;
    Some(Sourced { value: U::from(&told.value), source: told.source.slug() })
}

fn text(name: Option<&std::sync::Arc<str>>) -> Option<String> {
    name.map(ToString::to_string)
}

impl From<&who::User> for User {
    fn from(user: &who::User) -> Self {
        Self { uid: user.uid, name: text(user.name.as_ref()) }
    }
}

impl From<&who::Job> for Job {
    fn from(job: &who::Job) -> Self {
        Self { id: job.id.to_string(), step: text(job.step.as_ref()) }
    }
}

impl From<&who::Container> for Container {
    fn from(container: &who::Container) -> Self {
        let runtime = match container.runtime {
            Runtime::Docker => "docker",
            Runtime::Podman => "podman",
            Runtime::Containerd => "containerd",
            Runtime::Crio => "crio",
        };
        Self { runtime, id: container.id.to_string(), name: text(container.name.as_ref()) }
    }
}

impl From<&who::Pod> for Pod {
    fn from(pod: &who::Pod) -> Self {
        Self {
            uid: pod.uid.to_string(),
            name: text(pod.name.as_ref()),
            namespace: text(pod.namespace.as_ref()),
        }
    }
}

impl From<&who::Notebook> for Notebook {
    fn from(notebook: &who::Notebook) -> Self {
        Self {
            kernel: text(notebook.kernel.as_ref()),
            path: text(notebook.path.as_ref()),
            client: match notebook.client {
                Client::Jupyter => "jupyter",
                Client::VsCode => "vs_code",
            },
        }
    }
}

impl From<&who::Environment> for Environment {
    fn from(environment: &who::Environment) -> Self {
        let kind = match environment.kind {
            EnvironmentKind::Conda => "conda",
            EnvironmentKind::Venv => "venv",
        };
        Self { kind, path: environment.path.to_string() }
    }
}

impl From<&who::Group> for Group {
    fn from(group: &who::Group) -> Self {
        Self { kind: group.kind.slug(), id: group.id.to_string() }
    }
}

impl From<&who::Launcher> for Launcher {
    fn from(launcher: &who::Launcher) -> Self {
        let pid = (launcher.pid != 0).then_some(launcher.pid);
        Self { pid, program: launcher.program.to_string() }
    }
}
