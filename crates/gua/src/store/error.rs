//! Why the database could not be used.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

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
    #[error("there is no such file")]
    Missing(PathBuf),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// What to do about it.
    #[must_use]
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::Full => "Make room, and try again.",
            Self::Locked => "Try again in a moment.",
            Self::ReadOnly => "Become a user who may write it.",
            Self::Damaged(_) => {
                "Put back a copy from before, or name another database with --db PATH."
            }
            Self::Newer { .. } => "Use that gua, or name another database with --db PATH.",
            Self::NotOurs(_) => "Name a database of gua with --db PATH.",
            Self::Recorded => "Stop that recorder first.",
            Self::Missing(_) => "Name a database with --db PATH, or set GUA_HOME.",
            Self::Io(_) | Self::Sqlite(_) => "Name another database with --db PATH.",
        }
    }
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
