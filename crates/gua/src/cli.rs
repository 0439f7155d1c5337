//! What was typed.

mod db;
mod duration;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::db::{Db, DbCheck, DbExport, DbInfo, DbPrune, ExportFormat, ExportWhat};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Which GPUs work, which are held without being used, which are free, and by whom.
#[derive(Debug, Parser)]
#[command(name = "gua", version, styles = STYLES, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 failed or not ready, 2 wrong usage or input.")]
pub struct Gua {
    #[command(flatten)]
    pub machine: Machine,
    #[command(subcommand)]
    pub command: Command,
}

/// Where to look for the driver and the host.
#[derive(Debug, Args)]
pub struct Machine {
    /// The driver's library to use instead of libnvidia-ml.so.1
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "GUA_NVML",
        hide_env_values = true,
        help_heading = "Where to look"
    )]
    pub nvml: Option<OsString>,
    /// Where the host's root is mounted, when gua runs in a container
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "GUA_HOST_ROOT",
        hide_env_values = true,
        help_heading = "Where to look"
    )]
    pub host_root: Option<OsString>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look after the history database
    Db {
        #[command(subcommand)]
        command: Db,
    },
    /// Check whether this host is ready: driver, library, cards, database
    Doctor(Doctor),
    /// Show each card's state on one line, and who holds it
    Stat(Stat),
    /// Print the version
    Version,
}

/// What `gua doctor` was asked.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// The history database to check instead of gua.db in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    #[command(flatten)]
    pub color: Color,
}

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
    /// Show only these cards: indices, INDEX:SLOT or UUIDs, separated by commas
    #[arg(long, value_name = "CARDS", value_delimiter = ',')]
    pub id: Vec<String>,
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

/// Whether to colour.
#[derive(Debug, Args)]
pub struct Color {
    /// When to use colours; NO_COLOR is respected too
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// The same as --color never
    #[arg(long)]
    pub no_color: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

/// The shortest and the longest refresh that make sense.
const SECONDS: std::ops::RangeInclusive<f64> = 0.1..=86_400.0;

fn seconds(typed: &str) -> Result<f64, String> {
    let expected = "expected seconds from 0.1 to 86400";
    let seconds: f64 = typed.parse().map_err(|_| expected.to_owned())?;
    if SECONDS.contains(&seconds) { Ok(seconds) } else { Err(expected.to_owned()) }
}
