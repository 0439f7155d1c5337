//! One switch that stops all rules: a file beside the database.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where it is.
#[derive(Debug, Clone)]
pub struct Switch(PathBuf);

impl Switch {
    /// That of the recorder of a database.
    #[must_use]
    pub fn of(database: &Path) -> Self {
        Self(database.with_file_name("policy.off"))
    }

    /// What cannot be told is off.
    #[must_use]
    pub fn is_on(&self) -> bool {
        matches!(fs::symlink_metadata(&self.0), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Stops all rules. Tells whether they were on.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn turn_off(&self) -> io::Result<bool> {
        let was_on = self.is_on();
        fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&self.0)?;
        Ok(was_on)
    }

    /// Lets the rules go on. Tells whether they were off.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn turn_on(&self) -> io::Result<bool> {
        match fs::remove_file(&self.0) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_on_unless_it_was_turned_off() {
        let dir = tempfile::tempdir().unwrap();
        let switch = Switch::of(&dir.path().join("gua.db"));
        assert!(switch.is_on());
        assert!(switch.turn_off().unwrap() && !switch.turn_off().unwrap() && !switch.is_on());
        assert!(switch.turn_on().unwrap() && !switch.turn_on().unwrap() && switch.is_on());
    }
}
