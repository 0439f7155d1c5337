//! A file into the database at a path, or in place of itself.
//!
//! A file that is replaced is kept under another name. There is a database at the path at every moment,
//! and the old file under one of its two names, so that an attempt after a crash finds all of it:
//!
//! 1. The new database is made under a name of its own.
//! 2. The old file, its log and the log's index get second names. A crash until here leaves the path as
//!    it was.
//! 3. The log's first name is removed: SQLite would apply the log to whatever is at the path. After a
//!    crash here the file is read under its second name, with the log.
//! 4. The new database takes the path, which removes the old file's first name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::import::{Imported, Progress, import};
use super::source::Source;
use super::users;
use crate::database::{self, Database, remove_if_there, with_suffix};
use crate::error::{Problem, StoreError};
use crate::lock::RecorderLock;

/// A file that was replaced by its conversion.
#[derive(Debug)]
pub struct Replaced {
    /// Where the old file is now.
    pub kept: PathBuf,
    pub imported: Imported,
}

/// Imports a file into the database at a path, which is created if there is none. It has all of the file
/// then, or is as it was before.
pub fn import_to(
    file: &Path,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Imported, StoreError> {
    if path.symlink_metadata().is_ok() {
        return import(file, &mut Database::open_to_write(path)?, progress);
    }
    let (draft, imported) = Draft::import(file, path, progress)?;
    database::publish_draft(&draft.path, path).map_err(|problem| problem.at(path))?;
    Ok(imported)
}

/// Replaces a file by a database with its contents, and keeps it under another name. Refuses a file that
/// another process has open.
pub fn replace(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Replaced, StoreError> {
    // The file that a link leads to, so that it stays with its log.
    let real = fs::canonicalize(path).map_err(|error| Problem::from(error).at(path))?;
    Source::open(&real)?;
    let at = |problem: Problem| problem.at(&real);
    let _lock = RecorderLock::take(&real).map_err(at)?;
    refuse_if_used(&real).map_err(at)?;
    let earlier = earlier_attempt(&real).map_err(|error| at(error.into()))?;
    let file = earlier.as_deref().unwrap_or(&real);
    let (draft, imported) = Draft::import(file, &real, progress)?;
    // Somebody may have begun to use it meanwhile.
    refuse_if_used(&real).map_err(at)?;
    let swap = || -> io::Result<PathBuf> {
        let kept = match &earlier {
            Some(kept) => kept.clone(),
            None => add_second_name(&real)?,
        };
        for suffix in ["-wal", "-shm"] {
            remove_if_there(&with_suffix(&real, suffix))?;
        }
        fs::rename(&draft.path, &real)?;
        real.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
        Ok(kept)
    };
    let kept = swap().map_err(|error| at(error.into()))?;
    Ok(Replaced { kept, imported })
}

fn refuse_if_used(path: &Path) -> Result<(), Problem> {
    users::find(path).map_or(Ok(()), |pid| Err(Problem::InUse { pid }))
}

/// A new database beside its path. It is removed when it is dropped, unless it was moved.
struct Draft {
    path: PathBuf,
}

impl Draft {
    /// Makes a database with the contents of a file, for a path.
    fn import(
        file: &Path,
        target: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Self, Imported), StoreError> {
        // Nothing is made for a file that cannot be read.
        Source::open(file)?;
        let path = with_suffix(target, ".importing");
        match RecorderLock::take(&path) {
            Ok(_lock) => remove_database(&path).map_err(|error| Problem::from(error).at(&path))?,
            Err(Problem::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            // Another import is at it.
            Err(problem) => return Err(problem.at(&path)),
        }
        Database::create(&path)?;
        let draft = Self { path };
        let mut database = Database::open_to_write(&draft.path)?;
        let imported = import(file, &mut database, progress)?;
        // Closing would not report what cannot be moved from the log into the file.
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let is_busy = database.connection.query_row(sql, [], |row| row.get(0));
        match database.result(is_busy.map_err(Problem::from))? {
            false => Ok((draft, imported)),
            true => Err(Problem::Locked.at(&draft.path)),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // The next import removes what cannot be removed now.
        let _ = remove_database(&self.path);
    }
}

fn remove_database(path: &Path) -> io::Result<()> {
    ["-wal", "-shm", ""].iter().try_for_each(|suffix| remove_if_there(&with_suffix(path, suffix)))
}

/// Returns the names under which an old file may be kept.
fn second_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    (1_u32..).map(move |number| match number {
        1 => folder.join("gua-python.db"),
        number => folder.join(format!("gua-python-{number}.db")),
    })
}

/// Returns the second name that an earlier attempt has given the file, if only that one has the log.
/// Another second name is removed: it is given again.
fn earlier_attempt(path: &Path) -> io::Result<Option<PathBuf>> {
    let own = fs::metadata(path)?;
    for name in second_names(path).take_while(|name| fs::symlink_metadata(name).is_ok()) {
        let other = fs::metadata(&name)?;
        if (other.dev(), other.ino()) != (own.dev(), own.ino()) {
            continue;
        }
        let log = fs::metadata(with_suffix(&name, "-wal")).and_then(|log| log.modified()).ok();
        match log {
            // Written since: the log is not the file's any more, and is kept nevertheless.
            Some(log) if own.modified()? > log => {}
            Some(_) if !with_suffix(path, "-wal").exists() => return Ok(Some(name)),
            _ => remove_database(&name)?,
        }
    }
    Ok(None)
}

/// Gives a file, its log and the log's index second names, which nothing had before.
fn add_second_name(path: &Path) -> io::Result<PathBuf> {
    for name in second_names(path) {
        let mut taken = ["", "-wal", "-shm"].iter().map(|suffix| with_suffix(&name, suffix));
        if taken.any(|name| fs::symlink_metadata(name).is_ok()) {
            continue;
        }
        for suffix in ["-wal", "-shm", ""] {
            match link(&with_suffix(path, suffix), &with_suffix(&name, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        return Ok(name);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Gives a file a second name, or copies it where the file system has no links.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            fs::copy(from, to)?;
            File::open(to)?.sync_all()
        }
        done => done,
    }
}
