//! A folder in which users who need not trust each other leave files for each other.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fchmod, fstat, mkdirat, openat};
use rustix::io::Errno;

/// Everybody may add, nobody may take away what is another's.
const MODE: u32 = 0o1777;
const WORLD_WRITABLE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SharedFolderError {
    #[error("cannot be {doing}: {error}")]
    Io { doing: &'static str, error: io::Error },
    #[error("something else is in its place")]
    SomethingElse,
    #[error("anybody may delete what is in it (it needs the sticky bit)")]
    NotSticky,
}

/// Opens it; `None` where there is none. A link in its place is not followed.
///
/// # Errors
/// When it cannot be opened, or others could take away what is in it.
pub fn open(path: &Path) -> Result<Option<OwnedFd>, SharedFolderError> {
    let failed = |doing| move |error: Errno| SharedFolderError::Io { doing, error: error.into() };
    let folder = match open_as_it_is(path) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(SharedFolderError::SomethingElse),
        Err(error) => return Err(failed("opened")(error)),
    };
    let mode = fstat(&folder).map_err(failed("read"))?.st_mode;
    if mode & WORLD_WRITABLE != 0 && mode & STICKY == 0 {
        return Err(SharedFolderError::NotSticky);
    }
    Ok(Some(folder))
}

/// The same, and makes it where there is none.
///
/// # Errors
/// As [`open`], or when it cannot be made.
pub fn open_or_make(path: &Path) -> Result<OwnedFd, SharedFolderError> {
    if let Some(folder) = open(path)? {
        return Ok(folder);
    }
    let failed = |error: Errno| SharedFolderError::Io { doing: "made", error: error.into() };
    make(path).map_err(failed)?;
    open(path)?.ok_or_else(|| failed(Errno::NOENT))
}

fn open_as_it_is(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// Makes it for everybody, whatever this user gives to others usually.
fn make(path: &Path) -> Result<(), Errno> {
    match mkdirat(CWD, path, Mode::from_raw_mode(MODE)) {
        Ok(()) => fchmod(open_as_it_is(path)?, Mode::from_raw_mode(MODE)),
        // Somebody else was first.
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}
