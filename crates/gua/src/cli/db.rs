//! Options of `gua db`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DbExport, DbImport, KeepOptions, Tz};

#[derive(Debug, Subcommand)]
pub enum Db {
    /// Show what is in the database
    Info(DbInfo),
    /// Verify the database; it is only read
    Check(DbCheck),
    /// Sum up and delete rows that are too old now; the recorder does so little by little
    Prune(DbPrune),
    /// Write recorded rows for other programs: all of them, or those that begin in a window
    Export(DbExport),
    /// Import the history of a Python gua
    Import(DbImport),
}

/// Options of `gua db info`.
#[derive(Debug, Args)]
pub struct DbInfo {
    /// The database instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    #[command(flatten)]
    pub tz: Tz,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `gua db check`.
#[derive(Debug, Args)]
pub struct DbCheck {
    /// The database instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `gua db prune`.
#[derive(Debug, Args)]
pub struct DbPrune {
    /// The database instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    #[command(flatten)]
    pub keep: KeepOptions,
    /// Show which rows would be deleted, and delete nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Delete more than two days of history at once, or although the clock may be wrong
    #[arg(short, long)]
    pub yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
