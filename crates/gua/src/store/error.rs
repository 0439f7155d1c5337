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
    #[error("there is none at {}", .0.display())]
    Missing(PathBuf),
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
