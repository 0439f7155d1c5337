//! The destination of an answer, as typed after `-o`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A file to write to, or stdout, which is `-`. Every `-o` is of this type, so that `-` means
/// the same everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Stdout,
    File(PathBuf),
}

impl Output {
    /// Returns the file's path, or `None` for stdout.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Stdout => None,
            Self::File(path) => Some(path),
        }
    }
}

impl From<OsString> for Output {
    fn from(typed: OsString) -> Self {
        if typed == "-" { Self::Stdout } else { Self::File(typed.into()) }
    }
}
