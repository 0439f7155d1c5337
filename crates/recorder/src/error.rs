//! Reasons why a recorder cannot be started or stopped, each with the next step.

use std::io;
use std::path::PathBuf;

use gua_store::StoreError;

/// A recorder that cannot be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    #[error("there is no home folder for gua's files; set HOME or GUA_HOME, or use {option} PATH")]
    NoHome { option: &'static str },
    #[error("the database {} exists already; add --append to record into it, or use another path", .0.display())]
    DatabaseExists(PathBuf),
    #[error("cannot use the pid file {}: {reason}; use another one with --pid-file PATH", path.display())]
    PidFile { path: PathBuf, reason: String },
    #[error(
        "a recorder (pid {pid}) records into {} already; stop it first, or use another --pid-file for \
         a second one", database.display()
    )]
    OtherDatabase { pid: u32, database: PathBuf },
    #[error("cannot open the log {}: {error}; use another one with --log-file PATH", path.display())]
    Log { path: PathBuf, error: io::Error },
    #[error("cannot start the recorder: {0}; `gua doctor` checks what it needs")]
    Start(io::Error),
    #[error("cannot stop the recorder (pid {pid}): {error}; try again as its owner")]
    Stop { pid: u32, error: io::Error },
    /// A database that was given cannot be recorded into.
    #[error(transparent)]
    GivenDatabase(StoreError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RecorderError {
    /// Returns true if what was given is wrong, and not the host.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoHome { .. }
                | Self::DatabaseExists(_)
                | Self::OtherDatabase { .. }
                | Self::Log { .. }
                | Self::GivenDatabase(_)
        )
    }
}
