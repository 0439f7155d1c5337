//! Processes that their owners have exempted for a time: a file each in a folder that all users
//! share, by the pid. One that was only touched counts for as long as the config allows; one
//! that `gua policy snooze` has written says until when.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use probe::units::UnixMillis;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, fstat, ftruncate, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::watch::millis;
use crate::failure::Failure;
use crate::shared_folder::{self, SharedFolderError};

/// More than a snooze ever says.
const LONGEST_TEXT: u64 = 100;

/// A clock that was corrected since.
const TOLERANCE_MILLIS: i64 = 60_000;

/// Why somebody could not be exempted.
#[derive(Debug, thiserror::Error)]
pub enum SnoozeError {
    #[error("the snoozes' folder {}: {}", .0.display(), .1)]
    Folder(PathBuf, SharedFolderError),
    #[error("{} cannot be written: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
}

impl From<SnoozeError> for Failure {
    fn from(error: SnoozeError) -> Self {
        Self::Failed {
            what: format!("it cannot be exempted: {error}"),
            next: "Name a folder that all users share with GUA_SNOOZES, here and for the daemon."
                .to_owned(),
        }
    }
}

/// The folder.
#[derive(Debug)]
pub struct Snoozes {
    path: PathBuf,
    folder: OwnedFd,
}

/// Whose snooze is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Sleeper {
    pub pid: u32,
    pub start_ticks: u64,
    pub started: Option<UnixMillis>,
    pub owner: u32,
}

impl Snoozes {
    /// Opens it to look; `None` where nobody has ever snoozed.
    ///
    /// # Errors
    /// When it cannot be opened, or others could take away what is in it.
    pub fn look(path: &Path) -> Result<Option<Self>, SnoozeError> {
        let folder = shared_folder::open(path)
            .map_err(|error| SnoozeError::Folder(path.to_owned(), error))?;
        Ok(folder.map(|folder| Self { path: path.to_owned(), folder }))
    }

    /// Opens it to add to it.
    ///
    /// # Errors
    /// When it cannot be made, or others could take away what is in it.
    pub fn open(path: &Path) -> Result<Self, SnoozeError> {
        let folder = shared_folder::open_or_make(path)
            .map_err(|error| SnoozeError::Folder(path.to_owned(), error))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Until when a process is left alone, where its owner or root has said so.
    #[must_use]
    pub fn until(&self, of: Sleeper, most: Duration, now: UnixMillis) -> Option<UnixMillis> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.folder, of.pid.to_string(), flags, Mode::empty()).ok()?;
        let stat = fstat(&file).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || !(stat.st_uid == of.owner || stat.st_uid == 0) {
            return None;
        }
        let touched = UnixMillis(stat.st_mtime.saturating_mul(1000));
        let mut text = String::new();
        File::from(file).take(LONGEST_TEXT).read_to_string(&mut text).ok()?;
        until(&text, touched, of, most)
            .filter(|until| *until > now)
            .filter(|_| is_past(touched, now))
    }

    /// Exempts a process of ours, or as root any.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, of: Sleeper, until: UnixMillis) -> Result<(), SnoozeError> {
        let name = of.pid.to_string();
        let failed = |error| SnoozeError::File(self.path.join(&name), error);
        self.put(&name, &format!("gua 1 {} {}\n", of.start_ticks, until.0)).map_err(failed)
    }

    fn put(&self, name: &str, text: &str) -> io::Result<()> {
        if geteuid().is_root() {
            self.make_room(name)?;
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::from_raw_mode(0o644))?;
        if fstat(&file)?.st_uid != geteuid().as_raw() {
            return Err(io::Error::other("it is a file of another user"));
        }
        fchmod(&file, Mode::from_raw_mode(0o644))?;
        ftruncate(&file, 0)?;
        File::from(file).write_all(text.as_bytes())
    }
}

