//! Rows for spreadsheets.

use std::io::{self, Write};

use serde_json::Value;

use super::words::safe;

/// A column of a table: its title, and where its figure is in the JSON of a row.
pub type Column = (&'static str, &'static str);

/// Writes a table of rows that are JSON. What is null or missing is empty.
///
/// # Errors
/// When the writer fails.
pub fn table(
    out: &mut impl Write,
    columns: &[Column],
    rows: impl IntoIterator<Item = Value>,
) -> io::Result<()> {
    let titles: Vec<_> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    row(out, &titles)?;
    for value in rows {
        let cells =
            columns.iter().map(|(_, place)| value.pointer(place).map_or_else(String::new, cell));
        row(out, &cells.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => name(&safe(text)),
        // Without an exponent, and whole numbers without a point.
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(String::new, |number| number.to_string())
        }
        other => other.to_string(),
    }
}

/// Writes one row. Fields are quoted where they have to be.
///
/// # Errors
/// When the writer fails.
pub fn row(out: &mut impl Write, fields: &[String]) -> io::Result<()> {
    let terminator = csv::Terminator::CRLF;
    let mut row = csv::WriterBuilder::new().terminator(terminator).from_writer(out);
    row.write_record(fields).map_err(io_error)?;
    row.flush()
}

/// A name that a spreadsheet would take for a formula is marked as text.
#[must_use]
pub fn name(name: &str) -> String {
    let is_a_formula = name.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_a_formula { format!("'{name}") } else { name.to_owned() }
}

/// The kind is kept: a reader that went away is told apart by it.
pub(super) fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_break_a_row_is_quoted() {
        let mut out = Vec::new();
        let fields = ["a", "b,c", "d\"e", "f\ng", ""].map(str::to_owned);
        row(&mut out, &fields).unwrap();
        assert_eq!(out, b"a,\"b,c\",\"d\"\"e\",\"f\ng\",\r\n");
    }

    #[test]
    fn no_name_becomes_a_formula() {
        assert_eq!(name("=1+1"), "'=1+1");
        assert_eq!(["+x", "-x", "@x", "x-y"].map(name), ["'+x", "'-x", "'@x", "x-y"]);
    }
}
