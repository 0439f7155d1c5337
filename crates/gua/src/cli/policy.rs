//! `gua policy`, as it was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::duration::duration;
use super::number;
use super::{Color, Tz, Window};

#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Show the rule of each holder, its state, and what comes next
    Check(PolicyCheck),
    /// Apply the rules to the history: whom they would have notified and ended, and how many
    /// GPU-hours that would have won (by default over the last 14 days)
    Simulate(PolicySimulate),
    /// Show what the rules have done (by default over the last 7 days)
    Log(PolicyLog),
    /// Leave a process alone for a time: one of your own, or as root any
    Snooze(PolicySnooze),
    /// Stop all rules at once, until `gua policy on`
    Off(PolicySwitch),
    /// Let the rules go on
    On(PolicySwitch),
}

/// What `gua policy check` was asked.
#[derive(Debug, Args)]
#[command(
    after_help = "States: observing, idle, warned, pending, exempt, snoozed, unknown. Only time \
                  that was seen to be idle counts; what was not seen brings nothing nearer."
)]
pub struct PolicyCheck {
    /// The history that the recorder writes, instead of gua.db in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print JSON; null is what is not known
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub tz: Tz,
    #[command(flatten)]
    pub color: Color,
}

/// What `gua policy simulate` was asked.
#[derive(Debug, Args)]
#[command(
    after_help = "Every notice is taken to reach its person and every end to succeed; snoozes are \
                  not in the history. Try other rules with --config FILE."
)]
pub struct PolicySimulate {
    #[command(flatten)]
    pub window: Window,
    /// The history to read instead of gua.db in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print JSON; null is what is not known
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub color: Color,
}

/// What `gua policy log` was asked.
#[derive(Debug, Args)]
pub struct PolicyLog {
    #[command(flatten)]
    pub window: Window,
    /// The history to read instead of gua.db in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print JSON, with the evidence of each
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub color: Color,
}

/// What `gua policy snooze` was asked.
#[derive(Debug, Args)]
#[command(after_help = "The same without gua: touch a file named PID in the snoozes' folder \
                  (/run/lock/gua-snoozes or /tmp/gua-snoozes, GUA_SNOOZES names another). It \
                  counts for as long as `snooze_most` in `[policy]` says.")]
pub struct PolicySnooze {
    /// The process
    #[arg(value_name = "PID", value_parser = number::pid)]
    pub pid: u32,
    /// For how long
    #[arg(long = "for", value_name = "DURATION", default_value = "4h", value_parser = duration)]
    pub time: Duration,
    #[command(flatten)]
    pub tz: Tz,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `gua policy off` and `gua policy on` were asked.
#[derive(Debug, Args)]
pub struct PolicySwitch {
    /// The history that the recorder writes, instead of gua.db in GUA_HOME or ~/.gua
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
