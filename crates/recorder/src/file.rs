//! The database that is recorded into: created, opened, and left when it was moved away.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gua_store::database::is_empty_file;
use gua_store::{Database, Problem, Run, StoreError, Writer};

use crate::log::Log;

/// Time between two checks of whether the file is still at its path.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// The database at a path.
#[derive(Debug)]
pub(crate) struct RecordFile {
    path: PathBuf,
    state: FileState,
    /// Time since boot of the last check.
    checked: Duration,
}

#[derive(Debug)]
enum FileState {
    Closed,
    Open(Database),
    /// A run was begun.
    Recording(Box<Writer>),
}

impl RecordFile {
    pub const fn new(path: PathBuf) -> Self {
        Self { path, state: FileState::Closed, checked: Duration::ZERO }
    }

    pub const fn is_open(&self) -> bool {
        !matches!(self.state, FileState::Closed)
    }

    /// Opens the database, and creates it if there is none.
    pub fn open(&mut self, now: Duration) -> Result<&Database, StoreError> {
        let database = open_or_create(&self.path)?;
        self.checked = now;
        self.state = FileState::Open(database);
        match &self.state {
            FileState::Open(database) => Ok(database),
            _ => Err(Problem::Missing.at(&self.path)),
        }
    }

    /// Returns the writer of a run, which begins unless it has.
    pub fn writer(&mut self, run: impl FnOnce() -> Run) -> Result<&mut Writer, StoreError> {
        self.state = match std::mem::replace(&mut self.state, FileState::Closed) {
            FileState::Open(database) => {
                FileState::Recording(Box::new(Writer::begin(database, run())?))
            }
            state => state,
        };
        match &mut self.state {
            FileState::Recording(writer) => Ok(writer),
            _ => Err(Problem::Missing.at(&self.path)),
        }
    }

    /// Returns the writer of the run that has begun.
    pub fn begun(&mut self) -> Option<&mut Writer> {
        match &mut self.state {
            FileState::Recording(writer) => Some(writer),
            _ => None,
        }
    }

    /// Ends the run. The database stays open.
    pub fn end_run(&mut self, ending: &str) -> Result<(), StoreError> {
        self.state = match std::mem::replace(&mut self.state, FileState::Closed) {
            FileState::Recording(writer) => FileState::Open(writer.end(ending)?),
            state => state,
        };
        Ok(())
    }

    /// Closes a file that was moved or deleted, and ends its run. Returns true if it was.
    pub fn leave_if_moved(&mut self, now: Duration, log: &mut Log) -> bool {
        let database = match &self.state {
            FileState::Closed => return false,
            FileState::Open(database) => database,
            FileState::Recording(writer) => writer.database(),
        };
        if now.saturating_sub(self.checked) < CHECK_EVERY {
            return false;
        }
        self.checked = now;
        if database.is_in_place() {
            return false;
        }
        log.write(&format!("{} was moved or deleted; another one begins", self.path.display()));
        let left = self.end_run("moved").and_then(|()| match &self.state {
            FileState::Open(database) => database.checkpoint(),
            _ => Ok(()),
        });
        if let Err(error) = left {
            log.write(&format!("cannot end the run in the file that was moved: {error}"));
        }
        self.state = FileState::Closed;
        true
    }
}

/// Opens a database for the only recorder.
fn open_or_create(path: &Path) -> Result<Database, StoreError> {
    let opened = Database::open_to_write(path);
    let is_missing = matches!(opened, Err(StoreError { problem: Problem::Missing, .. }));
    if !is_missing && !is_empty_file(path) {
        return opened;
    }
    match Database::create(path) {
        // Another recorder may have been faster; the lock decides.
        Ok(()) | Err(StoreError { problem: Problem::Exists, .. }) => Database::open_to_write(path),
        Err(error) => Err(error),
    }
}
