//! CSV or SQLite, by the name's ending, and what can be wrong with a file.

mod rows;

pub(super) use rows::{Part, Row, each_row};

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

/// How a table is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Sqlite,
}

impl Format {
    /// By the name's ending.
    ///
    /// # Errors
    /// When the name ends otherwise.
    pub fn of(path: &Path) -> Result<Self, FileError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("sqlite") => Ok(Self::Sqlite),
            _ => Err(FileError::Ending { path: path.to_owned() }),
        }
    }

    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => ".csv",
            Self::Sqlite => ".sqlite",
        }
    }
}

/// Why a file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{}` is neither CSV nor SQLite by its name. End it in .csv or .sqlite", path.display())]
    Ending { path: PathBuf },
    #[error(
        "File {} already exists. Set overwrite to True to overwrite the existing file.",
        path.display()
    )]
    Exists { path: PathBuf },
    #[error("`{}` cannot be used: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{}` cannot be used as CSV: {source}", path.display())]
    Csv { path: PathBuf, source: csv::Error },
    #[error("`{}` cannot be used as a SQLite database: {source}", path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
    #[error(
        "`{}` has no column `{column}`. Is it the right kind of file? Tracking files come from \
         --tf, sub-tracking files from a SubTracker",
        path.display()
    )]
    NoColumn { path: PathBuf, column: String },
    #[error("`{}` has no row of static data. Was the tracking stopped as it began?", path.display())]
    NoFacts { path: PathBuf },
    #[error("row {row} of `{}` has fewer than its {columns} cells", path.display())]
    Short { path: PathBuf, row: usize, columns: usize },
    #[error(
        "row {row} of `{}` has `{value}` as {column}, where {expected} is needed",
        path.display()
    )]
    Cell {
        path: PathBuf,
        /// Counted from 1, headers aside.
        row: usize,
        column: String,
        value: String,
        expected: &'static str,
    },
}

impl FileError {
    /// What the system says, where it is the system that refused.
    #[must_use]
    pub fn system(&self) -> Option<io::ErrorKind> {
        use rusqlite::ErrorCode;
        match self {
            Self::Exists { .. } => Some(io::ErrorKind::AlreadyExists),
            Self::Io { source, .. } => Some(source.kind()),
            Self::Csv { source, .. } => match source.kind() {
                csv::ErrorKind::Io(source) => Some(source.kind()),
                _ => None,
            },
            Self::Sqlite { path, source } => match source.sqlite_error_code()? {
                ErrorCode::CannotOpen if path.symlink_metadata().is_err() => {
                    Some(io::ErrorKind::NotFound)
                }
                ErrorCode::NotADatabase | ErrorCode::Unknown => None,
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                    Some(io::ErrorKind::ResourceBusy)
                }
                _ => Some(io::ErrorKind::Other),
            },
            Self::Ending { .. }
            | Self::NoColumn { .. }
            | Self::NoFacts { .. }
            | Self::Short { .. }
            | Self::Cell { .. } => None,
        }
    }
}

/// An empty file that was not there before. What is written goes to its end, wherever that is by
/// then: a process that was forked may write to it, too.
pub(super) fn create_new(path: &Path) -> Result<File, FileError> {
    File::options().append(true).create_new(true).open(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists { path: path.to_owned() },
        _ => FileError::Io { path: path.to_owned(), source },
    })
}

/// A name is a path here, never a URI.
pub(super) fn open(path: &Path, flags: OpenFlags) -> Result<Connection, FileError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
        .map_err(|source| FileError::Sqlite { path: path.to_owned(), source })
}
