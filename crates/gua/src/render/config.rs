//! Settings as a config file that tells where they came from, and mistakes by their place.

use std::io::{self, Write};

use super::words::{safe, width};
use crate::config::{Listed, Row};
use crate::report::config::{Checked, CheckedFile, Shown};

/// Comments stand side by side, unless a value is longer than this.
const MOST_BEFORE_COMMENT: usize = 40;

/// As a config file, with comments.
///
/// # Errors
/// When the writer fails.
pub fn show(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    for file in &shown.files {
        let missing = match file.exists {
            Some(true) => "",
            Some(false) => " (not there)",
            None => " (out of reach: the folder is somebody else's)",
        };
        writeln!(out, "# {}: {}{missing}", file.whose, safe(&file.path))?;
    }
    for section in &shown.sections {
        writeln!(out, "\n[{}]", section.name)?;
        rows(out, section)?;
    }
    Ok(())
}

fn rows(out: &mut impl Write, section: &Listed) -> io::Result<()> {
    let lines: Vec<_> = section.rows.iter().map(|row| (line(row), row)).collect();
    let widths = lines.iter().map(|(line, _)| width(line));
    let widest = widths.filter(|width| *width <= MOST_BEFORE_COMMENT).max().unwrap_or(0);
    for (line, row) in lines {
        let gap = " ".repeat(widest.saturating_sub(width(&line)));
        writeln!(out, "{line}{gap}  # {}", row.origin)?;
    }
    Ok(())
}

/// What is not set cannot be written, and is told as a comment.
fn line(row: &Row) -> String {
    match &row.toml {
        Some(value) => format!("{} = {value}", row.key),
        None => format!("# {} is not set", row.key),
    }
}

/// A line a mistake, as editors and compilers have it.
///
/// # Errors
/// When the writer fails.
pub fn check(out: &mut impl Write, checked: &Checked) -> io::Result<()> {
    for file in &checked.files {
        let path = safe(&file.path);
        for mistake in &file.mistakes {
            writeln!(out, "{path}:{}:{}: {}", mistake.line, mistake.column, mistake.reason)?;
        }
        writeln!(out, "{path}: {}", verdict(file))?;
    }
    Ok(())
}

fn verdict(file: &CheckedFile) -> String {
    match (&file.unreadable_reason, file.mistakes.len()) {
        (Some(reason), _) => format!("cannot be read: {}", safe(reason)),
        (None, 0) => match file.exists {
            Some(true) => "can be used".to_owned(),
            Some(false) => "not there, so the defaults count".to_owned(),
            None => "out of reach, as the folder is somebody else's; the defaults count".to_owned(),
        },
        (None, 1) => "1 mistake".to_owned(),
        (None, many) => format!("{many} mistakes"),
    }
}
