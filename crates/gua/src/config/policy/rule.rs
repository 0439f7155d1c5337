//! One rule: whom it is for, when it notices, what it does at the end.

use std::sync::Arc;
use std::time::Duration;

use probe::units::Bytes;

use super::{Channel, Hours, Pattern, Template};

/// A rule as it is meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What it is known by.
    pub name: Arc<str>,
    pub matches: Match,
    pub exempt: Exempt,
    /// For so long a card is held idle before the last step.
    pub idle_for: Duration,
    /// When the person is told, in the order of time and all before `idle_for`.
    pub notices: Vec<Duration>,
    pub action: Action,
    /// Between asking a process to end and looking whether it has.
    pub grace: Duration,
    /// Whether it is killed when it has not.
    pub kill: bool,
    pub notify: Vec<Channel>,
    /// The words of a command that ends it instead of a signal, where all that they need is
    /// known, such as `scancel {job}`.
    pub cancel: Option<Vec<Template>>,
}

/// Whom a rule is for; what is left out does not matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Match {
    pub users: Vec<Pattern>,
    pub groups: Vec<String>,
    pub programs: Vec<Pattern>,
    pub kinds: Vec<Kind>,
    /// Holds more than this, on all of its cards together.
    pub memory_over: Option<Bytes>,
    /// Parts of the names of cards' models, in small letters.
    pub cards: Vec<String>,
    pub hours: Option<Hours>,
}

/// Processes that a rule exempts. Its patterns ignore case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exempt {
    pub users: Vec<Pattern>,
    pub groups: Vec<String>,
    /// By a name of the process, or of an ancestor with the same uid.
    pub programs: Vec<Pattern>,
    /// By name or by the beginning of the id.
    pub containers: Vec<Pattern>,
}

/// What a rule does when a card was held idle for long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Writes down what it would do.
    Observe,
    /// Gives its notices, and nothing else.
    Notify,
    /// Ends the process after its notices.
    End,
}

/// What a holder is, where that is known. It may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Notebook,
    Job,
    Container,
    Pod,
    /// One of several processes that work together: torchrun, ray.
    Group,
    /// None of these.
    Plain,
}

impl Action {
    pub const ALL: [Self; 3] = [Self::Observe, Self::Notify, Self::End];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Notify => "notify",
            Self::End => "end",
        }
    }
}

impl Kind {
    pub const ALL: [Self; 6] =
        [Self::Notebook, Self::Job, Self::Container, Self::Pod, Self::Group, Self::Plain];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Notebook => "notebook",
            Self::Job => "job",
            Self::Container => "container",
            Self::Pod => "pod",
            Self::Group => "group",
            Self::Plain => "plain",
        }
    }
}
