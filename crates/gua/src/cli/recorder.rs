//! `gua daemon`, `gua status` and `gua stop`, as they are typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{KeepOptions, Protection, Tz, duration};

/// What `gua daemon` was asked.
#[derive(Debug, Args)]
pub struct Daemon {
    /// The database to record into instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Time between two writes to the database, from 100ms to 1h; cards are polled every 5 s, or at
    /// the interval if that is shorter [default: 30s, or as in the config]
    #[arg(long, value_name = "D", value_parser = duration::interval)]
    pub interval: Option<Duration>,
    /// The pid file instead of gua.pid in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub pid_file: Option<PathBuf>,
    /// The log instead of gua.log in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub log_file: Option<PathBuf>,
    /// Stay in the foreground, as a service manager wants it; logs to stderr unless
    /// --log-file is given
    #[arg(long)]
    pub foreground: bool,
    /// Go on with the database that --db names, if it is one of gua's
    #[arg(long)]
    pub append: bool,
    #[command(flatten)]
    pub keep: KeepOptions,
    /// Serve the dashboard, JSON API and /metrics on ADDR:PORT (a port alone: localhost)
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    #[command(flatten)]
    pub protection: Protection,
    /// Leave the terminal, and say on stdout when the first tick is stored
    #[arg(long, hide = true, requires = "foreground")]
    pub detached: bool,
}

/// What `gua status` was asked.
#[derive(Debug, Args)]
pub struct Status {
    /// The database to look at instead of the one that the recorder writes
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// The pid file instead of gua.pid in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub pid_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub tz: Tz,
    #[command(flatten)]
    pub color: super::Color,
}

/// What `gua stop` was asked.
#[derive(Debug, Args)]
pub struct Stop {
    /// The pid file instead of gua.pid in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub pid_file: Option<PathBuf>,
}
