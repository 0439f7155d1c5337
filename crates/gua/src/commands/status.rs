//! `gua status`: whether a recorder runs, and how it does.

use std::io;
use std::path::{Path, PathBuf};

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
use crate::config::Config;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::{json, status as render};

pub(super) fn run(
    config: &Config,
    typed: &cli::Status,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let (database, pid_file) = (typed.db.as_deref(), typed.pid_file.as_deref());
    let places = places(config, GivenPaths { database, pid_file, log_file: None }, &context.env)?;
    let mut status = look(&places, typed.db.is_some(), context.clock.unix_millis());
    if status.state == RecorderState::Stalled {
        // Why it stores nothing cannot be in the database.
        match last_line(&places.log_file) {
            Ok(line) => status.last_log_line = line,
            Err(error) => {
                status.log_doubt = Some(log_doubt(&places.log_file, &error));
            }
        }
    }
    show(&status, typed, context)?;
    Ok(match status.state {
        RecorderState::Recording => 0,
        RecorderState::Stalled | RecorderState::Unsure => 1,
        RecorderState::NotRunning => 3,
    })
}

/// Returns why the log has no line to show.
fn log_doubt(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("there is no {path}: a recorder in the foreground logs to stderr")
        }
        _ => format!("cannot be read: {path}: {error}"),
    }
}

/// Returns the status of the recorder at these places. `is_given`: of its own database alone.
fn look(places: &Places, is_given: bool, now: UnixMillis) -> Status {
    let named = NamedRecorder::read(&places.pid_file);
    let path = named.database.clone().filter(|_| !is_given);
    let path = path.unwrap_or_else(|| places.database.clone());
    let process = named.process_of(&path);
    let record = record(&path, now).map_err(|error| doubt(&error));
    let pid_file = places.pid_file.display().to_string();
    status::status(process, Some(pid_file), Some(database(&path)), record, now)
}

/// The recorder that a pid file names.
pub(super) struct NamedRecorder {
    process: RecorderProcess,
    database: Option<PathBuf>,
}

impl NamedRecorder {
    pub fn read(pid_file: &Path) -> Self {
        let named = |process, file: PidFile| Self { process, database: file.database };
        match PidFile::find(pid_file) {
            FoundPidFile::Names(file, NamedProcess::Recorder) => {
                named(RecorderProcess::Here(file.pid), file)
            }
            FoundPidFile::Names(file, NamedProcess::Hidden) => {
                named(RecorderProcess::Unsure(Some(file.pid)), file)
            }
            FoundPidFile::Unreadable(_) => {
                Self { process: RecorderProcess::Unsure(None), database: None }
            }
            FoundPidFile::Missing
            | FoundPidFile::Empty
            | FoundPidFile::Garbled
            | FoundPidFile::Names(..) => Self::none(),
        }
    }

    pub const fn none() -> Self {
        Self { process: RecorderProcess::None, database: None }
    }

    /// Returns the recorder of a database: the named one, or another one that has locked the file.
    pub fn process_of(&self, database: &Path) -> RecorderProcess {
        let is_ours = self.database.as_ref().is_none_or(|path| is_same_path(path, database));
        if is_ours && self.process != RecorderProcess::None {
            return self.process;
        }
        match RecorderLock::is_taken(database) {
            Some(true) => RecorderProcess::Unnamed,
            Some(false) => RecorderProcess::None,
            None => RecorderProcess::Unsure(None),
        }
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

fn show(status: &Status, typed: &cli::Status, context: &mut Context<'_>) -> io::Result<()> {
    if typed.json {
        json::pretty(&mut context.out, status)?;
    } else {
        let screen = context.screen(&typed.color);
        let zone = typed.tz.zone.clone();
        let view = render::View { paint: Paint(screen.color), width: screen.columns, zone };
        render::write(&mut context.out, status, &view)?;
    }
    context.out.flush()
}
