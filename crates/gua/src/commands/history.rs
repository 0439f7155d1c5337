//! The history that a command reads: where it is, and why it cannot be read.

use std::path::{Path, PathBuf};

use crate::config;
use crate::failure::Failure;
use crate::store::History;

/// Where the history is: as typed, else `gua.db` where our own files are.
pub(super) fn path(typed: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = typed {
        return Ok(path.to_owned());
    }
    config::home().map(|home| home.join("gua.db")).ok_or_else(|| Failure::Usage {
        what: "neither GUA_HOME nor HOME is set, so it cannot be told where the history is"
            .to_owned(),
        next: "Name it with --db PATH.".to_owned(),
    })
}

/// Opens it for reading.
pub(super) fn open(path: &Path) -> Result<History, Failure> {
    History::open(path).map_err(|error| error.failure(path))
}
