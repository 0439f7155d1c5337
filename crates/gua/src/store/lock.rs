//! One recorder a database: a lock on the file itself.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::error::StoreError;

/// The right to record into a database, for as long as it is kept.
///
/// The lock is another kind than SQLite's own, so the two do not meet. But closing any
/// handle of a file also lets go of SQLite's locks on it in this process: this one must
/// outlive the connection, or be given back before there is one.
#[derive(Debug)]
pub struct RecorderLock {
    file: File,
}

impl RecorderLock {
    /// Takes it, if nobody has it.
    ///
    /// # Errors
    /// [`StoreError::Recorded`] when somebody has it.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new().read(true).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::Recorded),
            Err(error) => Err(StoreError::Io(error.into())),
        }
    }

    /// Whether the locked file is still the one at this path.
    #[must_use]
    pub fn is_on(&self, path: &Path) -> bool {
        match (self.file.metadata(), fs::metadata(path)) {
            (Ok(locked), Ok(there)) => (locked.dev(), locked.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }
}
