//! `gua status`: whether a recorder runs, and how it does.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gua_core::units::UnixMillis;
use gua_query::status::{
    self, DatabaseStatus, RecordStatus, RecorderProcess, RecorderState, Status,
};
use gua_recorder::log::last_line;
use gua_recorder::pid_file::{NamedProcess, is_same_path};
use gua_recorder::places::GivenPaths;
use gua_recorder::{FoundPidFile, PidFile, Places};
use gua_store::info::file_sizes;
use gua_store::lock::RecorderLock;
use gua_store::{Database, Problem, StoreError};

use super::places::places;
use crate::cli;
use crate::config::{Config, Screen};
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::{json, status as render};

pub(super) fn run(config: &Config, typed: &cli::Status) -> Result<u8, Failure> {
    let (database, pid_file) = (typed.db.as_deref(), typed.pid_file.as_deref());
    let places = places(config, GivenPaths { database, pid_file, log_file: None })?;
    let mut status = look(&places, typed.db.is_some());
    if status.state == RecorderState::Stalled {
        // Why it stores nothing cannot be in the database.
        match last_line(&places.log_file) {
            Ok(line) => status.last_log_line = line,
            Err(error) => {
                status.log_doubt = Some(format!("{}: {error}", places.log_file.display()));
            }
        }
    }
    show(&status, typed)?;
    Ok(match status.state {
        RecorderState::Recording => 0,
        RecorderState::Stalled | RecorderState::Unsure => 1,
        RecorderState::NotRunning => 3,
    })
}

/// Returns the status of the recorder at these places. `is_given`: of its own database alone.
pub(super) fn look(places: &Places, is_given: bool) -> Status {
    let (mut process, recorded_into) = named_process(&places.pid_file);
    let path = match recorded_into {
        Some(path) if !is_given => path,
        Some(path) => {
            if !is_same_path(&path, &places.database) {
                process = RecorderProcess::None;
            }
            places.database.clone()
        }
        None => places.database.clone(),
    };
    if process == RecorderProcess::None {
        // There may be a recorder with another pid file.
        process = match RecorderLock::is_taken(&path) {
            Some(true) => RecorderProcess::Unnamed,
            Some(false) => RecorderProcess::None,
            None => RecorderProcess::Unsure(None),
        };
    }
    let now = UnixMillis::from(SystemTime::now());
    let record = record(&path, now).map_err(|error| doubt(&error));
    let pid_file = places.pid_file.display().to_string();
    status::status(process, Some(pid_file), Some(database(&path)), record, now)
}

fn named_process(pid_file: &Path) -> (RecorderProcess, Option<PathBuf>) {
    match PidFile::find(pid_file) {
        FoundPidFile::Names(file, NamedProcess::Recorder) => {
            (RecorderProcess::Here(file.pid), file.database)
        }
        FoundPidFile::Names(file, NamedProcess::Hidden) => {
            (RecorderProcess::Unsure(Some(file.pid)), file.database)
        }
        FoundPidFile::Unreadable(_) => (RecorderProcess::Unsure(None), None),
        FoundPidFile::Missing
        | FoundPidFile::Empty
        | FoundPidFile::Garbled
        | FoundPidFile::Names(..) => (RecorderProcess::None, None),
    }
}

/// Returns a database with its size, if that can be read.
pub(super) fn database(path: &Path) -> DatabaseStatus {
    let size_bytes = file_sizes(path).ok().map(|(file, log)| file + log);
    DatabaseStatus { path: Some(path.display().to_string()), size_bytes }
}

fn record(path: &Path, now: UnixMillis) -> Result<RecordStatus, StoreError> {
    RecordStatus::read(&Database::open(path)?, now)
}

/// Returns why the record cannot be read; its path is shown beside it.
fn doubt(error: &StoreError) -> String {
    match error.problem {
        Problem::Missing => "there is none".to_owned(),
        _ => error.problem.to_string(),
    }
}

fn show(status: &Status, typed: &cli::Status) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, status)?;
    } else {
        let screen = Screen::of_stdout(&typed.color);
        let zone = typed.tz.zone.clone();
        let view = render::View { paint: Paint(screen.color), width: screen.columns, zone };
        render::write(&mut out, status, &view)?;
    }
    out.flush()
}
