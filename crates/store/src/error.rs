//! Problems with a file, each with the next step.

use std::io;
use std::path::{Path, PathBuf};

use gua_core::Period;
use gua_core::units::UnixMillis;
use rusqlite::{ErrorCode, ffi};

/// A database that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}: {problem}", path.display())]
pub struct StoreError {
    pub path: PathBuf,
    #[source]
    pub problem: Problem,
}

/// Reason a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(
        "there is no such file; `gua daemon` starts recording, or choose another file with --db"
    )]
    Missing,
    #[error("a file exists there already; choose another path")]
    Exists,
    #[error("it is not a database of gua ({0}); choose another file with --db")]
    Foreign(ForeignFile),
    #[error("it is a history of the Python gua; convert it with `gua db import`")]
    PythonGua,
    #[error(
        "it has layout {0} of an earlier gua, which this version does not read; move it away, or \
         choose another file with --db"
    )]
    OldLayout(u32),
    #[error(
        "it has the older layout {found}, and this version reads {known}; the recorder brings it up to \
         date at its next start"
    )]
    WaitsForMigration { found: u32, known: u32 },
    #[error(
        "it has layout {found} of a newer gua, and this version knows {known}; update gua, or choose \
         another file with --db"
    )]
    NewLayout { found: u32, known: u32 },
    #[error("another recorder writes to it; stop that one, or choose another file with --db")]
    Recorded,
    #[error("the disk is full; free some space")]
    Full,
    #[error("another program has it locked; try again when that has finished")]
    Locked,
    #[error("permission denied; run as the recorder's user, or choose another file with --db")]
    Denied,
    #[error("it may not be written; run as the recorder's user, or choose another file with --db")]
    ReadOnly,
    #[error("it cannot be opened; run as the recorder's user, or choose another file with --db")]
    Unopenable,
    #[error("it is damaged ({0}); move it away, or restore a copy")]
    Damaged(String),
    #[error("it is a database of this gua; use it with --db")]
    NotPython,
    #[error(
        "its log (-wal) has no index (-shm), and without it the rows in the log would be lost; copy the \
         -shm file too, or run `sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'`"
    )]
    LogWithoutIndex,
    #[error(
        "its log (-wal) cannot be read here, as its index (-shm) cannot be written, and the log may have \
         rows that the file lacks; copy both to a folder that you may write, or run as the recorder's user"
    )]
    UnreadableLog,
    #[error("process {pid} has it open; stop that process first")]
    InUse { pid: u32 },
    #[error(
        "part of the time to import is recorded already: {}; choose another database with --db",
        format_period(.0)
    )]
    AlreadyRecorded(Period),
    #[error("what was written is not what was read, so nothing was changed; please report this")]
    NotWhole,
    #[error("{0}; check the path and its permissions")]
    Io(io::Error),
    #[error("{0}; try again, and report this if it persists")]
    Sqlite(rusqlite::Error),
}

/// What is at a path instead of a database of gua.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ForeignFile {
    #[error("a folder")]
    Folder,
    #[error("not a file")]
    NotAFile,
    #[error("an empty file")]
    Empty,
    #[error("a database of another program")]
    OtherProgram,
    #[error("not an SQLite file")]
    NotSqlite,
}

impl Problem {
    /// Names the file.
    #[must_use]
    pub fn at(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), problem: self }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied,
            _ => Self::Io(error),
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        let extended_code = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            // A full disk has no place for the index of the log either.
            _ if extended_code == Some(ffi::SQLITE_IOERR_SHMSIZE) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(ErrorCode::CannotOpen) => Self::Unopenable,
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged(error.to_string()),
            Some(ErrorCode::NotADatabase) => Self::Foreign(ForeignFile::NotSqlite),
            _ => Self::Sqlite(error),
        }
    }
}

fn format_period(period: &Period) -> String {
    let format = |at: UnixMillis| match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.to_string(),
        Err(_) => format!("{} ms", at.0),
    };
    format!("{} to {}", format(period.from), format(period.to))
}
