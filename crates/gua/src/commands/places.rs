//! Where the files of a recorder are.

use gua_recorder::places::GivenPaths;
use gua_recorder::{Places, RecorderError};

use crate::config::{self, Config};

/// Returns the given paths, else the database of the config and the files at home.
pub(super) fn places(config: &Config, given: GivenPaths<'_>) -> Result<Places, RecorderError> {
    Places::new(config::home().as_deref(), config.database.as_deref(), given)
}
