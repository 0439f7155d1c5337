//! Whether somebody else has recorded another tick: asked often, so it costs next to nothing.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::database;
use super::error::StoreError;

/// A database that another process records into.
#[derive(Debug)]
pub struct TickWatch {
    path: PathBuf,
    open: Option<(Connection, File)>,
}

/// What tells a file from another one at its place.
type File = (u64, u64);

impl TickWatch {
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    /// The number of the newest tick; `None` where there is none, or where it cannot be read now.
    pub fn newest(&mut self) -> Option<i64> {
        let file = file(&self.path)?;
        if self.open.as_ref().is_none_or(|(_, known)| *known != file) {
            self.open = database::open_to_read(&self.path).ok().map(|open| (open, file));
        }
        let (database, _) = self.open.as_ref()?;
        newest(database).ok().flatten()
    }
}

fn file(path: &Path) -> Option<File> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

fn newest(database: &Connection) -> Result<Option<i64>, StoreError> {
    let mut query = database.prepare_cached("SELECT max(id) FROM tick")?;
    Ok(query.query_row([], |row| row.get(0))?)
}
