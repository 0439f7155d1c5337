//! Any report as JSON.

use std::io::{self, Write};

use serde::Serialize;

/// For a single answer: laid out for reading.
///
/// # Errors
/// When the writer fails.
pub fn pretty(out: &mut impl Write, report: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}

/// For an answer among many: one object a line.
///
/// # Errors
/// When the writer fails.
pub fn line(out: &mut impl Write, report: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, report)?;
    out.write_all(b"\n")
}
