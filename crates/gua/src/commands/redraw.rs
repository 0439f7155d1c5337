//! A screen that is written over, again and again.

use std::io::{self, Write};

/// Writes over what is there, without clearing first, so that nothing flickers. The lines
/// are those that fit so many rows.
pub(super) fn redraw(
    out: &mut impl Write,
    rows: usize,
    is_first: bool,
    lines: impl FnOnce(usize) -> Vec<String>,
) -> io::Result<()> {
    const CLEAR_SCREEN: &str = "\x1b[2J";
    const HOME: &str = "\x1b[H";
    const CLEAR_LINE: &str = "\x1b[K";
    const CLEAR_BELOW: &str = "\x1b[J";
    if is_first {
        write!(out, "{CLEAR_SCREEN}")?;
    }
    write!(out, "{HOME}")?;
    // The last row is where the cursor rests.
    for line in lines(rows.saturating_sub(1)) {
        // Not after the text: a full line leaves the cursor on its last character.
        writeln!(out, "{CLEAR_LINE}{line}")?;
    }
    write!(out, "{CLEAR_BELOW}")
}
