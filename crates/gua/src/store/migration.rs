//! A database of an older layout becomes one of ours, and a copy of it is kept.
//!
//! Nobody else can write meanwhile, and a crash at any step leaves the file as it was:
//!
//! 1. A transaction begins.
//! 2. What is there is copied beside, whole and to the disk.
//! 3. The tables are laid out anew and filled.
//! 4. The copy gets its name, and the transaction is committed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, Transaction};

use super::SCHEMA_VERSION;
use super::database::{layout_of, move_new, open_older_to_write, remove_if_there};
use super::error::StoreError;
use super::identify::beside;
use super::lock::RecorderLock;
use super::sample_key;
use super::writer::immediate;

/// Pages that are copied in one step: all.
const ALL: i32 = -1;

/// How long another program's write is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Brings the database at a path to our layout, where it has an older one, and tells where
/// its copy is. Who holds the lock knows that no recorder of an older gua writes to it.
///
/// # Errors
/// When it is not ours, or newer than we know, or not to be written; then it is as it was.
pub fn bring_forward(path: &Path, _lock: &RecorderLock) -> Result<Option<PathBuf>, StoreError> {
    if layout_of(path)? >= SCHEMA_VERSION {
        return Ok(None);
    }
    // The place that a link leads to, where its copy belongs.
    let path = &fs::canonicalize(path)?;
    let mut database = open_older_to_write(path)?;
    database.busy_timeout(PATIENCE)?;
    // What refers to nothing stays so: finding it is not for here, and refusing would help
    // nobody.
    database.pragma_update(None, "foreign_keys", false)?;
    let transaction = immediate(&mut database)?;
    let layout = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let mut copy = Copy::of(path)?;
    lay_out_anew(&transaction, layout)?;
    copy.place(path, layout)?;
    transaction.commit()?;
    Ok(Some(copy.keep()))
}

/// One layout after the other.
fn lay_out_anew(database: &Transaction<'_>, from: u32) -> Result<(), StoreError> {
    for layout in from..SCHEMA_VERSION {
        match layout {
            1 if !sample_key::are_enough_for(database)? => return Err(StoreError::OutOfNumbers),
            1 => database.execute_batch(include_str!("layout_2.sql"))?,
            2 => database.execute_batch(include_str!("layout_3.sql"))?,
            3 => database.execute_batch(include_str!("layout_4.sql"))?,
            _ => return Err(StoreError::NotOurs("it has no layout")),
        }
    }
    Ok(())
}

/// A copy of a database, which goes away where it is not kept.
#[derive(Debug)]
struct Copy(Option<PathBuf>);

impl Copy {
    /// As it is at this moment, for its owner only.
    fn of(path: &Path) -> Result<Self, StoreError> {
        let making = beside(path, ".copying");
        // Left by one that was killed. It had the lock, which is ours now.
        remove_if_there(&making)?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&making)?;
        let copy = Self(Some(making.clone()));
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let from = Connection::open_with_flags(path, flags)?;
        let mut to = Connection::open_with_flags(&making, flags)?;
        // A half-made one is of no use, so nothing has to be undone in it.
        to.pragma_update(None, "journal_mode", "OFF")?;
        let done = Backup::new(&from, &mut to)?.step(ALL)?;
        if done != StepResult::Done {
            return Err(StoreError::Locked);
        }
        to.close().map_err(|(_, error)| error)?;
        File::open(&making)?.sync_all()?;
        Ok(copy)
    }

    /// Gives it the name that tells what it is; nothing had it before.
    fn place(&mut self, path: &Path, layout: u32) -> Result<(), StoreError> {
        let Some(making) = &self.0 else { return Ok(()) };
        let is_taken = |name: &Path| {
            ["", "-wal", "-shm", "-journal"]
                .iter()
                .any(|suffix| fs::symlink_metadata(beside(name, suffix)).is_ok())
        };
        let name = names(path, layout)
            .find(|name| !is_taken(name))
            .ok_or_else(|| StoreError::Io(io::ErrorKind::AlreadyExists.into()))?;
        move_new(making, &name)?;
        if let Some(folder) = name.parent() {
            File::open(folder)?.sync_all()?;
        }
        self.0 = Some(name);
        Ok(())
    }

    fn keep(mut self) -> PathBuf {
        self.0.take().unwrap_or_default()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next attempt.
        let _ = self.0.as_deref().map(fs::remove_file);
    }
}

/// `gua.db` of layout 1 is kept as `gua-layout-1.db`; where there is one already, as
/// `gua-layout-1-2.db`, and so on.
fn names(path: &Path, layout: u32) -> impl Iterator<Item = PathBuf> {
    (1_u32..).map(move |number| {
        let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
        name.push(format!("-layout-{layout}"));
        if number > 1 {
            name.push(format!("-{number}"));
        }
        if let Some(ending) = path.extension() {
            name.push(".");
            name.push(ending);
        }
        path.with_file_name(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_a_name_of_its_own_beside_the_file() {
        let first_two =
            |path: &str| -> Vec<PathBuf> { names(Path::new(path), 1).take(2).collect() };
        let both = |one: &str, other: &str| vec![PathBuf::from(one), PathBuf::from(other)];
        assert_eq!(first_two("/a/gua.db"), both("/a/gua-layout-1.db", "/a/gua-layout-1-2.db"));
        assert_eq!(first_two("/a.b/x"), both("/a.b/x-layout-1", "/a.b/x-layout-1-2"));
        assert_eq!(first_two("a.b.db"), both("a.b-layout-1.db", "a.b-layout-1-2.db"));
    }
}
