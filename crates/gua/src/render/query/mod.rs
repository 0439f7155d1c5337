//! What was asked for, line by line: CSV as nvidia-smi writes it, JSON, a table, or the columns
//! of dmon and pmon.

mod cell;
mod csv;
pub mod fields;
mod json;
pub mod monitor;
mod table;

use self::monitor::Monitor;
use self::table::Table;
use crate::cli::Zone;
use crate::report::query::{Answer, Column, Question};

/// How answers look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Csv,
    /// One object a line, or one that is laid out for reading.
    Json {
        pretty: bool,
    },
    Table,
    Monitor(&'static Monitor),
}

/// What is shown around the values.
#[derive(Debug, Clone)]
pub struct Shown {
    pub header: bool,
    /// Behind each value; the header has them anyway.
    pub units: bool,
    pub zone: Zone,
}

/// Turns one answer after the other into lines.
#[derive(Debug)]
pub struct Printer {
    of_cards: bool,
    columns: Vec<Column>,
    layout: Layout,
    shown: Shown,
    table: Table,
}

impl Printer {
    #[must_use]
    pub fn new(question: &Question, layout: Layout, shown: Shown) -> Self {
        let columns = question.columns();
        let table = Table::new(&columns, &shown);
        Self { of_cards: question.is_of_cards(), columns, layout, shown, table }
    }

    /// What stands above the lines; a table's fits those that were made so far.
    #[must_use]
    pub fn head(&self) -> Vec<String> {
        match self.layout {
            Layout::Json { .. } => Vec::new(),
            _ if !self.shown.header => Vec::new(),
            Layout::Csv => vec![csv::head(&self.columns)],
            Layout::Table => vec![self.table.head()],
            Layout::Monitor(monitor) => monitor.head(),
        }
    }

    /// Whether its lines belong into a file that begins with this one. A table's columns may be
    /// as wide as they were.
    #[must_use]
    pub fn may_follow(&self, first_line: &str) -> bool {
        let has_header = self.shown.header;
        match self.layout {
            Layout::Csv if has_header => first_line == csv::head(&self.columns),
            Layout::Csv => csv::may_follow(&self.columns, first_line),
            Layout::Json { .. } => first_line.starts_with(json::BEGINNING),
            Layout::Table => first_line.split_whitespace().eq(self.table.head().split_whitespace()),
            Layout::Monitor(monitor) => monitor.head().first().is_some_and(|h| h == first_line),
        }
    }

    /// Whether the head is repeated now and then, for people who watch.
    #[must_use]
    pub const fn repeats_its_head(&self) -> bool {
        matches!(self.layout, Layout::Table | Layout::Monitor(_))
    }

    /// The lines of one answer.
    pub fn lines(&mut self, answer: &Answer) -> Vec<String> {
        let Self { columns, shown, .. } = self;
        let rows = answer.rows.iter();
        match self.layout {
            Layout::Csv => rows.map(|row| csv::line(columns, row, shown)).collect(),
            Layout::Table => self.table.lines(columns, &answer.rows, shown),
            Layout::Monitor(monitor) => rows.map(|row| monitor.line(columns, row, shown)).collect(),
            Layout::Json { pretty } => vec![json::object(answer, columns, self.of_cards, pretty)],
        }
    }
}
