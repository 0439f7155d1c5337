//! Rows as CSV: a line of names, then a line a row; what is not known is empty.

use std::io::{self, Write};

use serde::Serialize;

use super::csv::{io_error, name};
use super::words::safe;
use crate::store::{SampleRow, SpanRow};

/// A row that can be a line of CSV.
pub trait Line: Serialize {
    /// The names of its columns, in the order of its fields.
    const COLUMNS: &'static [&'static str];

    /// With its names made fit for a screen and a spreadsheet.
    #[must_use]
    fn guarded(self) -> Self;
}

impl Line for SpanRow {
    const COLUMNS: &'static [&'static str] = &[
        "kind",
        "from",
        "to",
        "seconds",
        "counted_seconds",
        "card_uuid",
        "card_index",
        "card_slot",
        "state",
        "reason",
        "user",
        "uid",
        "pid",
        "program",
        "memory_bytes",
        "run",
        "script",
        "job",
        "container",
        "pod",
        "notebook",
        "command",
    ];

    fn guarded(self) -> Self {
        Self {
            card_uuid: guarded(self.card_uuid),
            user: guarded(self.user),
            program: guarded(self.program),
            script: guarded(self.script),
            job: guarded(self.job),
            container: guarded(self.container),
            pod: guarded(self.pod),
            notebook: guarded(self.notebook),
            command: guarded(self.command),
            ..self
        }
    }
}

impl Line for SampleRow {
    const COLUMNS: &'static [&'static str] = &[
        "at",
        "covers_seconds",
        "card_uuid",
        "card_index",
        "card_slot",
        "state",
        "reason",
        "utilization_percent",
        "utilization_reason",
        "basis",
        "held_bytes",
        "unseen_bytes",
        "hidden_reason",
        "holders",
        "used_bytes",
        "power_watts",
        "temperature_celsius",
        "run",
    ];

    fn guarded(self) -> Self {
        Self { card_uuid: guarded(self.card_uuid), ..self }
    }
}

fn guarded(text: Option<String>) -> Option<String> {
    Some(name(&safe(&text?)))
}

/// Lines of CSV, as they come.
#[derive(Debug)]
pub struct Csv<W: Write> {
    lines: csv::Writer<W>,
}

impl<W: Write> Csv<W> {
    /// Begins with the names of the columns.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn begin(out: W, columns: &[&str]) -> io::Result<Self> {
        let mut lines = csv::WriterBuilder::new()
            .has_headers(false)
            .terminator(csv::Terminator::CRLF)
            .from_writer(out);
        lines.write_record(columns).map_err(io_error)?;
        Ok(Self { lines })
    }

    /// # Errors
    /// When the writer fails.
    pub fn line(&mut self, row: impl Line) -> io::Result<()> {
        self.lines.serialize(row.guarded()).map_err(io_error)
    }

    /// # Errors
    /// When the writer fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_a_formula() {
        let shown = |name: &str| guarded(Some(name.to_owned())).unwrap();
        assert_eq!(shown("=1+1"), "'=1+1");
        assert_eq!(shown("@x"), "'@x");
        assert_eq!(shown("-x"), "'-x");
        assert_eq!(shown("+x"), "'+x");
        assert_eq!(shown("py\u{1b}[2J\n"), "py?[2J?");
        assert_eq!(shown("python"), "python");
        assert_eq!(guarded(None), None);
    }
}
