//! One recorder per file.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::error::Problem;

const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// The right to record into a file: an flock on the file itself, which SQLite's own locks do not meet.
///
/// Closing any handle of a file drops the POSIX locks that the process has on it, SQLite's included.
/// So this one must be dropped after the connection.
#[derive(Debug)]
pub struct RecorderLock {
    file: File,
}

impl RecorderLock {
    /// Locks the file at a path, which must not be open in this process.
    pub(crate) fn take(path: &Path) -> Result<Self, Problem> {
        for _ in 0..ATTEMPTS {
            let file = File::open(path)?;
            match file.try_lock() {
                Ok(()) => {
                    let lock = Self { file };
                    // Another file may have been moved there meanwhile.
                    if lock.is_at(path) {
                        return Ok(lock);
                    }
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            thread::sleep(PAUSE);
        }
        Err(Problem::Recorded)
    }

    /// Returns true if somebody records into the file at a path; `None` if that cannot be found out.
    /// Must not be called while this process has the file open.
    #[must_use]
    pub fn is_taken(path: &Path) -> Option<bool> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) => return (error.kind() == io::ErrorKind::NotFound).then_some(false),
        };
        match file.try_lock_shared() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        }
    }

    /// Returns true if the locked file is still the one at this path.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        match (self.file.metadata(), fs::metadata(path)) {
            (Ok(locked), Ok(found)) => (locked.dev(), locked.ino()) == (found.dev(), found.ino()),
            _ => false,
        }
    }
}
