//! The history that a command reads: where it is, and why it cannot be read.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::failure::Failure;
use crate::ledger::Period;
use crate::store::{self, History, Identity, StoreError, python};

/// Where the history is: as typed, else at its usual place.
pub(super) fn path(typed: Option<&Path>, config: &Config) -> Result<PathBuf, Failure> {
    let path = typed.map(Path::to_owned).or_else(|| config.database.clone());
    path.ok_or_else(|| Failure::Usage {
        what: "neither GUA_HOME nor HOME is set, so it cannot be told where the history is"
            .to_owned(),
        next: "Name it with --db PATH.".to_owned(),
    })
}

/// What is kept besides spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Spans,
    Samples,
}

/// Opens it for reading a window of it. One of the Python gua is read as it is.
pub(super) fn open(path: &Path, window: Period, detail: Detail) -> Result<History, Failure> {
    read(path, window, detail).map_err(|error| error.failure(path))
}

/// The same, for who can do without it.
pub(super) fn read(path: &Path, window: Period, detail: Detail) -> Result<History, StoreError> {
    match store::identify(path) {
        Identity::PythonGua => python::history(path, window, detail == Detail::Samples),
        _ => History::open_for(path, window),
    }
}
