//! What the recorder says about itself, a line each, with the time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, Unit};

use crate::safe::safe;

/// A log file that can be moved away and begun anew, or stderr.
#[derive(Debug)]
pub struct Log {
    file: Option<(PathBuf, File)>,
}

impl Log {
    /// Talks on stderr.
    #[must_use]
    pub const fn to_stderr() -> Self {
        Self { file: None }
    }

    /// Adds to a file that only its owner may read.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self { file: Some((path.to_owned(), open(path)?)) })
    }

    /// Opens the file anew, where somebody has moved it away.
    pub fn reopen(&mut self) {
        if let Some((path, file)) = &mut self.file {
            match open(path) {
                Ok(fresh) => *file = fresh,
                Err(error) => self.say(&format!("the log could not be opened anew: {error}")),
            }
        }
    }

    /// Says one thing. A recorder that cannot say it goes on all the same.
    pub fn say(&mut self, text: &str) {
        let now = Timestamp::now();
        let line = format!("{}  {}\n", now.round(Unit::Second).unwrap_or(now), safe(text));
        let _ = match &mut self.file {
            Some((_, file)) => file.write_all(line.as_bytes()),
            None => io::stderr().write_all(line.as_bytes()),
        };
    }
}

/// Opens a log to add to it, and makes it where there is none.
///
/// # Errors
/// When it cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}
