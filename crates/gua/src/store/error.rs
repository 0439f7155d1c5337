//! Why the database could not be used.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::failure::Failure;

/// What went wrong with the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the disk is full")]
    Full,
    #[error("another program has it locked")]
    Locked,
    #[error("it may be read, but not written")]
    ReadOnly,
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error("it was written by a newer gua (layout {found}, this one knows {known})")]
    Newer { found: u32, known: u32 },
    #[error("{}", .0)]
    NotOurs(&'static str),
    #[error("a recorder already writes to it")]
    Recorded,
    #[error("there is none")]
    Missing,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Sqlite(error),
        }
    }
}

impl StoreError {
    /// As a failure of a command, with the next step.
    #[must_use]
    pub fn failure(&self, path: &Path) -> Failure {
        Failure::Store {
            path: path.to_owned(),
            what: self.to_string(),
            next: self.next_step().to_owned(),
        }
    }

    const fn next_step(&self) -> &'static str {
        match self {
            Self::Full => "Make room on that disk, or name another database with --db PATH.",
            Self::Locked => "Try again when that program is done with it.",
            Self::ReadOnly => "Check who owns it, or name another database with --db PATH.",
            Self::Damaged(_) => {
                "It was left as it is. Restore a copy, or move it away: `gua daemon` begins a new \
                 one. `sqlite3 FILE .recover` may save what is in it."
            }
            Self::Newer { .. } => "Update this gua, or name another database with --db PATH.",
            Self::NotOurs(_) => "It was left as it is. Name another database with --db PATH.",
            Self::Recorded => "`gua status` tells about it; stop it first, or name another --db.",
            Self::Missing => {
                "`gua daemon` starts recording; `gua demo` shows a report without a GPU."
            }
            Self::Io(_) | Self::Sqlite(_) => {
                "Check the path and who owns it; `gua doctor --db PATH` tells more."
            }
        }
    }
}
