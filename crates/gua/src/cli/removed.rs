//! Options of earlier versions. Each is refused with what to use now.

use std::convert::Infallible;

use clap::Args;

/// The option of `gua daemon` and `gua db prune` for how long rows were kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct RemovedKeepOptions {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "", value_name = "D",
          value_parser = is_keep_hours)]
    keep_spans: Option<Infallible>,
}

/// The options of `gua report` that classified the history again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct RemovedThresholds {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "", value_name = "PERCENT",
          value_parser = is_threshold)]
    active_percent: Option<Infallible>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "", value_name = "MB",
          value_parser = is_threshold)]
    held_mb: Option<Infallible>,
}

fn is_keep_hours(_: &str) -> Result<Infallible, &'static str> {
    Err("this option was replaced: use --keep-hours (hours, sessions, gaps and events), with \
         --keep-exact and --keep-quarters for finer rows")
}

fn is_threshold(_: &str) -> Result<Infallible, &'static str> {
    Err(
        "thresholds belong to the recorder: set them below [thresholds] in its config; they apply from \
         then on",
    )
}
