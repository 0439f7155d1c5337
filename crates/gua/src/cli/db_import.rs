//! `gua db import`, as it was typed.

use std::path::PathBuf;

use clap::Args;

/// What `gua db import` was asked.
#[derive(Debug, Args)]
pub struct DbImport {
    /// The database of the Python gua; it is only read, and where it is the database to
    /// import into, kept beside as gua-python.db
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The database to import into instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print what was taken over as JSON
    #[arg(long)]
    pub json: bool,
}
