//! `gua track`, as it was typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration::duration;
use super::number;
use super::{Color, Format, Output};

/// What `gua track` was asked.
#[derive(Debug, Args)]
#[command(
    override_usage = "gua track [OPTIONS] -- COMMAND [ARGS]...\n       gua track [OPTIONS] --pid PID",
    after_help = "The command keeps its input, its output, its terminal, its signals and its exit \
                  code; the summary goes to stderr or to -o FILE. A signal that is sent to us is \
                  sent on to it: who signals the whole process group, as `timeout` does, reaches \
                  it twice; `timeout --foreground` does not.\n\
                  Exit codes: the command's own, 128+N when signal N ended it, 127 when it was not \
                  found, 126 when it may not be executed, 2 for wrong usage; with --pid 0. 1 when \
                  the command succeeded but a file could not be written."
)]
pub struct Track {
    /// The command to run and to measure, with all that it starts
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        required_unless_present = "pid",
        conflicts_with = "pid"
    )]
    pub command: Vec<OsString>,
    /// Measure a process that is running already, until it ends or Ctrl-C
    #[arg(long, value_name = "PID", value_parser = number::pid)]
    pub pid: Option<u32>,
    /// How often to look, from 1ms to 1h
    #[arg(long, value_name = "D", default_value = "1s", value_parser = every,
          allow_hyphen_values = true)]
    pub every: Duration,
    /// Which cards to measure: all, none, or indices and UUIDs separated by commas
    #[arg(long, value_name = "CARDS", default_value = "all")]
    pub gpus: String,
    /// How many cores were asked for, to compare with [default: the Slurm job's, the
    /// container's, or all]
    #[arg(long, value_name = "N", allow_hyphen_values = true,
          value_parser = number::cores)]
    pub cores: Option<u32>,
    /// Keep the time line: .csv and .sqlite have every sample, .svg and .html are a picture
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Replace the time line's file if it is there already
    #[arg(long, requires = "timeline")]
    pub overwrite: bool,
    /// Write the summary to FILE instead of stderr; - is stdout, after the command's own output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<Output>,
    /// How to print the summary; CSV is one row, for a table of many runs
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// The unit of memory in text, Markdown and pictures; JSON and CSV have bytes
    #[arg(long, value_name = "UNIT", default_value = "auto")]
    pub unit: MemoryUnit,
    /// Show one line of figures while it runs, if stderr is a terminal
    #[arg(long)]
    pub live: bool,
    /// Columns of the text, 40 to 300 [default: the terminal's, at most 100; else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = number::columns)]
    pub width: Option<u16>,
    #[command(flatten)]
    pub color: Color,
}

/// In what memory is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemoryUnit {
    /// The one that fits the figure, of 1000 bytes and their powers
    Auto,
    Bytes,
    #[value(name = "kB")]
    Kb,
    #[value(name = "MB")]
    Mb,
    #[value(name = "GB")]
    Gb,
    #[value(name = "TB")]
    Tb,
    #[value(name = "KiB")]
    Kib,
    #[value(name = "MiB")]
    Mib,
    #[value(name = "GiB")]
    Gib,
    #[value(name = "TiB")]
    Tib,
}

fn every(typed: &str) -> Result<Duration, String> {
    let every = duration(typed)?;
    let may_be = ::track::Options::SHORTEST..=Duration::from_secs(3600);
    if may_be.contains(&every) { Ok(every) } else { Err("expected 1ms to 1h".to_owned()) }
}
