//! Reads rows of a file, whichever format it has.

use std::path::Path;

use rusqlite::OpenFlags;
use rusqlite::types::ValueRef;

use super::{FileError, Format, open};

/// Which rows of a file are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gpu_tracker) enum Part {
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
pub(in crate::gpu_tracker) struct Row<'a> {
    path: &'a Path,
    columns: &'a [&'a str],
    number: usize,
    cells: &'a [String],
}

impl Row<'_> {
    pub(in crate::gpu_tracker) fn text(&self, at: usize) -> &str {
        self.cells.get(at).map_or("", String::as_str)
    }

    /// Returns the number in a cell, or `None` where the cell is empty or not finite (Python
    /// writes `nan` for an unknown value).
    pub(in crate::gpu_tracker) fn number(&self, at: usize) -> Result<Option<f64>, FileError> {
        match self.text(at) {
            "" => Ok(None),
            text => {
                let number: f64 = text.parse().map_err(|_| self.wrong(at, "a number"))?;
                Ok(Some(number).filter(|number| number.is_finite()))
            }
        }
    }

    pub(in crate::gpu_tracker) fn count<T: std::str::FromStr>(
        &self,
        at: usize,
    ) -> Result<T, FileError> {
        self.text(at).parse().map_err(|_| self.wrong(at, "a whole number"))
    }

    /// `None` where the cell is empty.
    pub(in crate::gpu_tracker) fn count_if_any<T: std::str::FromStr>(
        &self,
        at: usize,
    ) -> Result<Option<T>, FileError> {
        if self.text(at).is_empty() { Ok(None) } else { self.count(at).map(Some) }
    }

    pub(in crate::gpu_tracker) fn wrong(&self, at: usize, expected: &'static str) -> FileError {
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
pub(in crate::gpu_tracker) fn each_row(
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
    let mut number = 0;
    while let Some(record) = records.next() {
        let record = record.map_err(wrong)?;
        number += 1;
        if record.len() < header.len() {
            // A writer that was killed in the middle of a row left a part of it, as the last.
            let is_last = records.next().is_none();
            return if is_last { Ok(()) } else { Err(short(path, number, header.len())) };
        }
        for (cell, place) in cells.iter_mut().zip(&places) {
            cell.clear();
            cell.push_str(record.get(*place).unwrap_or_default());
        }
        take(&Row { path, columns, number, cells: &cells })?;
        if part == Part::Facts {
            break;
        }
    }
    Ok(())
}

fn short(path: &Path, row: usize, columns: usize) -> FileError {
    FileError::Short { path: path.to_owned(), row, columns }
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
