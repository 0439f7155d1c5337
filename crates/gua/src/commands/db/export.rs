//! `gua db export`: recorded rows for other programs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use gua_core::Period;
use gua_core::units::UnixMillis;
use gua_store::{Database, ExportError};
use jiff::Timestamp;

use crate::cli::{DbExport, Output};
use crate::commands::history;
use crate::config::{Config, Window};
use crate::context::Context;
use crate::failure::Failure;

pub(super) fn run(
    config: &Config,
    typed: &DbExport,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let window = window(typed, context.now())?;
    let database = Database::open(&history::path(typed.db.as_deref(), config)?)?;
    match typed.output.as_ref().and_then(Output::file) {
        None => write(&database, window, typed, &mut context.out)?,
        Some(file) => {
            let written = write(&database, window, typed, BufWriter::new(create(file)?));
            if written.is_err() {
                // A part of an export could be mistaken for all of it.
                let _ = fs::remove_file(file);
            }
            written?;
        }
    }
    Ok(0)
}

/// Returns the window that was typed, else all time.
fn window(typed: &DbExport, now: Timestamp) -> Result<Period, Failure> {
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    let window = Window::of_all_time(&typed.window, now)?;
    Ok(Period::new(moment(window.from), moment(window.until)))
}

/// Creates a file. One that exists is never overwritten.
fn create(path: &Path) -> Result<File, Failure> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        let (what, next) = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                ("it exists already".to_owned(), "Name a new file, or move that one away.")
            }
            _ => (error.to_string(), "Name a file in a folder that you may write to."),
        };
        Failure::Usage {
            what: format!("cannot create {}: {what}", path.display()),
            next: next.to_owned(),
        }
    })
}

fn write(
    database: &Database,
    window: Period,
    typed: &DbExport,
    mut out: impl Write,
) -> Result<(), ExportError> {
    database.export(typed.what.into(), window, typed.format.into(), &mut out)?;
    Ok(out.flush()?)
}
