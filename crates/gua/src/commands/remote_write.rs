//! The receiver of `[remote_write]`.

use gua_fleet::engine::{Access, Credentials, EngineError};

use crate::config::RemoteWrite;
use crate::failure::Failure;

/// Returns how to reach the receiver; `None` if none is configured.
pub(super) fn access(config: &RemoteWrite) -> Result<Option<Access>, Failure> {
    read_access(config).map_err(|error| unusable(&error))
}

fn read_access(config: &RemoteWrite) -> Result<Option<Access>, EngineError> {
    let Some(url) = &config.url else { return Ok(None) };
    let credentials = Credentials::new(
        config.user.as_deref(),
        config.password_file.as_deref(),
        config.token_file.as_deref(),
    )?;
    let access = Access::new(url)?;
    let (ca_file, timeout) = (config.ca_file.clone(), config.timeout);
    Ok(Some(Access { credentials, ca_file, timeout, ..access }))
}

/// Returns the failure for a receiver that cannot be used.
pub(super) fn unusable(error: &EngineError) -> Failure {
    Failure::Usage {
        what: format!("cannot use [remote_write]: {error}"),
        next: "`gua config show` shows where it is set.".to_owned(),
    }
}
