//! Why a command could not do its work, in words and as an exit code.

use std::io;

use gua_query::snapshot::{SelectionError, SnapshotError};
use gua_recorder::RecorderError;
use probe::nvml::OpenError;

use crate::context::Context;
use crate::safe::safe;

/// A command's failure. Paths and ids are part of the words, so each line is made safe.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was asked makes no sense; nothing was done.
    #[error("{}\n     {}", safe(.what), safe(.next))]
    Usage { what: String, next: String },
    /// What was asked may make sense, but that cannot be told now.
    #[error("{}\n     {}", safe(.what), safe(.next))]
    CannotTell { what: String, next: String },
    /// What was asked makes sense, but could not be done.
    #[error("{}\n     {}", safe(.what), safe(.next))]
    Failed { what: String, next: String },
    /// A command was not started; the code is the one that a shell gives.
    #[error("{}\n     {}", safe(.what), safe(.next))]
    NotStarted { what: String, next: String, code: u8 },
    #[error(
        "cannot read the driver: {}\n     {}\n     `gua doctor` checks each step; \
         `gua demo` shows the report without a GPU.",
        safe(&.0.to_string()),
        .0.next_step()
    )]
    NoDriver(#[from] OpenError),
    /// The database cannot be used. The error names the file and the next step.
    #[error("{}", safe(&.0.to_string()))]
    Database(#[from] gua_store::StoreError),
    /// The recorder cannot be started or stopped. The error names the next step.
    #[error("{}", safe(&.0.to_string()))]
    Recorder(#[from] RecorderError),
    #[error("cannot write the output: {}", safe(&.0.to_string()))]
    Output(#[from] io::Error),
}

impl Failure {
    /// Tells a person on stderr and gives the exit code: 1 failed, 2 wrong usage, 126 and
    /// 127 as in a shell.
    /// A reader that went away is not an error of ours, and not worth a word.
    #[must_use]
    pub fn report(&self, context: &mut Context<'_>) -> u8 {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
            _ => context.say(self),
        }
        match self {
            Self::Usage { .. } => 2,
            Self::Recorder(error) if error.is_usage() => 2,
            Self::NotStarted { code, .. } => *code,
            Self::CannotTell { .. }
            | Self::Failed { .. }
            | Self::Database(_)
            | Self::Recorder(_)
            | Self::NoDriver(_)
            | Self::Output(_) => 1,
        }
    }
}

impl From<gua_store::ExportError> for Failure {
    fn from(error: gua_store::ExportError) -> Self {
        match error {
            gua_store::ExportError::Store(error) => error.into(),
            gua_store::ExportError::Output(error) => error.into(),
        }
    }
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Self {
        let what = error.to_string();
        match error {
            SelectionError::NoSuchCard { last_index: Some(last), .. } => Self::Usage {
                what,
                next: format!("Choose from 0 to {last}, or a UUID as in `gua stat --json`."),
            },
            SelectionError::NoSuchCard { last_index: None, .. } => {
                Self::Usage { what, next: "The driver counts no cards on this host.".to_owned() }
            }
            SelectionError::MayBeUnread { unread, .. } => {
                let list = unread.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                let next = format!("`--id {list}` shows why, and `gua doctor` what to do.");
                Self::CannotTell { what, next }
            }
        }
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Store(error) => error.into(),
            SnapshotError::Unreadable { .. } => Self::Failed {
                what: error.to_string(),
                next: "`gua status` tells which gua records.".to_owned(),
            },
        }
    }
}
