//! The counters beside the database.
//!
//! Not in it: what is pruned there, or judged anew after a clock was set back, must not make a
//! counter go back, and a second writer must not make a tick wait.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::metrics::Counters;

const SCHEMA: &str = "gua.counters/1";

/// Where the counters of a database are kept.
#[derive(Debug, Clone)]
pub struct CountersFile {
    path: PathBuf,
}

/// Why the counters could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is not what was written: {0}")]
    Garbled(#[from] serde_json::Error),
    #[error("its schema is `{0}`, and this version knows `{SCHEMA}`")]
    OtherSchema(String),
}

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    counters: &'a Counters,
}

#[derive(Deserialize)]
struct Read {
    schema: String,
    counters: Counters,
}

impl CountersFile {
    /// `gua-counters.json` beside `gua.db`.
    #[must_use]
    pub fn beside(database: &Path) -> Self {
        let mut name = database.file_stem().unwrap_or_default().to_owned();
        name.push("-counters.json");
        Self { path: database.with_file_name(name) }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was counted so far; `None` where nothing was.
    ///
    /// # Errors
    /// When there is something that cannot be read.
    pub fn load(&self) -> Result<Option<Counters>, CountersError> {
        let text = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let read: Read = serde_json::from_slice(&text)?;
        match read.schema.as_str() {
            SCHEMA => Ok(Some(read.counters)),
            _ => Err(CountersError::OtherSchema(read.schema)),
        }
    }

    /// Puts them there, whole or not at all.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn save(&self, counters: &Counters) -> io::Result<()> {
        let making = self.path.with_extension("json.making");
        let text = serde_json::to_vec(&Written { schema: SCHEMA, counters })?;
        let mut file = private(&making)?;
        file.write_all(&text)?;
        fs::rename(&making, &self.path)
    }

    /// Keeps one that cannot be read out of the way.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn set_aside(&self) -> io::Result<PathBuf> {
        let aside = self.path.with_extension("json.unreadable");
        fs::rename(&self.path, &aside)?;
        Ok(aside)
    }
}

/// They tell who held what for how long.
fn private(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}
