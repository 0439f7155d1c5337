//! Where the files of a recorder are.

use gua_recorder::places::GivenPaths;
use gua_recorder::{Places, RecorderError};

use crate::config::{self, Config};
use crate::env::Env;

/// Returns the given paths, else the database of the config and the files at home.
pub(super) fn places(
    config: &Config,
    given: GivenPaths<'_>,
    env: &Env,
) -> Result<Places, RecorderError> {
    Places::new(config::home(env).as_deref(), config.database.as_deref(), given)
}
