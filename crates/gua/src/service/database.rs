//! The database to record into: made, gone on with, or refused.

use std::io;
use std::path::Path;

use super::places::Places;
use crate::failure::Failure;
use crate::recorder::{Log, Place};
use crate::store::{self, Identity, RecorderLock, StoreError, python};

/// Whether a database that was named may be gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    Append,
}

/// Refuses what must not be written to, before anything is changed.
///
/// # Errors
/// With what lies there and what to do about it.
pub fn check(places: &Places, existing: Existing) -> Result<(), Failure> {
    let path = &places.database;
    match store::identify(path) {
        Identity::Missing => Ok(()),
        Identity::Ours { .. } | Identity::Empty
            if !places.is_usual && existing == Existing::Refuse =>
        {
            Err(there_already(path))
        }
        Identity::Empty => Ok(()),
        // It is taken over.
        Identity::PythonGua if places.is_usual => Ok(()),
        _ => store::check_identity(path).map_err(|error| match error.failure(path) {
            // What was named is wrong; what is at its usual place is only unfortunate.
            Failure::Store { next, .. } if !places.is_usual => {
                let what = format!("cannot use the database {}: {error}", path.display());
                Failure::Usage { what, next }
            }
            failure => failure,
        }),
    }
}

/// Makes sure that there is a database of ours, and takes the right to record into it.
///
/// # Errors
/// When what lies there must not or cannot be written to.
pub fn prepare(places: &Places, existing: Existing, log: &mut Log) -> Result<Place, Failure> {
    check(places, existing)?;
    let path = &places.database;
    take(path, log).map_err(|error| error.failure(path))
}

fn take(path: &Path, log: &mut Log) -> Result<Place, StoreError> {
    match store::identify(path) {
        Identity::Missing => match store::create(path) {
            // Another that starts at the same time was faster; the lock decides.
            Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        },
        Identity::Empty => store::lay_out(path)?,
        Identity::PythonGua => {
            let taken = python::take_over(path, &mut |_| ())?;
            log.say(&format!(
                "took over the history of the Python gua, {} ticks; its file is kept as {}",
                taken.imported.ticks,
                taken.kept.display()
            ));
        }
        _ => {}
    }
    let lock = RecorderLock::take(path)?;
    if let Some(kept) = store::bring_forward(path, &lock)? {
        log.say(&format!(
            "brought the database to layout {}; as it was before, it is kept as {}",
            store::SCHEMA_VERSION,
            kept.display()
        ));
    }
    Ok(Place { path: path.to_owned(), lock })
}

fn there_already(path: &Path) -> Failure {
    Failure::Usage {
        what: format!("the database {} is there already", path.display()),
        next: "Add --append to go on with it, or name a new file.".to_owned(),
    }
}
