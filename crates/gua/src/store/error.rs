//! Why the database could not be used.

use std::io;
use std::path::Path;

use probe::units::UnixMillis;
use rusqlite::ErrorCode;

use crate::failure::Failure;
use crate::ledger::Period;

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
    #[error("it has layout {found} of an older gua, which only its recorder may bring forward")]
    Older { found: u32 },
    #[error("its numbers for ticks or cards have run out")]
    OutOfNumbers,
    #[error("{}", .0)]
    NotOurs(&'static str),
    #[error("it is a database of the Python gua")]
    PythonGua,
    #[error("a recorder already writes to it")]
    Recorded,
    #[error("there is none")]
    Missing,
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
            Self::Older { .. } => {
                "Stop the recorder that writes to it (`gua stop`), and try again."
            }
            Self::OutOfNumbers => "Move it away: `gua daemon` begins a new one.",
            Self::PythonGua => {
                "It was left as it is. `gua db import FILE` takes it over; `gua report --db FILE` \
                 reads it as it is."
            }
            Self::NotOurs(_) => "It was left as it is. Name another database with --db PATH.",
            Self::InUse { .. } => "Stop that process first.",
            Self::AlreadyOurs => "Use it with --db PATH.",
            Self::LogWithoutIndex => {
                "Copy its -shm file along with it, or let SQLite write the log into the file: \
                 `sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'`."
            }
            Self::Overlap(_) => "Import it into a database of its own with --db PATH.",
            Self::NotWhole => "Nothing was changed. This is a mistake of gua; please report it.",
            Self::Source(error) => error.next_step(),
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
