//! Why the database could not be used.

use std::io;
use std::path::PathBuf;

use crate::ledger::Period;

use probe::units::UnixMillis;
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
    #[error("process {pid} has it open")]
    InUse { pid: u32 },
    #[error("it is a database of this gua")]
    AlreadyOurs,
    #[error("it has a log (-wal) without an index (-shm), and what is in the log would be lost")]
    LogWithoutIndex,
    #[error("some of that time is recorded already: {}", period(.0))]
    Overlap(Period),
    #[error("what was written is not what was read")]
    NotWhole,
    /// The file that is read, where another is written.
    #[error("{0}")]
    Source(Box<Self>),
    #[error("there is none at {}", .0.display())]
    Missing(PathBuf),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// The error of a file that is read while another is written.
    pub(super) fn of_source(error: impl Into<Self>) -> Self {
        Self::Source(Box::new(error.into()))
    }
}

/// From when to when, in UTC, to the second.
fn period(period: &Period) -> String {
    let moment = |at: UnixMillis| match jiff::Timestamp::from_second(at.0.div_euclid(1000)) {
        Ok(at) => at.to_string(),
        Err(_) => format!("{} ms", at.0),
    };
    format!("{} to {}", moment(period.from), moment(period.to))
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
