//! Who is to be ended and how, and what came of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::policy::Rule;
use crate::policy::deeds::relief;
use crate::policy::notice::{Fields, NotDelivered};
use crate::policy::{Brake, Facts, Guard, Relief, Sign, Subject, Token};
use crate::process_handle::NotSent;

/// One end that was decided on.
#[derive(Debug, Clone)]
pub struct Order {
    pub token: Token,
    pub subject: Subject,
    /// What must still be so: its owner, its control group and what decides on its person.
    pub facts: Arc<Facts>,
    /// Who must be idle too.
    pub company: Vec<Subject>,
    pub rule: Arc<Rule>,
    /// For the words of a command.
    pub fields: Fields,
    /// Where the host's files begin.
    pub root: PathBuf,
    /// How long a command may take.
    pub timeout: Duration,
    pub brake: Brake,
}

/// How a process was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// It was asked to end, and did.
    Asked,
    Killed,
    /// By a command.
    Cancelled(String),
}

/// Why it was not ended.
#[derive(Debug, thiserror::Error)]
pub enum NotEnded {
    #[error("the rules were stopped meanwhile")]
    Stopped,
    #[error("it has let go of its cards")]
    LetGo,
    #[error("it works again ({})", .0.word())]
    Works(Sign),
    #[error("{}", relief(*.0))]
    Relieved(Relief),
    #[error("its work could not be read: {0}")]
    Doubt(String),
    #[error("{0}")]
    Guarded(Guard),
    #[error("it is another user's process by now")]
    AnotherOwner,
    #[error("it is in another control group by now")]
    AnotherCgroup,
    #[error("{0}")]
    NotSent(#[from] NotSent),
    #[error("it did not end within {} s", .0.as_secs_f64())]
    StillThere(Duration),
    #[error("the command to end it failed: {0}")]
    Cancel(NotDelivered),
    #[error("the processes of this host are out of reach: its root is mounted at {}", .0.display())]
    Elsewhere(PathBuf),
    #[error("no thread could be had: {0}")]
    NoThread(std::io::Error),
}
