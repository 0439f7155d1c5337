//! Writes a tracking file.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::columns;
use super::csv::CsvFile;
use super::facts::{Facts, Static};
use super::sqlite::SqliteFile;
use crate::gpu_tracker::file::{self, FileError, Format};
use crate::gpu_tracker::units::Units;
use crate::sample::Sample;

/// What to do with a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    Replace,
}

/// A tracking file that is being written.
#[derive(Debug)]
pub struct Writer {
    facts: Static,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Csv(Box<CsvFile>),
    Sqlite(SqliteFile),
}

impl Writer {
    /// Makes the file, CSV or SQLite by its name, with what does not change in it.
    ///
    /// # Errors
    /// When the name ends otherwise, the file exists and may not be replaced, or it cannot be
    /// made.
    pub fn create(
        path: &Path,
        existing: Existing,
        units: Units,
        facts: &Facts,
    ) -> Result<Self, FileError> {
        let format = Format::of(path)?;
        let file = make(path, existing)?;
        let facts = Static::new(facts, units);
        let sink = match format {
            Format::Csv => Sink::Csv(Box::new(CsvFile::create(path, file, &facts)?)),
            Format::Sqlite => Sink::Sqlite(SqliteFile::create(path, &facts)?),
        };
        Ok(Self { facts, sink })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When the file cannot be written any more.
    pub fn write(&mut self, sample: &Sample) -> Result<(), FileError> {
        let row = columns::row(sample, &self.facts);
        match &mut self.sink {
            Sink::Csv(file) => file.write(&row),
            Sink::Sqlite(file) => file.write(&row),
        }
    }
}

/// Whether a file of this name would be made, as far as the name tells.
///
/// # Errors
/// When the name ends otherwise, or the file exists and may not be replaced.
pub fn check(path: &Path, existing: Existing) -> Result<(), FileError> {
    Format::of(path)?;
    match existing {
        Existing::Refuse if path.symlink_metadata().is_ok() => {
            Err(FileError::Exists { path: path.to_owned() })
        }
        Existing::Refuse | Existing::Replace => Ok(()),
    }
}

/// The file, empty and ours: never one that somebody made meanwhile.
fn make(path: &Path, existing: Existing) -> Result<File, FileError> {
    check(path, existing)?;
    if existing == Existing::Replace {
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(FileError::Io { path: path.to_owned(), source });
            }
            _ => {}
        }
    }
    file::create_new(path)
}
