//! What was typed: one file a command, and one a kind of value.

mod accounts;
mod config;
mod db;
mod db_export;
mod db_import;
mod demo;
mod doctor;
mod duration;
mod engine;
mod fleet;
mod listen;
mod moment;
mod number;
mod output;
mod period;
mod pick;
mod policy;
mod query;
mod recorder;
mod removed;
mod report;
mod retention;
mod serve;
mod size;
mod stat;
mod top;
mod track;
mod who;
mod window;
mod zone;

pub use accounts::{Accounts, By, Count, Price, Sort};
pub use config::{Config, ConfigCheck, ConfigShow, Files};
pub use db::{Db, DbCheck, DbInfo, DbPrune};
pub use db_export::{DbExport, ExportFileFormat, ExportWhat};
pub use db_import::DbImport;
pub use demo::Demo;
pub use doctor::Doctor;
pub(crate) use duration::{age, duration, interval};
pub use engine::Engine;
pub use fleet::Fleet;
pub use listen::Protection;
pub use moment::Moment;
pub(crate) use moment::moment;
pub(crate) use number::MOST_MB;
pub use output::Output;
pub use period::CalendarPeriod;
pub(crate) use period::period;
pub use pick::{Pick, PickFormat, is_without_its_command};
pub use policy::{Policy, PolicyCheck, PolicyLog, PolicySimulate, PolicySnooze, PolicySwitch};
pub use query::{FormatWord, Preset, Query, with_habits};
pub use recorder::{Daemon, Status, Stop};
pub(crate) use report::percent;
pub use report::{Compare, Format, Picture, Report, ReportFormat, ReportTable};
pub use retention::KeepOptions;
pub use serve::Serve;
pub(crate) use size::size;
pub use stat::{PowerColumn, Stat};
pub use top::Top;
pub use track::{MemoryUnit, Track};
pub use who::Who;
pub use window::Window;
pub(crate) use zone::zone;
pub use zone::{Tz, Zone};

use std::ffi::{OsStr, OsString};

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::env::Env;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Which GPUs work, which are held without being used, which are free, and by whom.
#[derive(Debug, Parser)]
#[command(name = "gua", version, styles = STYLES, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed or not ready, 2 wrong usage or input; `gua status` 3 when not \
                        recording."
)]
pub struct Gua {
    #[command(flatten)]
    pub machine: Machine,
    #[command(flatten)]
    pub files: Files,
    #[command(subcommand)]
    pub command: Command,
}

impl Gua {
    /// Adds what was not typed from the environment, as far as it is there.
    #[must_use]
    pub fn with_environment(mut self, env: &Env) -> Self {
        for (typed, name) in [
            (&mut self.machine.nvml, "GUA_NVML"),
            (&mut self.machine.host_root, "GUA_HOST_ROOT"),
            (&mut self.files.config, "GUA_CONFIG"),
        ] {
            *typed = typed.take().or_else(|| env.get(name).map(OsStr::to_owned));
        }
        self
    }
}

/// Where to look for the driver and the host.
#[derive(Debug, Args)]
pub struct Machine {
    /// The driver's library to use instead of libnvidia-ml.so.1 [env: GUA_NVML]
    #[arg(long, global = true, value_name = "PATH", help_heading = "Where to look")]
    pub nvml: Option<OsString>,
    /// Where the host's root is mounted, when gua runs in a container [env: GUA_HOST_ROOT]
    #[arg(long, global = true, value_name = "PATH", help_heading = "Where to look")]
    pub host_root: Option<OsString>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the settings in force, or check a config file
    Config {
        #[command(subcommand)]
        command: Config,
    },
    /// Look after the history database
    Db {
        #[command(subcommand)]
        command: Db,
    },
    /// Show the report on a machine that does not exist, without a GPU
    Demo(Demo),
    /// Check whether this host is ready: driver, library, cards, database
    Doctor(Doctor),
    /// Record every card's state over time, in the background
    #[command(visible_alias = "start")]
    Daemon(Daemon),
    /// Tell whether a recorder is running, and how it does
    #[command(after_help = "Exit codes: 0 running, 3 not running, 1 running but not recording.")]
    Status(Status),
    /// Show many hosts at once: what works, what idles, what is free, by a Prometheus
    Fleet(Fleet),
    /// End the recorder in the background
    Stop(Stop),
    /// Print the fields that you choose, once or at an interval, and keep them in a file
    Query(Query),
    /// Tell what the cards did over a time (the last 24 hours, unless told otherwise): worked, were
    /// held idle, stood free, and by whom
    Report(Box<Report>),
    /// Serve the page, its JSON and /metrics from the history
    Serve(Serve),
    /// Rules for cards that are held idle: notice first, end last
    Policy {
        #[command(subcommand)]
        command: Policy,
    },
    /// Choose cards to use, for a shell or for a command
    Pick(Pick),
    /// Show each card's state on one line, and who holds it
    Stat(Stat),
    /// Run a command, or follow a process, and tell what it used: RAM, CPU, GPU, and what to ask
    /// for next time
    Track(Track),
    /// Watch all cards and holders on a whole screen: live, with the last hour and who is idle
    Top(Top),
    /// Tell who holds which card now, longest idle first: whom to ask to let go
    Who(Who),
    /// Print the version
    Version,
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
