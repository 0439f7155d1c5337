//! `gua demo`, as it was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration;
use super::moment::{Moment, moment};
use super::number;
use super::zone::Tz;
use super::{Accounts, Color};

/// What `gua demo` was asked.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --days: three cards that repeat five ticks. Pauses of less than 5 s in \
                        work count as work. With --days: a lab with eight cards and a dozen \
                        people, whose past is the same every time."
)]
pub struct Demo {
    /// Keep the history in this file, which must not exist yet
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// How many ticks to make, up to 1000000 [default: 30]
    #[arg(long, value_name = "N", allow_hyphen_values = true,
          value_parser = number::ticks)]
    pub ticks: Option<u32>,
    /// The time from tick to tick, from 100ms to 1h [default: 30s]
    #[arg(long, value_name = "D", value_parser = duration::interval, allow_hyphen_values = true)]
    pub interval: Option<Duration>,
    /// How many days of a lab to make, up to 3650
    #[arg(long, value_name = "N", allow_hyphen_values = true, conflicts_with = "ticks",
          value_parser = number::days)]
    pub days: Option<u32>,
    /// Where the history ends; now when left out. With it the same is printed every time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub at: Option<Moment>,
    #[command(flatten)]
    pub tz: Tz,
    #[command(flatten)]
    pub accounts: Accounts,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Columns of the text, 40 to 300 [default: the terminal's, at most 100; else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = number::columns)]
    pub width: Option<u16>,
    #[command(flatten)]
    pub color: Color,
}
