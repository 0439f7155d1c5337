//! Where the database, the pid file and the log are.

use std::path::{Path, PathBuf};

use crate::config;
use crate::failure::Failure;

/// The files of a recorder, as absolute paths.
#[derive(Debug, Clone)]
pub struct Places {
    pub database: PathBuf,
    /// A database that was named must not be mixed with another run by accident; the one at
    /// home is there to be gone on with.
    pub is_at_home: bool,
    pub pid_file: PathBuf,
    pub log_file: PathBuf,
}

impl Places {
    /// What was named, else what is at home.
    ///
    /// # Errors
    /// When a file was not named and there is no home.
    pub fn new(
        database: Option<&Path>,
        pid_file: Option<&Path>,
        log_file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let at_home = |name: &str| config::home().map(|home| home.join(name));
        let place = |named: Option<&Path>, name, option| {
            let path = named.map(Path::to_owned).or_else(|| at_home(name));
            path.map(absolute).ok_or_else(|| no_home(option))
        };
        let database = place(database, "gua.db", "--db")?;
        Ok(Self {
            is_at_home: at_home("gua.db").map(absolute).as_ref() == Some(&database),
            database,
            pid_file: place(pid_file, "gua.pid", "--pid-file")?,
            log_file: place(log_file, "gua.log", "--log-file")?,
        })
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn no_home(option: &str) -> Failure {
    Failure::Usage {
        what: "there is no home folder to keep gua's files in".to_owned(),
        next: format!("Set HOME or GUA_HOME, or name the file with {option}."),
    }
}
