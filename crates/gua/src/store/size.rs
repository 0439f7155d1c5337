//! How much room a database takes.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::{ffi::OsString, fs};

/// In bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub file_bytes: u64,
    /// Of what SQLite keeps beside it, not yet in the file itself.
    pub log_bytes: u64,
}

impl Size {
    #[must_use]
    pub const fn whole_bytes(self) -> u64 {
        self.file_bytes.saturating_add(self.log_bytes)
    }
}

/// Asks the file system.
///
/// # Errors
/// When it does not tell. A log that is not there has no size, and that is known.
pub fn size(path: &Path) -> io::Result<Size> {
    // The log is beside the file, and not beside a link to it.
    let path = fs::canonicalize(path)?;
    let file_bytes = fs::metadata(&path)?.len();
    let mut log = OsString::from(path);
    log.push("-wal");
    let log_bytes = match fs::metadata(log) {
        Ok(log) => log.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(Size { file_bytes, log_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Trap: a log that could not be looked at counted for nothing.
    #[test]
    fn only_what_is_not_there_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (path, log) = (dir.path().join("x.db"), dir.path().join("x.db-wal"));
        assert_eq!(size(&path).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&path, "1234").unwrap();
        assert_eq!(size(&path).unwrap().whole_bytes(), 4);
        fs::write(&log, "123").unwrap();
        assert_eq!(size(&path).unwrap(), Size { file_bytes: 4, log_bytes: 3 });
        symlink(&path, dir.path().join("link.db")).unwrap();
        assert_eq!(size(&dir.path().join("link.db")).unwrap().whole_bytes(), 7);
        fs::remove_file(&log).unwrap();
        symlink(&log, &log).unwrap();
        assert!(size(&path).is_err());
    }
}
