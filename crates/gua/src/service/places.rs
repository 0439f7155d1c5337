//! Where the database, the pid file and the log are.

use std::path::{Path, PathBuf};

use crate::config::{self, Config};
use crate::failure::Failure;

/// The files of a recorder, as absolute paths.
#[derive(Debug, Clone)]
pub struct Places {
    pub database: PathBuf,
    /// A database that was named must not be mixed with another run by accident; the usual one,
    /// at home or by the config, is there to be gone on with.
    pub is_usual: bool,
    pub pid_file: PathBuf,
    pub log_file: PathBuf,
}

impl Places {
    /// What was named, else the usual database and what is at home.
    ///
    /// # Errors
    /// When a file was not named and there is no home.
    pub fn new(
        config: &Config,
        database: Option<&Path>,
        pid_file: Option<&Path>,
        log_file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let at_home = |name: &str| config::home().map(|home| home.join(name));
        let usual = config.database.clone().map(absolute);
        let place = |named: Option<&Path>, usual: Option<PathBuf>, option| {
            let path = named.map(Path::to_owned).or(usual);
            path.map(absolute).ok_or_else(|| no_home(option))
        };
        let database = place(database, usual.clone(), "--db")?;
        Ok(Self {
            is_usual: usual.as_ref() == Some(&database),
            database,
            pid_file: place(pid_file, at_home("gua.pid"), "--pid-file")?,
            log_file: place(log_file, at_home("gua.log"), "--log-file")?,
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
