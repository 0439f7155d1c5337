//! `gua status`: is a recorder running, and how does it do?

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::SystemTime;

use probe::units::UnixMillis;

use super::daemon::is_same;
use crate::cli;
use crate::config::{Config, Screen};
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::{json, status as render};
use crate::report::status::{self, Database, Process, Recorded, Recorder, Status};
use crate::service::{self, Found, Places};
use crate::store::{self, History, RecorderLock, Size, StoreError};

pub(super) fn run(config: &Config, typed: &cli::Status) -> Result<u8, Failure> {
    let places = Places::new(config, typed.db.as_deref(), typed.pid_file.as_deref(), None)?;
    let mut status = look(&places, typed.db.is_some());
    if status.state == Recorder::Stalled {
        // What keeps it from storing cannot stand in the database.
        match service::last_line(&places.log_file) {
            Ok(line) => status.last_log_line = line,
            Err(error) => {
                status.log_doubt = Some(format!("{}: {error}", places.log_file.display()));
            }
        }
    }
    show(&status, typed)?;
    Ok(match status.state {
        Recorder::Recording => 0,
        Recorder::Stalled | Recorder::Unsure => 1,
        Recorder::NotRunning => 3,
    })
}

pub(super) fn look(places: &Places, is_named: bool) -> Status {
    let (mut named, of_recorder) = process(&places.pid_file);
    let path = match of_recorder {
        Some(of_recorder) if !is_named => of_recorder,
        Some(of_recorder) => {
            if !is_same(&of_recorder, &places.database) {
                // It records, but not here.
                named = Process::None;
            }
            places.database.clone()
        }
        None => places.database.clone(),
    };
    let process = match named {
        // There may be a recorder with a pid file elsewhere.
        Process::None => match RecorderLock::is_taken(&path) {
            Some(true) => Process::Unnamed,
            Some(false) => Process::None,
            None => Process::Unsure(None),
        },
        _ => named,
    };
    let now = UnixMillis::from(SystemTime::now());
    let recorded = recorded(&path, now).map_err(|error| error.to_string());
    let database = database(&path);
    let pid_file = places.pid_file.display().to_string();
    status::status(process, pid_file, Some(database), recorded, now)
}

fn process(pid_file: &Path) -> (Process, Option<std::path::PathBuf>) {
    match service::find(pid_file) {
        Found::Process(file, service::Process::Recorder) => {
            (Process::Here(file.pid), file.database)
        }
        Found::Process(file, service::Process::Hidden) => {
            (Process::Unsure(Some(file.pid)), file.database)
        }
        Found::Unreadable(_) => (Process::Unsure(None), None),
        Found::None | Found::Empty | Found::Garbled | Found::Process(..) => (Process::None, None),
    }
}

/// The database, with the room that it takes where that is told.
pub(super) fn database(path: &Path) -> Database {
    let size_bytes = store::size(path).ok().map(Size::whole_bytes);
    Database { path: Some(path.display().to_string()), size_bytes }
}

fn recorded(path: &Path, now: UnixMillis) -> Result<Recorded, StoreError> {
    Recorded::read(&History::open(path)?, now)
}

fn show(status: &Status, typed: &cli::Status) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, status)?;
    } else {
        let screen = Screen::of_stdout(&typed.color);
        render::write(&mut out, status, Paint(screen.color), screen.columns)?;
    }
    out.flush()
}
