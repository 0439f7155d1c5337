//! Pieces of Markdown.

use std::io::{self, Write};

/// The head of a table, with the columns whose figures stand at the right.
pub(super) fn table(out: &mut impl Write, heads: &[&str], rights: &[bool]) -> io::Result<()> {
    row(out, &heads.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let rules: Vec<_> = rights.iter().map(|right| if *right { "---:" } else { "---" }).collect();
    writeln!(out, "|{}|", rules.join("|"))
}

pub(super) fn row(out: &mut impl Write, cells: &[String]) -> io::Result<()> {
    let cells: Vec<_> = cells.iter().map(|cell| text(cell)).collect();
    writeln!(out, "| {} |", cells.join(" | "))
}

/// Something to type. What a mark of its own would end is shown as a text instead.
pub(super) fn code(command: &str) -> String {
    if command.contains(['`', '|', '\n']) { text(command) } else { format!("`{command}`") }
}

/// A text that stays one: nothing in it is taken for a mark of Markdown or of HTML.
pub(super) fn text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if r"\|`*_<>[]#&~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
