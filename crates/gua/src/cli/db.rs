//! What `gua db` was asked.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{DbImport, KeepOptions, Output, Window};

#[derive(Debug, Subcommand)]
pub enum Db {
    /// Show what is in the database
    Info(DbInfo),
    /// Verify the database; it is only read
    Check(DbCheck),
    /// Delete what is too old now; the recorder does so little by little
    Prune(DbPrune),
    /// Write out what was recorded, for other programs: all of it, or what began in a time
    Export(DbExport),
    /// Take over the history of a Python gua
    Import(DbImport),
}

/// What `gua db info` was asked.
#[derive(Debug, Args)]
pub struct DbInfo {
    /// The database instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `gua db check` was asked.
#[derive(Debug, Args)]
pub struct DbCheck {
    /// The database instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// What `gua db prune` was asked.
#[derive(Debug, Args)]
pub struct DbPrune {
    /// The database instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    #[command(flatten)]
    pub keep: KeepOptions,
    /// Delete more than two days of history at once, or although the clock may be wrong
    #[arg(short, long)]
    pub yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `gua db export` was asked.
#[derive(Debug, Args)]
pub struct DbExport {
    /// The database instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Spans of time in one state, or each single sample
    #[arg(long, default_value = "spans")]
    pub what: ExportWhat,
    /// In CSV, names are made fit for a screen and a spreadsheet; JSON has them as they are
    #[arg(long, default_value = "csv")]
    pub format: ExportFormat,
    #[command(flatten)]
    pub window: Window,
    /// Write to FILE instead of stdout (- for stdout); FILE must not exist
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<Output>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportWhat {
    Spans,
    Samples,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Csv,
    /// One JSON object a line
    Jsonl,
}
