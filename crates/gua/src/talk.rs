//! What is said on stderr, which is talk. When nobody hears it, the work goes on all the same:
//! `eprintln` would fall over.

use std::fmt::Display;
use std::io::{self, Write};

use crate::terminal;
use crate::wrap::hung;

/// What a line is taken away with, so that another can come in its place.
pub const CLEARED: &str = "\r\x1b[K";

/// What stands before the words; what goes on in another line stands as far in.
const NAME: &str = "gua: ";

/// Says a line, or several, in the name of the program; on a terminal none is wider than that.
pub fn say(words: impl Display) {
    let words = format!("{NAME}{words}");
    let most = terminal::columns(&io::stderr());
    let lines = words.lines().flat_map(|line| hung(line, NAME.len(), most));
    say_plainly(lines.fold(String::new(), |said, line| said + &line + "\n"));
}

/// Says just this: no name before it, no end of line behind it.
pub fn say_plainly(words: impl Display) {
    let _ = write!(io::stderr(), "{words}");
}
