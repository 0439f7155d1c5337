//! `gua serve`, as it was typed.

use std::path::PathBuf;

use clap::Args;

use super::Protection;

/// What `gua serve` was asked.
#[derive(Debug, Args)]
#[command(after_help = "/ is the page, live; /api/v1/report, who, stat and status answer as the \
    commands do with --json, from the newest tick, and of the last 24 h where no window is named; \
    /events tells of every tick; /metrics is for Prometheus. Nothing there \
    changes anything. Prices are those of the config.")]
pub struct Serve {
    /// The history to read instead of gua.db in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Where to listen: an address and a port, or a port of this host only
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7071")]
    pub listen: String,
    #[command(flatten)]
    pub protection: Protection,
}
