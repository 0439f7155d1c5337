//! `gua db info`: what is in the database.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::tz::TimeZone;

use crate::cli::DbInfo;
use crate::commands::history;
use crate::config::{Config, Screen};
use crate::failure::Failure;
use crate::render::{database as render, json};
use crate::report::database::{self as report, Outside};
use crate::store::{self, RecorderLock, StoreError};

pub(super) fn run(config: &Config, typed: &DbInfo) -> Result<u8, Failure> {
    let path = history::path(typed.db.as_deref(), config)?;
    let told = look(&path).map_err(|error| error.failure(&path))?;
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, &told)?;
    } else {
        render::info(&mut out, &told, &TimeZone::system(), Screen::columns_of_stdout())?;
    }
    out.flush()?;
    Ok(0)
}

fn look(path: &Path) -> Result<report::Info, StoreError> {
    store::check_identity(path)?;
    let store::Size { file_bytes, log_bytes } = store::size(path)?;
    let outside = Outside {
        path: path.display().to_string(),
        // Before the database is open: giving the lock back would let go of its locks too.
        is_being_recorded: RecorderLock::is_taken(path),
        file_bytes,
        log_bytes,
    };
    Ok(report::info(outside, store::inventory(path)?))
}
