//! The history that a command reads: where it is, and why it cannot be read.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gua_store::{Database, Problem};

use crate::config::Config;
use crate::failure::Failure;
use gua_core::Period;

/// Where the history is: as typed, else at its usual place.
pub(super) fn path(typed: Option<&Path>, config: &Config) -> Result<PathBuf, Failure> {
    let path = typed.map(Path::to_owned).or_else(|| config.database.clone());
    path.ok_or_else(|| Failure::Usage {
        what: "neither GUA_HOME nor HOME is set, so the path of the history is unknown".to_owned(),
        next: "Name it with --db PATH.".to_owned(),
    })
}

/// Opens the record for reading. A history of the Python gua is converted in memory, but only the window.
/// With an interval, each of its ticks counts for that, also of one that was imported.
pub(super) fn open_record(
    path: &Path,
    window: Period,
    interval: Option<Duration>,
) -> Result<Database, gua_store::StoreError> {
    match Database::open(path) {
        Err(gua_store::StoreError { problem: Problem::PythonGua, .. }) => {
            gua_store::python::open_converted(path, window, interval)
        }
        opened => Ok(opened?.with_imported_interval(interval)),
    }
}
