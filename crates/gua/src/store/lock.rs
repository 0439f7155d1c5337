//! One recorder a database: a lock on the file itself.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::StoreError;

/// How often, and how far apart, it is tried for.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(10);

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
        for attempt in 0.. {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                // Who only looks whether it is taken has it for a moment too.
                Err(Errno::WOULDBLOCK) if attempt < LOOKS => thread::sleep(LOOK),
                Err(Errno::WOULDBLOCK) => return Err(StoreError::Recorded),
                Err(error) => return Err(StoreError::Io(error.into())),
            }
        }
        Ok(Self { file })
    }

    /// Whether somebody has it; `None` where that cannot be told. To be asked only while this
    /// process has no connection to the database.
    #[must_use]
    pub fn is_taken(path: &Path) -> Option<bool> {
        let file = match OpenOptions::new().read(true).open(path) {
            Ok(file) => file,
            // What is not there nobody records into.
            Err(error) => return (error.kind() == ErrorKind::NotFound).then_some(false),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Some(false),
            Err(Errno::WOULDBLOCK) => Some(true),
            Err(_) => None,
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
