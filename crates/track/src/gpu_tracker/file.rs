//! CSV or SQLite, by the name's ending: how rows are read, and what can be wrong.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
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

/// Which rows of a file are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The one row of a tracking file that does not change.
    Facts,
    /// The samples of a tracking file.
    Samples,
    /// A sub-tracking file, which has nothing else.
    Marks,
}

impl Part {
    const fn table(self) -> &'static str {
        match self {
            Self::Facts => "static_data",
            Self::Samples | Self::Marks => "data",
        }
    }

    /// Which record of a CSV file is the header.
    const fn header(self) -> usize {
        match self {
            Self::Facts | Self::Marks => 0,
            Self::Samples => 2,
        }
    }
}

/// One row's wanted cells, with what is needed to say which of them is wrong.
#[derive(Debug)]
pub(super) struct Row<'a> {
    path: &'a Path,
    columns: &'a [&'a str],
    number: usize,
    cells: &'a [String],
}

impl Row<'_> {
    pub(super) fn text(&self, at: usize) -> &str {
        self.cells.get(at).map_or("", String::as_str)
    }

    /// `None` where the cell is empty.
    pub(super) fn number(&self, at: usize) -> Result<Option<f64>, FileError> {
        match self.text(at) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| self.wrong(at, "a number")),
        }
    }

    pub(super) fn count<T: std::str::FromStr>(&self, at: usize) -> Result<T, FileError> {
        self.text(at).parse().map_err(|_| self.wrong(at, "a whole number"))
    }

    pub(super) fn wrong(&self, at: usize, expected: &'static str) -> FileError {
        FileError::Cell {
            path: self.path.to_owned(),
            row: self.number,
            column: self.columns.get(at).map(ToString::to_string).unwrap_or_default(),
            value: self.text(at).to_owned(),
            expected,
        }
    }
}

/// Gives each row of a part to `take`, in the order in which they were written.
pub(super) fn each_row(
    path: &Path,
    part: Part,
    columns: &[&str],
    take: impl FnMut(&Row<'_>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    match Format::of(path)? {
        Format::Csv => each_row_of_csv(path, part, columns, take),
        Format::Sqlite => each_row_of_sqlite(path, part, columns, take),
    }
}

fn each_row_of_csv(
    path: &Path,
    part: Part,
    columns: &[&str],
    mut take: impl FnMut(&Row<'_>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let wrong = |source| FileError::Csv { path: path.to_owned(), source };
    let reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_path(path);
    let mut records = reader.map_err(wrong)?.into_records().skip(part.header());
    let header = records.next().transpose().map_err(wrong)?.unwrap_or_default();
    let places = places(path, columns, &header.iter().collect::<Vec<_>>())?;
    let mut cells = vec![String::new(); columns.len()];
    for (row, record) in records.enumerate() {
        let record = record.map_err(wrong)?;
        // A writer that was killed in the middle of a row left a part of it, as the last.
        if record.len() < header.len() {
            break;
        }
        for (cell, place) in cells.iter_mut().zip(&places) {
            cell.clear();
            cell.push_str(record.get(*place).unwrap_or_default());
        }
        take(&Row { path, columns, number: row + 1, cells: &cells })?;
        if part == Part::Facts {
            break;
        }
    }
    Ok(())
}

/// Where the wanted columns are.
fn places(path: &Path, wanted: &[&str], header: &[&str]) -> Result<Vec<usize>, FileError> {
    let place = |column: &&str| {
        let found = header.iter().position(|name| name == column);
        found.ok_or_else(|| no_column(path, column))
    };
    wanted.iter().map(place).collect()
}

fn no_column(path: &Path, column: &str) -> FileError {
    FileError::NoColumn { path: path.to_owned(), column: column.to_owned() }
}

fn each_row_of_sqlite(
    path: &Path,
    part: Part,
    columns: &[&str],
    mut take: impl FnMut(&Row<'_>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let wrong = |source| FileError::Sqlite { path: path.to_owned(), source };
    // Not read-only: a killed writer may have left a row half written, which the first who
    // opens the file takes back. SQLite itself reads only where it may not write.
    let database = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let has = |column: &str| -> Result<bool, FileError> {
        let count = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
        let found = database.query_row(count, [part.table(), column], |row| row.get::<_, u32>(0));
        Ok(found.map_err(wrong)? > 0)
    };
    for column in columns {
        if !has(column)? {
            return Err(no_column(path, column));
        }
    }
    let query = format!("SELECT {} FROM {} ORDER BY rowid", columns.join(","), part.table());
    let mut statement = database.prepare(&query).map_err(wrong)?;
    let mut rows = statement.query([]).map_err(wrong)?;
    let mut cells = vec![String::new(); columns.len()];
    let mut number = 0;
    while let Some(row) = rows.next().map_err(wrong)? {
        number += 1;
        for (at, cell) in cells.iter_mut().enumerate() {
            *cell = cell_text(row.get_ref(at).map_err(wrong)?);
        }
        take(&Row { path, columns, number, cells: &cells })?;
    }
    Ok(())
}

fn cell_text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}

/// An empty file that was not there before.
pub(super) fn create_new(path: &Path) -> Result<File, FileError> {
    File::create_new(path).map_err(|source| match source.kind() {
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
