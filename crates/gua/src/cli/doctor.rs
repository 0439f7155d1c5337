//! `gua doctor`, as it was typed.

use std::path::PathBuf;

use clap::Args;

use super::Color;

/// What `gua doctor` was asked.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// The history database to check instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    #[command(flatten)]
    pub color: Color,
}
