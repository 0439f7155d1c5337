//! Identity of a process: the person, job, container or notebook behind it, each with its source.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// All that is known of who is behind a process. What is not known is not guessed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Who {
    pub user: Option<Told<User>>,
    pub job: Option<Told<Job>>,
    pub container: Option<Told<Container>>,
    pub pod: Option<Told<Pod>>,
    pub notebook: Option<Told<Notebook>>,
    /// Whom a hub of notebooks says that it is for: a label, no account of this host.
    #[serde(with = "hub_user")]
    pub hub_user: Option<Told<Arc<str>>>,
    pub environment: Option<Told<Environment>>,
    pub group: Option<Told<Group>>,
    /// Group that it may belong to: that of its launcher or, if its environment cannot be read, of its
    /// siblings. It may be the only process of the group. It counts beside processes whose environment
    /// names no group.
    #[serde(skip)]
    pub possible_group: Option<Group>,
    pub launcher: Option<Told<Launcher>>,
    /// Program, script and command names of its ancestors with the same uid; `None` where they are not
    /// known.
    #[serde(skip)]
    pub ancestor_names: Option<Arc<[Arc<str>]>>,
    /// What it runs besides its program: a script or a module, never other arguments.
    pub script: Option<Arc<str>>,
}

/// Something, and where it is known from: the least trusted of the places that it was put
/// together from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Told<T> {
    #[serde(flatten)]
    pub value: T,
    pub source: Source,
}

/// A person or a service account.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct User {
    pub uid: u32,
    /// `None` where the uid has no name.
    pub name: Option<Arc<str>>,
}

/// The person behind a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Person {
    pub user: Option<Arc<str>>,
    pub uid: Option<u32>,
    /// How the person is known.
    pub source: Option<Source>,
}

impl Person {
    /// Returns true if nothing is known but perhaps the uid.
    #[must_use]
    pub const fn is_unread(&self) -> bool {
        self.user.is_none() && self.source.is_none()
    }
}

impl From<&Told<User>> for Person {
    fn from(user: &Told<User>) -> Self {
        let Told { value: User { uid, name }, source } = user;
        Self { user: name.clone(), uid: Some(*uid), source: Some(*source) }
    }
}

/// A job of Slurm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Job {
    pub id: Arc<str>,
    /// A number, or a word such as `batch`.
    pub step: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Container {
    pub runtime: Runtime,
    /// In full: 64 hexadecimal digits.
    pub id: Arc<str>,
    /// `None` where only root may know it.
    pub name: Option<Arc<str>>,
}

/// What runs a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    Docker,
    Podman,
    Containerd,
    Crio,
}

/// A pod of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pod {
    pub uid: Arc<str>,
    /// Where its logs tell.
    pub name: Option<Arc<str>>,
    pub namespace: Option<Arc<str>>,
}

/// A kernel that works for a notebook.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Notebook {
    /// Of the kernel's connection file.
    pub kernel: Option<Arc<str>>,
    /// Its file, or only its name with an older server.
    pub path: Option<Arc<str>>,
    pub client: Client,
}

/// Program that started a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Client {
    Jupyter,
    VsCode,
}

/// The Python environment that a process runs in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Environment {
    pub kind: EnvironmentKind,
    pub path: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentKind {
    Conda,
    Venv,
}

/// Processes that work on one thing together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Group {
    pub kind: GroupKind,
    pub id: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    Torchrun,
    Ray,
    /// Below the same launcher of ranks, such as `mpirun`. Only a possible group.
    Launcher,
    /// With the same parent and script. Only a possible group.
    Siblings,
}

impl GroupKind {
    pub const ALL: [Self; 4] = [Self::Torchrun, Self::Ray, Self::Launcher, Self::Siblings];

    /// Returns true for the kinds that are never the kind of a known group.
    #[must_use]
    pub const fn is_only_possible(self) -> bool {
        matches!(self, Self::Launcher | Self::Siblings)
    }

    /// Returns the kind with this slug.
    #[must_use]
    pub fn of_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.slug() == slug)
    }

    /// A stable word, for files and machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Torchrun => "torchrun",
            Self::Ray => "ray",
            Self::Launcher => "launcher",
            Self::Siblings => "siblings",
        }
    }
}

