//! Options that stand for a setting: they win over every file.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli;

/// What was typed of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flags {
    pub db: Option<PathBuf>,
    pub interval: Option<Duration>,
    pub keep: cli::KeepOptions,
}

impl From<&cli::Daemon> for Flags {
    fn from(typed: &cli::Daemon) -> Self {
        Self { db: typed.db.clone(), interval: typed.interval, keep: typed.keep }
    }
}

impl From<&cli::DbPrune> for Flags {
    fn from(typed: &cli::DbPrune) -> Self {
        Self { db: typed.db.clone(), keep: typed.keep, ..Self::default() }
    }
}

impl From<&cli::Report> for Flags {
    fn from(typed: &cli::Report) -> Self {
        // `--interval` of a report is another matter.
        Self { db: typed.db.clone(), ..Self::default() }
    }
}

impl From<&cli::ConfigShow> for Flags {
    fn from(typed: &cli::ConfigShow) -> Self {
        Self { db: typed.db.clone(), interval: typed.interval, keep: typed.keep }
    }
}
