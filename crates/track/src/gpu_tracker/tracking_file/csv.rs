//! A tracking file as CSV, with the line ends of its format, CRLF.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::columns::{self, Value};
use super::facts::Static;
use crate::gpu_tracker::file::FileError;
use crate::gpu_tracker::{Tree, number};

#[derive(Debug)]
pub(super) struct CsvFile {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl CsvFile {
    pub(super) fn create(path: &Path, file: File, facts: &Static) -> Result<Self, FileError> {
        let writer = csv::WriterBuilder::new()
            .flexible(true)
            .terminator(csv::Terminator::CRLF)
            .from_writer(file);
        let mut file = Self { path: path.to_owned(), writer };
        if let Tree::Group(facts) = facts.tree() {
            file.add(facts.iter().map(|(column, _)| column.clone()))?;
            file.add(facts.iter().map(|(_, value)| fact(value)))?;
        }
        file.add(columns::all().map(str::to_owned))?;
        file.flush()?;
        Ok(file)
    }

    pub(super) fn write(&mut self, row: &[Value]) -> Result<(), FileError> {
        self.add(row.iter().map(cell))?;
        self.flush()
    }

    fn add(&mut self, cells: impl Iterator<Item = String>) -> Result<(), FileError> {
        let added = self.writer.write_record(cells);
        added.map_err(|source| FileError::Csv { path: self.path.clone(), source })
    }

    fn flush(&mut self) -> Result<(), FileError> {
        let flushed = self.writer.flush();
        flushed.map_err(|source| FileError::Io { path: self.path.clone(), source })
    }
}

fn fact(value: &Tree) -> String {
    match value {
        Tree::Text(text) => text.clone(),
        Tree::Count(count) => count.to_string(),
        Tree::Number(value) => number::repr(*value),
        Tree::Missing | Tree::List(_) | Tree::Group(_) => String::new(),
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Number(value) => number::repr(*value),
        Value::Count(count) => count.to_string(),
        Value::Missing => String::new(),
    }
}
