//! What can be asked for, explained.

use std::io::{self, Write};

use serde::Serialize;

use crate::render::json;
use crate::render::paint::Paint;
use crate::render::table::{self, Align, Cell, Line};
use crate::report::query::{Column, all_fields};

/// All fields, for programs.
#[derive(Debug, Serialize)]
struct Fields {
    schema: &'static str,
    cards: Vec<Field>,
    holders: Vec<Field>,
}

#[derive(Debug, Serialize)]
struct Field {
    name: &'static str,
    other_names: &'static [&'static str],
    /// Its name in JSON.
    json_name: String,
    /// As CSV and tables have it; null where it is no quantity.
    unit: Option<&'static str>,
    means: &'static str,
}

/// As JSON.
///
/// # Errors
/// When the writer fails.
pub fn write_json(out: &mut impl Write) -> io::Result<()> {
    let (cards, holders) = all_fields();
    let fields = |columns: Vec<Column>| columns.iter().map(field).collect();
    let schema = "gua.query_fields/1";
    json::pretty(out, &Fields { schema, cards: fields(cards), holders: fields(holders) })
}

fn field(column: &Column) -> Field {
    Field {
        name: column.name(),
        other_names: column.names.get(1..).unwrap_or_default(),
        json_name: column.key(),
        unit: column.unit.word(),
        means: column.means,
    }
}

/// As text.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write) -> io::Result<()> {
    let (cards, holders) = all_fields();
    writeln!(out, "Fields of cards")?;
    section(out, &cards)?;
    writeln!(out, "\nFields of holders, with --apps")?;
    section(out, &holders)
}

fn section(out: &mut impl Write, fields: &[Column]) -> io::Result<()> {
    let row = |column: &Column| {
        let unit = column.unit.word().unwrap_or("–");
        [column.names.join(", "), unit.to_owned(), column.means.to_owned()].map(Cell::plain)
    };
    let rows: Vec<_> = fields.iter().map(row).collect();
    let columns = table::fit(&[Align::Left; 3], rows.iter().map(<[Cell; 3]>::as_slice));
    for row in &rows {
        let mut line = Line::default();
        table::put_row(&mut line, 2, row, &columns, usize::MAX, Paint(false));
        writeln!(out, "{}", line.text)?;
    }
    Ok(())
}
