//! `gua top`, as it was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Color, Tz, duration};

/// What `gua top` was asked.
#[derive(Debug, Args)]
#[command(after_help = "Press ? in it for the keys.")]
pub struct Top {
    /// The time from look to look, from 100ms to 1h
    #[arg(short = 'i', long, value_name = "D", value_parser = duration::interval,
          default_value = "1s", visible_alias = "interval", allow_hyphen_values = true)]
    pub every: Duration,
    /// Show only these cards: indices, INDEX:SLOT, UUIDs or bus ids, separated by commas
    #[arg(long, value_name = "CARDS", value_delimiter = ',', visible_alias = "gpus")]
    pub id: Vec<String>,
    /// Show the full command line of a holder in its details; it may hold secrets
    #[arg(short = 'f', long = "show-full-cmd")]
    pub full_command: bool,
    /// The history to draw the last hour from, instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Show the machine of a scenario file, without a GPU
    #[arg(long, value_name = "FILE", conflicts_with_all = ["demo", "full_command"])]
    pub scenario: Option<PathBuf>,
    /// Show a lab that does not exist, without a GPU
    #[arg(long, conflicts_with_all = ["db", "full_command"])]
    pub demo: bool,
    /// Use plain characters only
    #[arg(long)]
    pub ascii: bool,
    #[command(flatten)]
    pub tz: Tz,
    #[command(flatten)]
    pub color: Color,
}
