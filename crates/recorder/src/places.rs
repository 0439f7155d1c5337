//! Where the database, the pid file and the log are.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use gua_store::database::is_empty_file;
use gua_store::lock::RecorderLock;
use gua_store::{Database, Problem, StoreError, python};

use crate::error::RecorderError;
use crate::log::Log;

/// The files of a recorder, as absolute paths.
#[derive(Debug, Clone)]
pub struct Places {
    pub database: PathBuf,
    /// True if it is the one at home or in the config. Another one must not be recorded into by accident.
    pub is_default: bool,
    pub pid_file: PathBuf,
    pub log_file: PathBuf,
}

/// Paths that were given; `None` for the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct GivenPaths<'a> {
    pub database: Option<&'a Path>,
    pub pid_file: Option<&'a Path>,
    pub log_file: Option<&'a Path>,
}

/// Whether a database that was given may be recorded into if it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFile {
    Refuse,
    Append,
}

impl Places {
    /// Returns the given paths, else the default database and the files at `home`.
    pub fn new(
        home: Option<&Path>,
        default_database: Option<&Path>,
        given: GivenPaths<'_>,
    ) -> Result<Self, RecorderError> {
        let at_home = |name: &str| home.map(|home| home.join(name));
        let default_database = default_database.map(|path| absolute(path.to_owned()));
        let place = |given: Option<&Path>, default: Option<PathBuf>, option| {
            let path = given.map(Path::to_owned).or(default);
            path.map(absolute).ok_or(RecorderError::NoHome { option })
        };
        let database = place(given.database, default_database.clone(), "--db")?;
        Ok(Self {
            is_default: default_database.as_ref() == Some(&database),
            database,
            pid_file: place(given.pid_file, at_home("gua.pid"), "--pid-file")?,
            log_file: place(given.log_file, at_home("gua.log"), "--log-file")?,
        })
    }

    /// Refuses a database that must not be written to. Changes nothing.
    pub fn check_database(&self, existing: ExistingFile) -> Result<(), RecorderError> {
        match Database::open(&self.database) {
            Err(StoreError { problem: Problem::Missing, .. }) => Ok(()),
            Err(error) if !is_empty_file(&self.database) => self.allow_older(error),
            Ok(_) | Err(_) if self.is_default || existing == ExistingFile::Append => Ok(()),
            Ok(_) | Err(_) => Err(RecorderError::DatabaseExists(self.database.clone())),
        }
    }

    /// A history of the Python gua at the default path is taken over; an older layout is updated.
    fn allow_older(&self, error: StoreError) -> Result<(), RecorderError> {
        match error.problem {
            Problem::PythonGua if self.is_default => Ok(()),
            Problem::WaitsForMigration { .. } => Ok(()),
            _ if self.is_default => Err(error.into()),
            _ => Err(RecorderError::GivenDatabase(error)),
        }
    }

    /// Returns true if a history of the Python gua is where the database is to be.
    #[must_use]
    pub fn has_python_history(&self) -> bool {
        let opened = Database::open(&self.database);
        matches!(opened, Err(StoreError { problem: Problem::PythonGua, .. }))
    }

    /// Makes sure that the database can be recorded into: a history of the Python gua is replaced by its
    /// conversion, and a database that somebody records into is refused. The first tick creates one that
    /// is missing. Must not be called once this process has the database open.
    pub fn prepare_database(
        &self,
        existing: ExistingFile,
        log: &mut Log,
    ) -> Result<(), RecorderError> {
        self.check_database(existing)?;
        if self.has_python_history() {
            let replaced = python::replace(&self.database, &mut |_| ())?;
            log.write(&format!(
                "took over the history of the Python gua, {} ticks; its file is kept as {}",
                replaced.imported.ticks,
                replaced.kept.display()
            ));
        }
        match RecorderLock::is_taken(&self.database) {
            Some(true) => Err(Problem::Recorded.at(&self.database).into()),
            Some(false) | None => Ok(()),
        }
    }

    /// Opens the log, and creates its folder.
    pub fn open_log(&self) -> Result<Log, RecorderError> {
        let log = make_folder(&self.log_file).and_then(|()| Log::to_file(&self.log_file));
        log.map_err(|error| RecorderError::Log { path: self.log_file.clone(), error })
    }
}

/// Creates the folder of a file.
pub fn make_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => DirBuilder::new().recursive(true).mode(0o700).create(folder),
        None => Ok(()),
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_paths_come_before_the_defaults() {
        let home = Path::new("/home/ann/.gua");
        let default = Some(Path::new("/home/ann/.gua/gua.db"));
        let places = Places::new(Some(home), default, GivenPaths::default()).unwrap();
        assert!(places.is_default);
        assert_eq!(places.pid_file, home.join("gua.pid"));
        assert_eq!(places.log_file, home.join("gua.log"));
        let given = GivenPaths { database: Some(Path::new("/data/x.db")), ..GivenPaths::default() };
        let places = Places::new(Some(home), default, given).unwrap();
        assert_eq!((places.database.to_str(), places.is_default), (Some("/data/x.db"), false));
        let error = Places::new(None, None, given).unwrap_err().to_string();
        assert!(error.ends_with("or use --pid-file PATH"), "{error}");
    }

    #[test]
    fn existing_database_is_refused_unless_it_is_the_default_or_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        let given = GivenPaths { database: Some(&path), ..GivenPaths::default() };
        let places = Places::new(Some(dir.path()), None, given).unwrap();
        places.check_database(ExistingFile::Refuse).unwrap();
        Database::create(&path).unwrap();
        let error = places.check_database(ExistingFile::Refuse).unwrap_err().to_string();
        assert!(error.contains("exists already; add --append"), "{error}");
        places.check_database(ExistingFile::Append).unwrap();
        Places { is_default: true, ..places.clone() }.check_database(ExistingFile::Refuse).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(places.check_database(ExistingFile::Refuse).is_err(), "an empty file");
        places.check_database(ExistingFile::Append).unwrap();
        std::fs::write(&path, "notes").unwrap();
        assert!(places.check_database(ExistingFile::Append).is_err());
    }
}