/// As root.
impl Snoozes {
    /// Whoever left a file of that name: root speaks for all.
    fn make_room(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// A file from the future would count for ever.
const fn is_past(touched: UnixMillis, now: UnixMillis) -> bool {
    touched.0 <= now.0.saturating_add(TOLERANCE_MILLIS)
}

/// What a file says of this process; one that was made before it is about another.
fn until(text: &str, touched: UnixMillis, of: Sleeper, most: Duration) -> Option<UnixMillis> {
    let longest = UnixMillis(touched.0.saturating_add(millis(most)));
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [] => {
            let is_later = |started: UnixMillis| touched.0.saturating_add(1000) >= started.0;
            of.started.is_some_and(is_later).then_some(longest)
        }
        ["gua", "1", start, until] => {
            let until = UnixMillis(until.parse().ok()?);
            (start.parse() == Ok(of.start_ticks)).then(|| until.min(longest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const HOUR: Duration = Duration::from_secs(3600);

    fn sleeper() -> Sleeper {
        let owner = geteuid().as_raw();
        Sleeper { pid: 7, start_ticks: 5, started: Some(UnixMillis(0)), owner }
    }

    fn now() -> UnixMillis {
        UnixMillis::from(std::time::SystemTime::now())
    }

    fn folder() -> (tempfile::TempDir, Snoozes) {
        let dir = tempfile::tempdir().unwrap();
        let snoozes = Snoozes::open(&dir.path().join("snoozes")).unwrap();
        (dir, snoozes)
    }

    #[test]
    fn what_is_written_counts_until_its_time_and_no_longer_than_allowed() {
        let (_dir, snoozes) = folder();
        let until = UnixMillis(now().0 + 60_000);
        snoozes.write(sleeper(), until).unwrap();
        assert_eq!(snoozes.until(sleeper(), HOUR, now()), Some(until));
        assert_eq!(snoozes.until(sleeper(), HOUR, until), None);
        snoozes.write(sleeper(), UnixMillis(i64::MAX)).unwrap();
        let most = snoozes.until(sleeper(), HOUR, now()).unwrap();
        assert!(most.0 <= now().0 + 3_600_000);
    }

    /// Whoever has taken the name before.
    #[test]
    fn root_speaks_for_all() {
        if !geteuid().is_root() {
            return crate::policy::tests::skipped("snoozes of others: not root");
        }
        let (dir, snoozes) = folder();
        let path = dir.path().join("snoozes/7");
        fs::write(&path, "").unwrap();
        std::os::unix::fs::chown(&path, Some(41_000), None).unwrap();
        let until = UnixMillis(now().0 + 60_000);
        snoozes.write(sleeper(), until).unwrap();
        assert_eq!(snoozes.until(sleeper(), HOUR, now()), Some(until));
    }

    #[test]
    fn a_file_that_was_touched_counts() {
        let (dir, snoozes) = folder();
        fs::write(dir.path().join("snoozes/7"), "").unwrap();
        assert!(snoozes.until(sleeper(), HOUR, now()).is_some());
        // The process came later: it was another's.
        let later = Sleeper { started: Some(UnixMillis(now().0 + 10_000)), ..sleeper() };
        assert_eq!(snoozes.until(later, HOUR, now()), None);
    }

    #[test]
    fn only_the_owner_and_root_are_believed_and_only_of_this_process() {
        let (dir, snoozes) = folder();
        snoozes.write(sleeper(), UnixMillis(now().0 + 60_000)).unwrap();
        let another = Sleeper { start_ticks: 6, ..sleeper() };
        assert_eq!(snoozes.until(another, HOUR, now()), None);
        for text in ["gua 2 5 9", "x", "gua 1 5", "gua 1 5 soon"] {
            fs::write(dir.path().join("snoozes/7"), text).unwrap();
            assert_eq!(snoozes.until(sleeper(), HOUR, now()), None, "{text}");
        }
        if geteuid().is_root() {
            fs::write(dir.path().join("snoozes/7"), "").unwrap();
            std::os::unix::fs::chown(dir.path().join("snoozes/7"), Some(4242), None).unwrap();
            assert_eq!(snoozes.until(sleeper(), HOUR, now()), None);
        }
    }
}
