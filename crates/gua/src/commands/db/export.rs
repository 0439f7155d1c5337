//! `gua db export`: what was recorded, row by row.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use probe::units::UnixMillis;

use crate::cli::{DbExport, ExportFormat, ExportWhat, Output};
use crate::commands::history;
use crate::config::{Config, Window};
use crate::failure::Failure;
use crate::ledger::Period;
use crate::render::export::{Csv, Line};
use crate::render::json;
use crate::store::{Export, SampleRow, SpanRow, StoreError};

pub(super) fn run(config: &Config, typed: &DbExport) -> Result<u8, Failure> {
    let window = window(typed)?;
    let path = history::path(typed.db.as_deref(), config)?;
    let export = Export::open(&path).map_err(|error| error.failure(&path))?;
    let outcome = match typed.output.as_ref().and_then(Output::file) {
        None => write(&export, window, typed, io::stdout().lock()),
        Some(file) => {
            let outcome = write(&export, window, typed, make(file)?);
            if outcome.is_err() {
                // Half an export would be taken for a whole one.
                let _ = fs::remove_file(file);
            }
            outcome
        }
    };
    match outcome {
        Ok(()) => Ok(0),
        Err(Stop::Output(error)) => Err(error.into()),
        Err(Stop::Store(error)) => Err(error.failure(&path)),
    }
}

/// Why it broke off.
#[derive(Debug)]
enum Stop {
    Store(StoreError),
    Output(io::Error),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// All of it, where no time is named.
fn window(typed: &DbExport) -> Result<Period, Failure> {
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    let window = Window::of_all_time(&typed.window, Timestamp::now())?;
    Ok(Period::new(moment(window.from), moment(window.until)))
}

/// What is there already is never written over.
fn make(path: &Path) -> Result<File, Failure> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return Failure::Usage {
                what: format!("{} is there already", path.display()),
                next: "Name a file that is still to be made, or move that one away.".to_owned(),
            };
        }
        Failure::Usage {
            what: format!("cannot make {}: {error}", path.display()),
            next: "Name a file in a folder of yours with -o FILE.".to_owned(),
        }
    })
}

fn write(export: &Export, window: Period, typed: &DbExport, out: impl Write) -> Result<(), Stop> {
    let mut out = BufWriter::new(out);
    match (typed.format, typed.what) {
        (ExportFormat::Csv, ExportWhat::Spans) => {
            let mut csv = Csv::begin(&mut out, SpanRow::COLUMNS)?;
            export.spans(window, |row| csv.line(row).map_err(Stop::from))?;
            csv.flush()?;
        }
        (ExportFormat::Csv, ExportWhat::Samples) => {
            let mut csv = Csv::begin(&mut out, SampleRow::COLUMNS)?;
            export.samples(window, |row| csv.line(row).map_err(Stop::from))?;
            csv.flush()?;
        }
        (ExportFormat::Jsonl, ExportWhat::Spans) => {
            export.spans(window, |row| json::line(&mut out, &row).map_err(Stop::from))?;
        }
        (ExportFormat::Jsonl, ExportWhat::Samples) => {
            export.samples(window, |row| json::line(&mut out, &row).map_err(Stop::from))?;
        }
    }
    Ok(out.flush()?)
}
