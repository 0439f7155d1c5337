//! What was typed. The names of the options are gpu_tracker's.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use track::gpu_tracker::Spelling;

use crate::cli::Output;

/// Tell what a command used: RAM, GPU RAM, CPU, GPU and time.
#[derive(Debug, Parser)]
#[command(
    name = "gpu-tracker",
    version,
    disable_version_flag = true,
    disable_help_subcommand = true,
    infer_long_args = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    max_term_width = 100,
    override_usage = "gpu-tracker --execute=COMMAND [OPTIONS]\n       \
                      gpu-tracker sub-track combine --stf=FILE -p PATH...\n       \
                      gpu-tracker sub-track analyze --tf=FILE --stf=FILE [-o FILE] [-f FORMAT]\n       \
                      gpu-tracker sub-track compare -m NAME=FILE... [--stat=STATISTIC]",
    after_help = "Exit codes: that of the command, or 128 + N when signal N ended it; 1 when the \
                  report or the tracking file could not be written; 2 wrong usage, and nothing \
                  was started; 126 the command may not be executed, 127 it was not found.\n\n\
                  Units are decimal: a gigabyte is 1,000,000,000 bytes. The figures of GPU RAM are \
                  4.86 % higher than those of gpu_tracker, which takes the driver's MiB (1,048,576 \
                  bytes) for MB; here they are converted.\n\n\
                  A command that ends before the first sample is due has one row in the file of \
                  --tf: the peaks of its memory and threads, the means of its loads."
)]
pub(super) struct Typed {
    #[command(flatten)]
    pub track: Track,
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
}

#[derive(Debug, Args)]
pub(super) struct Track {
    /// The command with its arguments, in quotes; words are split as a shell splits them
    #[arg(short, long, value_name = "COMMAND", required = true)]
    pub execute: Option<OsString>,
    #[command(flatten)]
    pub report: Report,
    /// A JSON file of settings by the names of the Python class's arguments; options win
    #[arg(long, value_name = "FILE")]
    pub tconfig: Option<PathBuf>,
    /// Seconds from one sample to the next, from 0.001 to 3600 [default: 1.0]
    #[arg(long, value_name = "SECONDS")]
    pub st: Option<String>,
    /// The unit of RAM: bytes, kilobytes, megabytes, gigabytes or terabytes [default: gigabytes]
    #[arg(long, value_name = "UNIT")]
    pub ru: Option<String>,
    /// The unit of GPU RAM, one of the same [default: gigabytes]
    #[arg(long, value_name = "UNIT")]
    pub gru: Option<String>,
    /// The unit of time: seconds, minutes, hours or days [default: hours]
    #[arg(long, value_name = "UNIT")]
    pub tu: Option<String>,
    /// How many cores are meant to be used, for the hardware percentages [default: all]
    #[arg(long, value_name = "COUNT")]
    pub nec: Option<String>,
    /// The cards whose utilization is told: UUIDs with commas between [default: all]
    #[arg(long, value_name = "UUIDS")]
    pub guuids: Option<String>,
    /// Say nothing of what could not be measured
    #[arg(long)]
    pub disable_logs: bool,
    /// The brand of the GPUs: only nvidia is known
    #[arg(long, value_name = "BRAND")]
    pub gb: Option<String>,
    /// Also write every sample to this file, which ends in .csv or .sqlite
    #[arg(long, value_name = "FILE")]
    pub tf: Option<PathBuf>,
    /// Replace the file of --tf if it exists
    #[arg(long)]
    pub overwrite: bool,
    /// How keys and labels are spelled: as in the paper, or as in version 5
    #[arg(long, value_name = "SPELLING", default_value = "descendents")]
    pub keys: Keys,
}

/// Where an answer goes, and as what.
#[derive(Debug, Args)]
pub(super) struct Report {
    /// Write the report to FILE instead of stdout (- for stdout)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<Output>,
    /// text or json
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub format: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Keys {
    Descendents,
    Descendants,
}

impl From<Keys> for Spelling {
    fn from(typed: Keys) -> Self {
        match typed {
            Keys::Descendents => Self::Descendents,
            Keys::Descendants => Self::Descendants,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Tell what blocks of code used
    #[command(subcommand)]
    SubTrack(SubTrack),
}

#[derive(Debug, Subcommand)]
pub(super) enum SubTrack {
    /// Make one sub-tracking file of several
    Combine {
        /// The file to make; it must not exist
        #[arg(long, value_name = "FILE")]
        stf: PathBuf,
        /// A file to take in, again for each; a single one is a folder of them
        #[arg(short, value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Tell what was used over all, and while each block of code ran
    Analyze {
        /// The tracking file
        #[arg(long, value_name = "FILE")]
        tf: PathBuf,
        /// The sub-tracking file of the same time
        #[arg(long, value_name = "FILE")]
        stf: PathBuf,
        #[command(flatten)]
        report: Report,
    },
    /// Hold several analyses against each other
    Compare {
        #[command(flatten)]
        report: Report,
        /// A JSON file with `file_path_map` and `statistic`; options add to it and win
        #[arg(long, value_name = "FILE")]
        cconfig: Option<PathBuf>,
        /// A name, and the JSON of `analyze -f json` that it stands for; again for each
        #[arg(short, value_name = "NAME=FILE")]
        map: Vec<OsString>,
        /// min, max, mean or std [default: mean]
        #[arg(long, value_name = "STATISTIC")]
        stat: Option<String>,
    },
}
