//! `gua config`, as it was typed, and which config file to use.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::KeepOptions;
use super::duration::interval;

/// Which config file.
#[derive(Debug, Args)]
pub struct Files {
    /// The config file to use instead of config.toml in GUA_HOME or ~/.gua [env: GUA_CONFIG]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Where to look")]
    pub config: Option<OsString>,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show every setting in force, and where it came from; the output is a config file itself
    Show(ConfigShow),
    /// Name every mistake in a config file
    #[command(after_help = "Exit codes: 0 it can be used, 2 it has a mistake or is not there.")]
    Check(ConfigCheck),
}

/// What `gua config show` was asked.
#[derive(Debug, Args)]
pub struct ConfigShow {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// As with this option of the commands that have it; so are the next ones
    #[arg(long, value_name = "PATH", help_heading = "What options would change")]
    pub db: Option<PathBuf>,
    /// Of `gua daemon`
    #[arg(long, value_name = "D", value_parser = interval, help_heading = "What options would change")]
    pub interval: Option<Duration>,
    #[command(flatten, next_help_heading = "What options would change")]
    pub keep: KeepOptions,
}

/// What `gua config check` was asked.
#[derive(Debug, Args)]
pub struct ConfigCheck {
    /// The file to check [default: those in force]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
