//! `gua report`, as it was typed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use super::duration::duration;
use super::number;
use super::removed::RemovedThresholds;
use super::{Accounts, Color, Engine, Output, Window};

/// What `gua report` was asked.
#[derive(Debug, Args)]
pub struct Report {
    /// The history to read instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH", conflicts_with = "prometheus")]
    pub db: Option<PathBuf>,
    #[command(flatten)]
    pub window: Window,
    #[command(flatten)]
    pub engine: Engine,
    /// Set it beside the time of the same length just before (previous), or beside the same
    /// time so long before, such as 7d
    #[arg(long, value_name = "WHEN", value_parser = compare, allow_hyphen_values = true,
          conflicts_with = "prometheus")]
    pub compare: Option<Compare>,
    /// The report on one person, by name or uid: their figures alone, and nobody else's name
    #[arg(
        short, long, value_name = "USER",
        conflicts_with = "prometheus",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub user: Option<String>,
    #[command(flatten)]
    pub accounts: Accounts,
    /// Count each tick of a Python gua's history as this long
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true,
          conflicts_with = "prometheus")]
    pub interval: Option<Duration>,
    #[command(flatten)]
    pub removed: RemovedThresholds,
    /// How to print it [default: by the name of the file of --output (.txt, .json, .csv, .md, .html or
    /// .svg), else text]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ReportFormat>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Which table --format csv has: accounts (of one --by), cards, sessions, hours of the week, or
    /// gaps [default: accounts]
    #[arg(long, value_name = "WHICH")]
    pub table: Option<ReportTable>,
    /// Show more of accounts as text or Markdown: memory held idle, time idle beside others, peak
    /// memory and energy. CSV, JSON and HTML have it always
    #[arg(long)]
    pub wide: bool,
    /// Which picture --format svg draws: what every card did when, the hours of the week, the
    /// states of each card, or whose the idle-held time was [default: time]
    #[arg(long, value_name = "WHICH")]
    pub picture: Option<Picture>,
    /// Write to FILE instead of stdout (- for stdout)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<Output>,
    /// Replace FILE if it is there already
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Columns of the text, 40 to 300 [default: the terminal's, at most 100; else 80; with --wide
    /// 160]
    #[arg(long, value_name = "COLUMNS", value_parser = number::columns)]
    pub width: Option<u16>,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Csv,
    Markdown,
}

impl Report {
    /// Returns the format: as typed, else by the name of the file to write, else text; `None` if that name
    /// ends in something else.
    #[must_use]
    pub fn format(&self) -> Option<ReportFormat> {
        let format = if self.json { Some(ReportFormat::Json) } else { self.format };
        let file = self.output.as_ref().and_then(Output::file);
        let ending = file.filter(|file| is_ordinary(file)).and_then(Path::extension);
        match (format, ending) {
            (Some(format), _) => Some(format),
            (None, None) => Some(ReportFormat::Text),
            (None, Some(ending)) => ReportFormat::of_ending(ending),
        }
    }
}

/// Returns false for a device or a pipe.
fn is_ordinary(file: &Path) -> bool {
    file.metadata().map_or(true, |found| found.is_file())
}

impl ReportFormat {
    fn of_ending(ending: &OsStr) -> Option<Self> {
        Some(match ending.to_str()?.to_ascii_lowercase().as_str() {
            "txt" => Self::Text,
            "json" => Self::Json,
            "csv" => Self::Csv,
            "md" => Self::Markdown,
            "html" | "htm" => Self::Html,
            "svg" => Self::Svg,
            _ => return None,
        })
    }
}

/// In what a report can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    Json,
    Csv,
    Markdown,
    /// A page that needs nothing else and prints well
    Html,
    /// A picture for a wiki or a mail
    Svg,
}

/// What a table of CSV has a row for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ReportTable {
    #[default]
    Accounts,
    Cards,
    Sessions,
    Hours,
    Gaps,
}

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Picture {
    #[default]
    Time,
    Habit,
    States,
    People,
}

/// Which earlier time to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// Just before, and of the same length.
    Previous,
    /// So long before.
    Earlier(Duration),
}

fn compare(typed: &str) -> Result<Compare, String> {
    if typed.eq_ignore_ascii_case("previous") {
        return Ok(Compare::Previous);
    }
    let expected = "expected `previous`, or how long before, such as 24h or 7d";
    duration(typed).map(Compare::Earlier).map_err(|_| expected.to_owned())
}

pub fn percent(typed: &str) -> Result<f64, String> {
    let expected = "expected a percentage above 0 and up to 100";
    let percent: f64 = typed.parse().map_err(|_| expected.to_owned())?;
    if percent > 0.0 && percent <= 100.0 { Ok(percent) } else { Err(expected.to_owned()) }
}
