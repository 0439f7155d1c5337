//! Writes what was recorded row by row, for other programs. Rows are passed on as they are read.

mod columns;

use std::io::{self, Write};

use gua_core::Period;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::Serialize;
use serde_json::Value;

use crate::codes;
use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::sums::Bounds;

use columns::Content;
pub use columns::{ExportColumn, ExportTable};

/// How rows of different age are summed, in one sentence.
pub const SUMMED_ROWS: &str = "By default, rows are exact for 2 days (more than two spans of a card in \
     30 s are one row), then sums of quarter hours for 30 days and sums of hours for 400 days: a sum \
     may have time of several states, and what is missing to its length was not observed.";

/// Format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A line of names, then a line per row; unknown is an empty field.
    Csv,
    /// A JSON object per line; unknown is null.
    JsonLines,
}

/// Failure of an export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The rows cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl Database {
    /// Writes the rows of a table that begin in a window, in the order of time: two adjacent windows have
    /// the rows of both together.
    ///
    /// Time of cards and holders comes from the finest rows that are kept of it, so no time comes twice.
    pub fn export(
        &self,
        table: ExportTable,
        window: Period,
        format: ExportFormat,
        out: impl Write,
    ) -> Result<(), ExportError> {
        let mut lines = Lines::begin(table.columns(), format, out)?;
        let failed = |problem: Problem| ExportError::Store(problem.at(self.path()));
        let sqlite = |error: rusqlite::Error| failed(error.into());
        // One transaction, so that all rows are of one moment.
        let transaction = self.connection.unchecked_transaction().map_err(sqlite)?;
        let bounds = Bounds::read(&transaction).map_err(failed)?;
        for source in table.sources(&bounds) {
            let [from, to] = source.range(window);
            let mut query = transaction.prepare(&source.sql(table)).map_err(sqlite)?;
            let mut rows = query.query((from, to, bounds.quarters_until)).map_err(sqlite)?;
            while let Some(row) = rows.next().map_err(sqlite)? {
                lines.write(read_cells(row, table.columns()).map_err(sqlite)?)?;
            }
        }
        Ok(lines.end()?)
    }
}

fn read_cells(row: &Row<'_>, columns: &[ExportColumn]) -> rusqlite::Result<Vec<Value>> {
    let cell = |(place, column): (usize, &ExportColumn)| {
        let value = match row.get_ref(place)? {
            ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            ValueRef::Integer(number) => from_number(number, column.content),
            // Absurd figures of a damaged file may not be numbers in JSON.
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        };
        Ok(value)
    };
    columns.iter().enumerate().map(cell).collect()
}

fn from_number(number: i64, content: Content) -> Value {
    match content {
        Content::Plain | Content::Outside => number.into(),
        Content::Flag => (number != 0).into(),
        Content::GapReason if number == codes::NO_RECORDER => "not_recorded".into(),
        Content::Reason if number == codes::KNOWN => Value::Null,
        Content::Reason => codes::reason(number).slug().into(),
        Content::GapReason => codes::gap_reason(number).slug().into(),
    }
}

/// Rows in a format.
struct Lines<W: Write> {
    columns: &'static [ExportColumn],
    out: Output<W>,
}

enum Output<W: Write> {
    Csv(Box<csv::Writer<W>>),
    JsonLines(io::BufWriter<W>),
}

impl<W: Write> Lines<W> {
    fn begin(
        columns: &'static [ExportColumn],
        format: ExportFormat,
        out: W,
    ) -> Result<Self, ExportError> {
        let out = match format {
            ExportFormat::JsonLines => Output::JsonLines(io::BufWriter::new(out)),
            ExportFormat::Csv => {
                let mut csv =
                    csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
                csv.write_record(columns.iter().map(|column| column.name)).map_err(from_csv)?;
                Output::Csv(Box::new(csv))
            }
        };
        Ok(Self { columns, out })
    }

    fn write(&mut self, cells: Vec<Value>) -> io::Result<()> {
        match &mut self.out {
            Output::Csv(csv) => {
                let fields = cells.into_iter().zip(self.columns);
                let fields = fields.map(|(cell, column)| to_field(cell, column.content));
                csv.write_record(fields).map_err(from_csv)
            }
            Output::JsonLines(out) => {
                serde_json::to_writer(&mut *out, &Line { columns: self.columns, cells: &cells })?;
                out.write_all(b"\n")
            }
        }
    }

    fn end(self) -> io::Result<()> {
        match self.out {
            Output::Csv(mut csv) => csv.flush(),
            Output::JsonLines(mut out) => out.flush(),
        }
    }
}

/// An object whose keys are in the order of the columns.
struct Line<'a> {
    columns: &'a [ExportColumn],
    cells: &'a [Value],
}

impl Serialize for Line<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.columns.iter().map(|column| column.name).zip(self.cells))
    }
}

fn to_field(cell: Value, content: Content) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) if content == Content::Outside => to_spreadsheet(&text),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Makes text from outside harmless: a process may call itself anything, control codes of a terminal or
/// a formula of a spreadsheet included.
fn to_spreadsheet(text: &str) -> String {
    let is_printable = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            && !matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let text: String = text.chars().map(|c| if is_printable(c) { c } else { '?' }).collect();
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// Keeps the kind of an error: a reader that has closed its end is no failure.
fn from_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_never_a_formula_nor_a_control_code() {
        assert_eq!(to_spreadsheet("=1+1"), "'=1+1");
        assert_eq!(to_spreadsheet("@x"), "'@x");
        assert_eq!(to_spreadsheet("-x"), "'-x");
        assert_eq!(to_spreadsheet("+x"), "'+x");
        assert_eq!(to_spreadsheet("\tpy\u{1b}[2J\u{202e}\n"), "?py?[2J??");
        assert_eq!(to_spreadsheet("学習.py"), "学習.py");
    }
}
