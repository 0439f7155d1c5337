//! What an account is of.

use probe::who::{Container, Job, Notebook, Pod, Source, Told, Who};
use serde::Serialize;

use super::name::{Known, Name, Unattributed};
use crate::store::HolderRow;

/// What time is added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    User,
    Job,
    Container,
    Pod,
    Notebook,
    Program,
    Card,
}

impl By {
    pub const ALL: [Self; 7] = [
        Self::User,
        Self::Job,
        Self::Container,
        Self::Pod,
        Self::Notebook,
        Self::Program,
        Self::Card,
    ];

    /// A stable word, for the command line and for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Job => "job",
            Self::Container => "container",
            Self::Pod => "pod",
            Self::Notebook => "notebook",
            Self::Program => "program",
            Self::Card => "card",
        }
    }

    /// Whether two people may have one of the same name: anybody can say that they are of a job,
    /// and what they hold is never another's. Containers and pods are theirs alone only where
    /// they themselves made the control group that names it.
    #[must_use]
    pub const fn is_of_a_user(self) -> bool {
        matches!(self, Self::Job | Self::Notebook)
    }

    /// Whether it needs to be known what a process ran for.
    #[must_use]
    pub const fn is_of_a_workload(self) -> bool {
        !matches!(self, Self::User | Self::Card)
    }

    /// The account of a holder.
    #[must_use]
    pub fn name(self, holder: &HolderRow) -> Name {
        let who = holder.workload.as_ref().map(|workload| &workload.who);
        let found = match self {
            Self::User => return Name::of_user(&holder.identity),
            Self::Card => return Name::Card(holder.card),
            Self::Program => {
                return program(holder, who)
                    .map_or(Name::Nobody(Unattributed::NotKnown), Name::Known);
            }
            Self::Job => who.map(|who| told(&who.job, job)),
            Self::Container => who.map(|who| told(&who.container, container)),
            Self::Pod => who.map(|who| told(&who.pod, pod)),
            Self::Notebook => who.map(|who| told(&who.notebook, notebook)),
        };
        match found {
            None => Name::Nobody(Unattributed::NotKnown),
            Some(None) => Name::Nobody(Unattributed::None),
            Some(Some(known)) if self.is_of_a_user() || self.is_forgeable(who) => {
                Name::Known(Known { user: Some(Name::called(&holder.identity)), ..known })
            }
            Some(Some(known)) => Name::Known(known),
        }
    }

    /// Whether its owner may have called it what another one is called.
    fn is_forgeable(self, who: Option<&Who>) -> bool {
        let source = who.and_then(|who| match self {
            Self::Container => who.container.as_ref().map(|told| told.source),
            Self::Pod => who.pod.as_ref().map(|told| told.source),
            _ => None,
        });
        source == Some(Source::DelegatedCgroup)
    }

    /// The account of memory that nobody who is listed holds.
    #[must_use]
    pub const fn of_unseen(self, card: i64) -> Name {
        match self {
            Self::Card => Name::Card(card),
            _ => Name::Nobody(Unattributed::NoVisibleProcess),
        }
    }
}

fn told<T>(told: &Option<Told<T>>, known: impl FnOnce(&T) -> Known) -> Option<Known> {
    told.as_ref().map(|told| known(&told.value))
}

/// All steps of a job are one account.
fn job(job: &Job) -> Known {
    Known::of(&*job.id)
}

fn container(container: &Container) -> Known {
    let label = container.name.as_ref().unwrap_or(&container.id).to_string();
    Known { label, ..Known::of(&*container.id) }
}

fn pod(pod: &Pod) -> Known {
    let label = match (&pod.namespace, &pod.name) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name.to_string(),
        (_, None) => pod.uid.to_string(),
    };
    Known { label, ..Known::of(&*pod.uid) }
}

/// A notebook is the same one with another kernel; a kernel without a notebook is itself.
fn notebook(notebook: &Notebook) -> Known {
    let name = notebook.path.as_ref().or(notebook.kernel.as_ref());
    Known::of(name.map_or("a notebook", |name| &**name))
}

/// With its script, where it has one: an interpreter alone says little.
fn program(holder: &HolderRow, who: Option<&Who>) -> Option<Known> {
    let program = holder.program.as_ref()?;
    Some(match who.and_then(|who| who.script.as_ref()) {
        Some(script) => Known::of(format!("{program} {script}")),
        None => Known::of(program),
    })
}
