//! What is said on stderr, which is talk. When nobody hears it, the work goes on all the same:
//! `eprintln` would fall over.

use std::fmt::Display;
use std::io::{self, Write};

/// What a line is taken away with, so that another can come in its place.
pub const CLEARED: &str = "\r\x1b[K";

/// Says a line, or several, in the name of the program.
pub fn say(words: impl Display) {
    say_plainly(format_args!("gua: {words}\n"));
}

/// Says just this: no name before it, no end of line behind it.
pub fn say_plainly(words: impl Display) {
    let _ = write!(io::stderr(), "{words}");
}
