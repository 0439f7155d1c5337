//! What an account is of.

use probe::who::{Container, Job, Notebook, Pod, Who};

use crate::store::HolderRow;

/// What time is added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    User,
    Job,
    Container,
    Pod,
    Notebook,
    Program,
    Card,
}

/// The name of an account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// `id` is what it is known by, `label` what a person calls it; both as the outside gave
    /// them.
    Known { id: String, label: String },
    /// A user without a name.
    Uid(u32),
    /// The number of a card.
    Card(i64),
    /// Nobody and nothing that is known: there is none, or it cannot be told.
    None,
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

    /// The account of a holder.
    #[must_use]
    pub fn name(self, holder: &HolderRow) -> Name {
        let who = holder.workload.as_ref().map(|workload| &workload.who);
        let told = match self {
            Self::User => return user(holder),
            Self::Card => return Name::Card(holder.card),
            Self::Program => program(holder, who),
            Self::Job => who.and_then(|who| who.job.as_ref()).map(|told| job(&told.value)),
            Self::Container => {
                who.and_then(|who| who.container.as_ref()).map(|told| container(&told.value))
            }
            Self::Pod => who.and_then(|who| who.pod.as_ref()).map(|told| pod(&told.value)),
            Self::Notebook => {
                who.and_then(|who| who.notebook.as_ref()).and_then(|told| notebook(&told.value))
            }
        };
        told.map_or(Name::None, |(id, label)| Name::Known { id, label })
    }

    /// The account of memory that nobody who is listed holds.
    #[must_use]
    pub const fn of_unseen(self, card: i64) -> Name {
        match self {
            Self::Card => Name::Card(card),
            _ => Name::None,
        }
    }
}

/// What it is known by, and what it is called.
type Told = (String, String);

/// One name is one person, whichever uid it goes by.
fn user(holder: &HolderRow) -> Name {
    match (&holder.identity.user, holder.identity.uid) {
        (Some(user), _) => Name::Known { id: user.to_string(), label: user.to_string() },
        (None, Some(uid)) => Name::Uid(uid),
        (None, None) => Name::None,
    }
}

/// All steps of a job are one account.
fn job(job: &Job) -> Told {
    (job.id.to_string(), job.id.to_string())
}

fn container(container: &Container) -> Told {
    let short = || container.id.get(..12).unwrap_or(&container.id).to_owned();
    let label = container.name.as_ref().map_or_else(short, ToString::to_string);
    (container.id.to_string(), label)
}

fn pod(pod: &Pod) -> Told {
    let label = match (&pod.namespace, &pod.name) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name.to_string(),
        (_, None) => pod.uid.to_string(),
    };
    (pod.uid.to_string(), label)
}

/// A notebook is the same one with another kernel; a kernel without a notebook is itself.
fn notebook(notebook: &Notebook) -> Option<Told> {
    let name = notebook.path.as_ref().or(notebook.kernel.as_ref())?;
    Some((name.to_string(), name.to_string()))
}

/// With its script, where it has one: an interpreter alone says little.
fn program(holder: &HolderRow, who: Option<&Who>) -> Option<Told> {
    let program = holder.program.as_ref()?;
    let name = match who.and_then(|who| who.script.as_ref()) {
        Some(script) => format!("{program} {script}"),
        None => program.clone(),
    };
    Some((name.clone(), name))
}
