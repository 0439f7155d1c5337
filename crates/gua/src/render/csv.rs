//! Rows for spreadsheets.

use std::io::{self, Write};

/// Writes one row. Fields are quoted where they have to be (RFC 4180).
///
/// # Errors
/// When the writer fails.
pub fn row(out: &mut impl Write, fields: &[String]) -> io::Result<()> {
    let fields: Vec<_> = fields.iter().map(|field| quoted(field)).collect();
    write!(out, "{}\r\n", fields.join(","))
}

/// A name that a spreadsheet would take for a formula is marked as text.
#[must_use]
pub fn name(name: &str) -> String {
    let is_a_formula = name.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_a_formula { format!("'{name}") } else { name.to_owned() }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_owned()
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
