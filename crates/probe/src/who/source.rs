//! Where something about a process is known from.

/// From the most to the least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
