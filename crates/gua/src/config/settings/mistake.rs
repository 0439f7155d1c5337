//! What is wrong in a file, and where.

use std::fmt;

use serde::Serialize;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mistake {
    pub line: usize,
    /// In characters.
    pub column: usize,
    /// What is there, what was expected, and an example. On one line, fit to be shown.
    pub reason: String,
}

impl Mistake {
    /// At a byte of a text.
    pub(super) fn at(text: &str, byte: usize, reason: &str) -> Self {
        let (line, column) = place(text, byte);
        Self { line, column, reason: crate::safe::safe(reason) }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

/// The line of a byte, and its column in characters, both counted from 1.
pub(super) fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line_begins = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before.get(line_begins..).unwrap_or_default().chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_in_lines_and_characters() {
        let text = "a\nüb\n";
        let places = [0, 1, 2, 4, 5, 6, 99].map(|byte| place(text, byte));
        assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 1)]);
    }
}
