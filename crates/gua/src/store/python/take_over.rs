//! A file of the Python gua at our own place: its content in a database of ours there, the
//! file itself kept beside it.
//!
//! At every moment there is a database at the path, and the old file under one of its two
//! names, so that whatever a crash leaves, the next attempt finds all of it:
//!
//! 1. The new database is made beside, whole.
//! 2. The old file gets its second name, and so do its log and the index of that. A crash
//!    until here leaves the path as it was.
//! 3. The log's first name goes: SQLite would apply it to whatever is at the path. After a
//!    crash here the second name is the one with the log, and is what is read.
//! 4. The new database takes the path, and with it the old file's first name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::super::error::StoreError;
use super::super::identify::beside;
use super::super::lock::RecorderLock;
use super::holder::process_on;
use super::import::Progress;
use super::source::Source;
use super::tally::Imported;
use super::target::{Made, remove};

/// What became of a file.
#[derive(Debug)]
pub struct TakenOver {
    /// Where the old file is now.
    pub kept: PathBuf,
    pub imported: Imported,
}

/// Takes over the file at a path of ours.
///
/// # Errors
/// As [`super::import`], and [`StoreError::InUse`] while somebody has it open; then nothing
/// is changed.
pub fn take_over(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<TakenOver, StoreError> {
    // The place that a link leads to, so that the old file and its log stay together.
    let path = &fs::canonicalize(path)?;
    Source::open(path).map_err(StoreError::of_source)?;
    let _lock = RecorderLock::take(path)?;
    if let Some(pid) = process_on(path) {
        return Err(StoreError::InUse { pid });
    }
    let before = interrupted(path)?;
    let made = Made::import(before.as_deref().unwrap_or(path), path, progress)?;
    // It may have begun meanwhile.
    if let Some(pid) = process_on(path) {
        return Err(StoreError::InUse { pid });
    }
    let kept = match before {
        Some(kept) => kept,
        None => name_twice(path)?,
    };
    for suffix in ["-wal", "-shm"] {
        ignore_missing(fs::remove_file(beside(path, suffix)))?;
    }
    fs::rename(&made.path, path)?;
    let imported = made.placed();
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(TakenOver { kept, imported })
}

/// The names under which an old file may be kept.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    (1_u32..).map(move |number| match number {
        1 => folder.join("gua-python.db"),
        number => folder.join(format!("gua-python-{number}.db")),
    })
}

/// The second name that an attempt before this one has given the file, where that is the
/// one with the log. One that adds nothing is taken away, so that it is given anew.
fn interrupted(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let own = fs::metadata(path)?;
    for name in names(path).take_while(|name| fs::symlink_metadata(name).is_ok()) {
        let other = fs::metadata(&name)?;
        if (other.dev(), other.ino()) != (own.dev(), own.ino()) {
            continue;
        }
        let log = fs::metadata(beside(&name, "-wal")).and_then(|log| log.modified()).ok();
        let has_log = beside(path, "-wal").exists();
        match log {
            None => remove(&name)?,
            Some(_) if has_log => remove(&name)?,
            // Written since: the log is not the file's any more, but is kept all the same.
            Some(log) if own.modified()? > log => (),
            Some(_) => return Ok(Some(name)),
        }
    }
    Ok(None)
}

/// The file with all that belongs to it under a second name, which nothing had before.
fn name_twice(path: &Path) -> Result<PathBuf, StoreError> {
    for name in names(path) {
        let taken = ["", "-wal", "-shm"].map(|suffix| beside(&name, suffix));
        if taken.iter().any(|name| fs::symlink_metadata(name).is_ok()) {
            continue;
        }
        for suffix in ["-wal", "-shm", ""] {
            let (from, to) = (beside(path, suffix), beside(&name, suffix));
            ignore_missing(link(&from, &to))?;
        }
        return Ok(name);
    }
    Err(StoreError::Io(io::ErrorKind::AlreadyExists.into()))
}

/// A copy, where the file system has no second names.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            fs::copy(from, to)?;
            File::open(to)?.sync_all()
        }
        done => done,
    }
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
