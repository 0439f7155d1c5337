//! Numbers of rows per table.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Numbers of rows per table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    pub fn add(&mut self, table: &'static str, rows: usize) {
        if rows > 0 {
            *self.0.entry(table).or_default() += rows;
        }
    }

    pub fn extend(&mut self, other: &Self) {
        for (table, rows) in &other.0 {
            self.add(table, *rows);
        }
    }

    /// Rows of all tables.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }
}

/// `card_span 48, sample 5760, tick 720`
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (table, rows)) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{table} {rows}")?;
        }
        Ok(())
    }
}