/// The process at the top of its tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Launcher {
    /// 0 where it was long ago: another process may have the pid now.
    #[serde(with = "pid_or_null")]
    pub pid: u32,
    pub program: Arc<str>,
}

/// Sources of an identity, from the most to the least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The control group of a job, a container or a pod, where nobody but root makes any.
    Cgroup,
    /// The slice of a login session.
    UserSlice,
    /// The owner of the process.
    Uid,
    /// Who logged in, where nothing else disagrees.
    Loginuid,
    /// The container engine's own record.
    ContainerRecord,
    /// The folder of a pod's logs.
    PodLogs,
    /// The words that it was started with.
    CommandLine,
    /// The processes that it came from.
    Ancestors,
    /// A control group below a session, a job or a container, which who is in there can forge.
    DelegatedCgroup,
    /// Its environment, which its owner can forge.
    Environment,
    /// The environment of a process that it came from.
    AncestorEnvironment,
    /// Its working folder.
    WorkingFolder,
}

impl Source {
    pub const ALL: [Self; 12] = [
        Self::Cgroup,
        Self::UserSlice,
        Self::Uid,
        Self::Loginuid,
        Self::ContainerRecord,
        Self::PodLogs,
        Self::CommandLine,
        Self::Ancestors,
        Self::DelegatedCgroup,
        Self::Environment,
        Self::AncestorEnvironment,
        Self::WorkingFolder,
    ];

    /// The one of this word.
    #[must_use]
    pub fn of_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.slug() == slug)
    }

    /// A stable word, for files and machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::UserSlice => "user_slice",
            Self::Uid => "uid",
            Self::Loginuid => "loginuid",
            Self::ContainerRecord => "container_record",
            Self::PodLogs => "pod_logs",
            Self::CommandLine => "command_line",
            Self::Ancestors => "ancestors",
            Self::DelegatedCgroup => "delegated_cgroup",
            Self::Environment => "environment",
            Self::AncestorEnvironment => "ancestor_environment",
            Self::WorkingFolder => "working_folder",
        }
    }
}

/// A hub's user as an object with a name, like the other parts.
mod hub_user {
    use super::{Arc, Deserialize, Deserializer, Serialize, Serializer, Told};

    #[derive(Serialize, Deserialize)]
    struct Name {
        name: Arc<str>,
    }

    pub fn serialize<S: Serializer>(
        user: &Option<Told<Arc<str>>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let named = user.as_ref().map(|user| Told {
            value: Name { name: Arc::clone(&user.value) },
            source: user.source,
        });
        named.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Told<Arc<str>>>, D::Error> {
        let named = Option::<Told<Name>>::deserialize(deserializer)?;
        Ok(named.map(|named| Told { value: named.value.name, source: named.source }))
    }
}

/// A pid, or null for 0.
mod pid_or_null {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub fn serialize<S: Serializer>(pid: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        Some(*pid).filter(|pid| *pid != 0).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of JSON are those of files.
    #[test]
    fn words_are_the_slugs() {
        for source in Source::ALL {
            assert_eq!(serde_json::to_value(source).unwrap(), source.slug());
        }
        for kind in GroupKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.slug());
        }
    }

    #[test]
    fn identity_comes_back_from_json() {
        let who = Who {
            user: Some(Told { value: User { uid: 7, name: None }, source: Source::UserSlice }),
            hub_user: Some(Told { value: "ann".into(), source: Source::Environment }),
            launcher: Some(Told {
                value: Launcher { pid: 0, program: "bash".into() },
                source: Source::Ancestors,
            }),
            notebook: Some(Told {
                value: Notebook { kernel: None, path: None, client: Client::VsCode },
                source: Source::CommandLine,
            }),
            ..Who::default()
        };
        let json = serde_json::to_value(&who).unwrap();
        assert_eq!(
            (&json["user"], &json["hub_user"], &json["launcher"], &json["notebook"]["client"]),
            (
                &serde_json::json!({"uid": 7, "name": null, "source": "user_slice"}),
                &serde_json::json!({"name": "ann", "source": "environment"}),
                &serde_json::json!({"pid": null, "program": "bash", "source": "ancestors"}),
                &"vs_code".into(),
            )
        );
        assert_eq!(serde_json::from_value::<Who>(json).unwrap(), who);
    }
}
