//! A file into a place: a database that is there, or one that is made for it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::super::database::{check_identity, create, lay_out, move_new, open_to_write};
use super::super::error::StoreError;
use super::super::identify::{Identity, beside, identify};
use super::super::lock::RecorderLock;
use super::super::migration::bring_forward;
use super::import::{Progress, import};
use super::source::Source;
use super::tally::Imported;

/// What came of an import into a place.
#[derive(Debug)]
pub struct Placed {
    pub imported: Imported,
    /// Where the database is kept as it was, if it had an older layout.
    pub older_kept: Option<PathBuf>,
}

/// Takes a file over into the database at a path, which is made where there is none. It is
/// there with all of it or as it was before.
///
/// # Errors
/// As [`import`], and [`StoreError::Recorded`] when a recorder writes to it.
pub fn import_to(
    file: &Path,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Placed, StoreError> {
    match identify(path) {
        Identity::Missing => {
            let made = Made::import(file, path, progress)?;
            move_new(&made.path, path)?;
            Ok(Placed { imported: made.placed(), older_kept: None })
        }
        Identity::Empty => {
            lay_out(path)?;
            into_existing(file, path, progress)
        }
        _ => into_existing(file, path, progress),
    }
}

fn into_existing(
    file: &Path,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Placed, StoreError> {
    check_identity(path)?;
    // First, so that it is given back last: after the connection.
    let lock = RecorderLock::take(path)?;
    let older_kept = bring_forward(path, &lock)?;
    let mut database = open_to_write(path)?;
    Ok(Placed { imported: import(file, &mut database, progress)?, older_kept })
}

/// A new database with a file's content, whole and on the disk, still beside its place.
/// Where it is not moved there, it goes away.
#[derive(Debug)]
pub(super) struct Made {
    pub path: PathBuf,
    imported: Imported,
    leftover: Leftover,
}

impl Made {
    pub fn import(
        file: &Path,
        target: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, StoreError> {
        // Before anything is made.
        Source::open(file).map_err(StoreError::of_source)?;
        let path = beside(target, ".importing");
        clear(&path)?;
        create(&path)?;
        let leftover = Leftover(Some(path.clone()));
        let _lock = RecorderLock::take(&path)?;
        let mut database = open_to_write(&path)?;
        // A crash leaves a file that the next import clears away.
        database.pragma_update(None, "synchronous", "OFF")?;
        let imported = import(file, &mut database, progress)?;
        close(database)?;
        File::open(&path)?.sync_all()?;
        Ok(Self { path, imported, leftover })
    }

    /// It has been moved to its place.
    pub fn placed(mut self) -> Imported {
        self.leftover.0 = None;
        self.imported
    }
}

/// Closing writes what is in the log into the file.
fn close(database: Connection) -> Result<(), StoreError> {
    database.close().map_err(|(_, error)| error.into())
}

/// What a crash left, unless another import is at it right now.
fn clear(path: &Path) -> Result<(), StoreError> {
    match RecorderLock::take(path) {
        Ok(_lock) => Ok(remove(path)?),
        Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// A database with what SQLite lays beside it.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm", ""] {
        match fs::remove_file(beside(path, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => (),
        }
    }
    Ok(())
}

/// Removes what is left at its path when it is dropped.
#[derive(Debug)]
struct Leftover(Option<PathBuf>);

impl Drop for Leftover {
    fn drop(&mut self) {
        // What cannot be removed now is cleared by the next import.
        let _ = self.0.as_deref().map(remove);
    }
}
