//! Aligned columns for people, which grow as wider values come.

use super::{Shown, cell, csv};
use crate::render::paint::Paint;
use crate::render::table::{self as columns, Align, Line};
use crate::report::query::{Column, Unit, Value};

/// The columns so far.
#[derive(Debug)]
pub(super) struct Table {
    titles: Vec<columns::Cell>,
    columns: Vec<columns::Column>,
}

impl Table {
    /// Where values have their units the names need none. That of times has the zone.
    pub fn new(asked: &[Column], shown: &Shown) -> Self {
        let title = |column: &Column| match column.name() {
            name @ ("timestamp" | "started") => format!("{name} ({})", shown.zone.name),
            name if shown.units => name.to_owned(),
            _ => csv::title(column),
        };
        let titles: Vec<_> =
            asked.iter().map(|column| columns::Cell::plain(title(column))).collect();
        let aligns: Vec<_> = asked.iter().map(align).collect();
        let columns = columns::fit(&aligns, std::iter::once(titles.as_slice()));
        Self { titles, columns }
    }

    pub fn head(&self) -> String {
        self.line(&self.titles)
    }

    pub fn lines(
        &mut self,
        asked: &[Column],
        rows: &[Vec<crate::report::query::Cell>],
        shown: &Shown,
    ) -> Vec<String> {
        let cell = |(column, cell): (&Column, &crate::report::query::Cell)| {
            columns::Cell::plain(match cell {
                Ok(value) => text(value, column.unit, shown),
                Err(reason) => cell::unknown(*reason),
            })
        };
        let rows: Vec<Vec<_>> =
            rows.iter().map(|row| asked.iter().zip(row).map(cell).collect()).collect();
        self.grow(&rows);
        rows.iter().map(|row| self.line(row)).collect()
    }

    fn grow(&mut self, rows: &[Vec<columns::Cell>]) {
        let aligns: Vec<_> = self.columns.iter().map(|column| column.align).collect();
        let fitted = columns::fit(&aligns, rows.iter().map(Vec::as_slice));
        for (column, fitted) in self.columns.iter_mut().zip(fitted) {
            column.width = column.width.max(fitted.width);
        }
    }

    fn line(&self, cells: &[columns::Cell]) -> String {
        let mut line = Line::default();
        columns::put_row(&mut line, 0, cells, &self.columns, usize::MAX, Paint(false));
        line.text
    }
}

fn text(value: &Value, unit: Unit, shown: &Shown) -> String {
    let bare = cell::bare(value, unit, &shown.zone.tz);
    if shown.units { cell::with_unit(bare, unit) } else { bare }
}

/// Numbers stand at the right.
fn align(column: &Column) -> Align {
    let is_number = column.unit != Unit::None
        || matches!(column.name(), "index" | "gpu_index" | "pid" | "uid" | "holders" | "count");
    if is_number { Align::Right } else { Align::Left }
}
