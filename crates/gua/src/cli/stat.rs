//! `gua stat`, as it was typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Color, Tz};

/// What `gua stat` was asked.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that was typed or not")]
pub struct Stat {
    /// Show the program of each holder (shown anyway; accepted out of habit)
    #[arg(short = 'c', long = "show-cmd")]
    pub command: bool,
    /// Show the full command line of each holder instead of the program
    #[arg(short = 'f', long = "show-full-cmd")]
    pub full_command: bool,
    /// Show the user of each holder (shown anyway; accepted out of habit)
    #[arg(short = 'u', long = "show-user")]
    pub user: bool,
    /// Show the pid of each holder
    #[arg(short = 'p', long = "show-pid")]
    pub pid: bool,
    /// Which power figures to show: both, or with -P=draw or -P=limit one of them
    // A value only after `=`, so that -P may stand anywhere among bundled options.
    #[arg(
        short = 'P', long = "show-power", value_name = "WHICH", num_args = 0..=1,
        default_missing_value = "draw,limit", require_equals = true
    )]
    pub power: Option<PowerColumn>,
    /// Show the fan speed
    #[arg(short = 'F', long = "show-fan", visible_alias = "show-fan-speed")]
    pub fan: bool,
    /// Show encoder and decoder utilization
    #[arg(short = 'e', long = "show-codec")]
    pub codec: bool,
    /// Show every column: pid, fan, encoder and decoder, clocks of the SMs and the memory
    #[arg(short = 'a', long = "show-all")]
    pub all: bool,
    /// Look again every so many seconds, without a value every second, until interrupted
    #[arg(
        short = 'i', long = "interval", visible_alias = "watch", value_name = "SECONDS",
        num_args = 0..=1, default_missing_value = "1", value_parser = seconds
    )]
    pub interval: Option<f64>,
    /// Show only these cards: indices, INDEX:SLOT, UUIDs or bus ids, separated by commas
    #[arg(long, value_name = "CARDS", value_delimiter = ',')]
    pub id: Vec<String>,
    /// The history that says since when holders are idle, instead of the usual one, as `gua config show`
    /// names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Leave out the line about the host (JSON has it always)
    #[arg(long)]
    pub no_header: bool,
    /// Leave out the holders (JSON has them always)
    #[arg(long)]
    pub no_processes: bool,
    /// Print JSON, with -i one object a line; null is what is not known, and `unknown` says why
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub tz: Tz,
    #[command(flatten)]
    pub color: Color,
}

/// Which figures the power column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PowerColumn {
    Draw,
    Limit,
    #[value(name = "draw,limit", alias = "limit,draw")]
    Both,
}

/// The shortest and the longest refresh that make sense.
const SECONDS: std::ops::RangeInclusive<f64> = 0.1..=86_400.0;

fn seconds(typed: &str) -> Result<f64, String> {
    let expected = "expected seconds from 0.1 to 86400";
    let seconds: f64 = typed.parse().map_err(|_| expected.to_owned())?;
    if SECONDS.contains(&seconds) { Ok(seconds) } else { Err(expected.to_owned()) }
}
