//! Terminals and their size.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use crate::env::Env;

/// A stream, as far as it may be a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// Stdout of this process. Its size is read at each call, as the window may be resized.
    Stdout,
    /// Stderr of this process, likewise.
    Stderr,
    /// A stream that is not a terminal.
    None,
    /// A terminal of a fixed size.
    Fixed { columns: usize, rows: usize },
}

impl Terminal {
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
            Self::None => false,
            Self::Fixed { .. } => true,
        }
    }

    /// Returns columns and rows, as far as they are known.
    #[must_use]
    pub fn size(self) -> (Option<usize>, Option<usize>) {
        match self {
            Self::Stdout => size(&io::stdout()),
            Self::Stderr => size(&io::stderr()),
            Self::None => (None, None),
            Self::Fixed { columns, rows } => (Some(columns), Some(rows)),
        }
    }
}

/// Reads columns and rows. Some terminals say 0 for what they do not know.
fn size(stream: &impl AsFd) -> (Option<usize>, Option<usize>) {
    let known = |count: u16| Some(usize::from(count)).filter(|count| *count > 0);
    match rustix::termios::tcgetwinsize(stream) {
        Ok(size) => (known(size.ws_col), known(size.ws_row)),
        Err(_) => (None, None),
    }
}

/// Returns the value of `COLUMNS`. No terminal is wider than a `u16` says; more is a mistake.
#[must_use]
pub fn columns_from_environment(env: &Env) -> Option<usize> {
    let columns: u16 = env.text("COLUMNS")?.parse().ok()?;
    Some(usize::from(columns)).filter(|columns| *columns > 0)
}
