//! Options of `gua db export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gua_store::export::SUMMED_ROWS;
use gua_store::{ExportFormat, ExportTable};

use super::{Output, Window};

/// Options of `gua db export`.
#[derive(Debug, Args)]
#[command(after_long_help = columns_help())]
pub struct DbExport {
    /// The database instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Rows to write; `--help` names their columns
    #[arg(long, default_value = "cards")]
    pub what: ExportWhat,
    /// In CSV, names are made harmless for a terminal and a spreadsheet; JSON has them as they are
    #[arg(long, default_value = "csv")]
    pub format: ExportFileFormat,
    #[command(flatten)]
    pub window: Window,
    /// Write to FILE instead of stdout (- for stdout); FILE must not exist
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<Output>,
}

/// Rows to export, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportWhat {
    /// Time and sums of cards
    Cards,
    /// Time, shares and sums of processes on cards, and of memory that no listed process holds
    Holders,
    /// Stretches in which a process held a card without using it
    Sessions,
    /// Time in which no card was observed
    Gaps,
    /// What happened to the record
    Events,
    /// Readings of cards, for plots
    Samples,
}

impl From<ExportWhat> for ExportTable {
    fn from(what: ExportWhat) -> Self {
        match what {
            ExportWhat::Cards => Self::Cards,
            ExportWhat::Holders => Self::Holders,
            ExportWhat::Sessions => Self::Sessions,
            ExportWhat::Gaps => Self::Gaps,
            ExportWhat::Events => Self::Events,
            ExportWhat::Samples => Self::Samples,
        }
    }
}

/// Format of an export, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFileFormat {
    Csv,
    /// One JSON object a line
    Jsonl,
}

impl From<ExportFileFormat> for ExportFormat {
    fn from(format: ExportFileFormat) -> Self {
        match format {
            ExportFileFormat::Csv => Self::Csv,
            ExportFileFormat::Jsonl => Self::JsonLines,
        }
    }
}

/// Returns the columns of all tables, and how old rows are summed.
fn columns_help() -> String {
    let mut help = format!("{SUMMED_ROWS}\n");
    for table in ExportTable::ALL {
        help.push_str(&format!("\nColumns of {}:\n", table.slug()));
        for column in table.columns() {
            help.push_str(&format!("  {}: {}\n", column.name, column.about));
        }
    }
    help.trim_end().to_owned()
}
