//! `gua fleet`, as it was typed.

use clap::Args;

use super::{Color, Engine, Tz};

/// What `gua fleet` was asked.
#[derive(Debug, Args)]
pub struct Fleet {
    /// Show the cards that are free now, host by host
    #[arg(long)]
    pub free: bool,
    /// Only cards whose model has this in its name, such as A100
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    #[command(flatten)]
    pub engine: Engine,
    /// Print JSON; null is what is not known
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub tz: Tz,
    #[command(flatten)]
    pub color: Color,
}
