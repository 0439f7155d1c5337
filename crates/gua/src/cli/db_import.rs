//! Options of `gua db import`.

use std::path::PathBuf;

use clap::Args;

use super::Tz;

/// Options of `gua db import`.
#[derive(Debug, Args)]
pub struct DbImport {
    /// The database of the Python gua; it is only read, and if it is the database to
    /// import into, it is kept beside it as gua-python.db
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The database to import into instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    #[command(flatten)]
    pub tz: Tz,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
