//! A small file beside the database, there whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Where something about a database is kept.
#[derive(Debug, Clone)]
pub struct Beside<T> {
    path: PathBuf,
    schema: &'static str,
    kept: PhantomData<T>,
}

/// Why it could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is not what was written: {0}")]
    Garbled(#[from] serde_json::Error),
    #[error("its schema is `{told}`, and this version knows `{known}`")]
    OtherSchema { told: String, known: &'static str },
}

/// How sure it is after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// On the disk before anything else is done.
    Synced,
    /// As soon as the host writes it: for what can be made again, and must not be waited for.
    Unsynced,
}

#[derive(Serialize)]
struct Written<'a, T> {
    schema: &'static str,
    kept: &'a T,
}

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

#[derive(Deserialize)]
struct Read<T> {
    kept: T,
}

impl<T: Serialize + DeserializeOwned> Beside<T> {
    /// `gua-WHAT.json` beside `gua.db`.
    #[must_use]
    pub fn new(database: &Path, what: &str, schema: &'static str) -> Self {
        let is_usual = database.extension().is_some_and(|extension| extension == "db");
        // Others of the same stem have files of their own.
        let name = if is_usual { database.file_stem() } else { database.file_name() };
        let mut name = name.unwrap_or_default().to_owned();
        name.push(format!("-{what}.json"));
        Self { path: database.with_file_name(name), schema, kept: PhantomData }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was kept; `None` where nothing was.
    ///
    /// # Errors
    /// When there is something that cannot be read.
    pub fn load(&self) -> Result<Option<T>, BesideError> {
        let text = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let told = serde_json::from_slice::<Schema>(&text)?.schema;
        if told != self.schema {
            return Err(BesideError::OtherSchema { told, known: self.schema });
        }
        Ok(Some(serde_json::from_slice::<Read<T>>(&text)?.kept))
    }

    /// The same for who goes on without: what cannot be read is set aside, and that is said.
    pub fn load_or_set_aside(&self, say: impl Fn(&str)) -> Option<T> {
        self.load().unwrap_or_else(|error| {
            let path = self.path.display();
            let aside = self.set_aside().map(|it| format!("; it is kept as {}", it.display()));
            say(&format!("{path} cannot be read: {error}{}", aside.unwrap_or_default()));
            None
        })
    }

    /// Puts it there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, kept: &T, care: Care) -> io::Result<()> {
        let making = self.path.with_extension("json.making");
        let text = serde_json::to_vec(&Written { schema: self.schema, kept })?;
        let mut file = private(&making)?;
        file.write_all(&text)?;
        if care == Care::Synced {
            file.sync_data()?;
        }
        fs::rename(&making, &self.path)
    }

    fn set_aside(&self) -> io::Result<PathBuf> {
        let aside = self.path.with_extension("json.unreadable");
        fs::rename(&self.path, &aside)?;
        Ok(aside)
    }
}

/// What is kept tells who held what for how long.
fn private(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}
