//! What was acknowledged, in a file beside the database.
//!
//! Not in it: a second writer would make ticks wait, and a copy of a database would go on from
//! where another one is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::metrics::Counters;

const SCHEMA: &str = "gua.push/1";

/// How far it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cursor {
    /// The last tick that was taken, or given up.
    pub tick: i64,
    /// When that was.
    pub at_millis: i64,
    /// What was counted up to it, those that were given up included.
    pub counters: Counters,
}

#[derive(Serialize, Deserialize)]
struct Written {
    schema: String,
    /// A cursor is for one receiver: another one has got nothing yet.
    url: String,
    cursor: Cursor,
}

/// Where it is kept.
#[derive(Debug, Clone)]
pub struct CursorFile {
    path: PathBuf,
    url: String,
}

impl CursorFile {
    /// `gua-push.json` beside `gua.db`.
    #[must_use]
    pub fn beside(database: &Path, url: &str) -> Self {
        let mut name = database.file_stem().unwrap_or_default().to_owned();
        name.push("-push.json");
        Self { path: database.with_file_name(name), url: url.to_owned() }
    }

    /// `None` where there is none for this receiver, or none that can be read: then it begins
    /// with what is recorded from now on.
    #[must_use]
    pub fn load(&self) -> Option<Cursor> {
        let text = fs::read(&self.path).ok()?;
        let written: Written = serde_json::from_slice(&text).ok()?;
        let is_it = written.schema == SCHEMA && written.url == self.url;
        is_it.then_some(written.cursor)
    }

    /// Puts it there, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, cursor: &Cursor) -> io::Result<()> {
        let making = self.path.with_extension("json.making");
        let (schema, url) = (SCHEMA.to_owned(), self.url.clone());
        let text = serde_json::to_vec(&Written { schema, url, cursor: cursor.clone() })?;
        let mut file =
            File::options().write(true).create(true).truncate(true).mode(0o600).open(&making)?;
        file.write_all(&text)?;
        fs::rename(&making, &self.path)
    }
}
