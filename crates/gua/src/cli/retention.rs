//! Options for how long what was recorded is kept.

use std::time::Duration;

use clap::Args;

use super::duration::age;
use super::removed::RemovedKeepOptions;

/// How long rows of each kind are kept, as far as that was typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct KeepOptions {
    /// How long to keep exact spans, before they are summed up as quarter hours [default: 2d, or
    /// as in the config]
    #[arg(long, value_name = "D", value_parser = age)]
    pub keep_exact: Option<Duration>,
    /// How long to keep quarter hours [default: 30d, or as in the config]
    #[arg(long, value_name = "D", value_parser = age)]
    pub keep_quarters: Option<Duration>,
    /// How long to keep hours, sessions, gaps and events [default: 400d, or as in the config]
    #[arg(long, value_name = "D", value_parser = age)]
    pub keep_hours: Option<Duration>,
    /// How long to keep samples for plots [default: 7d, or as in the config]
    #[arg(long, value_name = "D", value_parser = age)]
    pub keep_samples: Option<Duration>,
    #[command(flatten)]
    pub removed: RemovedKeepOptions,
}
