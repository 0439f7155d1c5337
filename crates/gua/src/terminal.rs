//! How large a terminal is.

use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;

/// Columns and rows. Some terminals say 0 for what they do not know.
#[must_use]
pub fn size(stream: &impl AsFd) -> (Option<usize>, Option<usize>) {
    let known = |count: u16| Some(usize::from(count)).filter(|count| *count > 0);
    match rustix::termios::tcgetwinsize(stream) {
        Ok(size) => (known(size.ws_col), known(size.ws_row)),
        Err(_) => (None, None),
    }
}

/// The columns of a terminal; `None` where it is none, or does not tell.
#[must_use]
pub fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    size(stream).0.or_else(columns_from_environment)
}

/// No screen is wider than a terminal could say; more than that is a mistake.
#[must_use]
pub fn columns_from_environment() -> Option<usize> {
    let columns: u16 = env::var("COLUMNS").ok()?.parse().ok()?;
    Some(usize::from(columns)).filter(|columns| *columns > 0)
}
