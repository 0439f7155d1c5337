//! Whether the scenario file has changed since it was last looked at.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What changes when a file is written to or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    modified: (i64, i64),
    size: u64,
    inode: u64,
}

impl Fingerprint {
    pub fn of(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        Ok(Self {
            modified: (file.mtime(), file.mtime_nsec()),
            size: file.size(),
            inode: file.ino(),
        })
    }

    /// An editor that writes in place empties the file first; that state is not meant.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }
}
