//! Processes that their owners have exempted for a time: a file each in a folder that all users
//! share, by the pid. One that was only touched counts for as long as the config allows; one
//! that `gua policy snooze` has written says until when.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use probe::units::UnixMillis;
use probe::{Reading, Why};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, fstat, ftruncate, openat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::watch::millis;
use crate::failure::Failure;
use crate::shared_folder::{self, SharedFolderError};

const GROUP_WRITES: u32 = 0o020;
const STICKY: u32 = 0o1000;

/// More than a snooze ever says.
const LONGEST_TEXT: u64 = 100;

/// A clock that was corrected since.
const TOLERANCE_MILLIS: i64 = 60_000;

/// Why somebody could not be exempted.
#[derive(Debug, thiserror::Error)]
pub enum SnoozeError {
    #[error("the snoozes' folder {}: {}", .0.display(), .1)]
    Folder(PathBuf, SharedFolderError),
    #[error(
        "the snoozes' folder {} belongs to uid {}, who could take away what others leave in it",
        .0.display(), .1
    )]
    Owner(PathBuf, u32),
    #[error("a group may delete what is in the snoozes' folder {} (it needs the sticky bit)", .0.display())]
    Group(PathBuf),
    #[error("there is no folder for snoozes: {}", .0.display())]
    Missing(PathBuf),
    #[error("{} cannot be written: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
}

impl From<SnoozeError> for Failure {
    fn from(error: SnoozeError) -> Self {
        let next = match &error {
            SnoozeError::Missing(path) => format!(
                "A recorder that follows rules makes it; else root does: install -d -m 1777 {}",
                path.display()
            ),
            _ => "Name a folder that all users share with GUA_SNOOZES, here and for the daemon."
                .to_owned(),
        };
        Self::Failed { what: format!("it cannot be exempted: {error}"), next }
    }
}

/// Where snoozes are, and whose folder that may be besides root's.
#[derive(Debug, Clone)]
pub struct SnoozePlace {
    pub folder: PathBuf,
    /// The recorder's user.
    pub keeper: u32,
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
    /// When it cannot be opened, or somebody else than root and the recorder's user could take
    /// away what is in it.
    pub fn look(path: &Path, keeper: u32) -> Result<Option<Self>, SnoozeError> {
        let Some(snoozes) = Self::open(path)? else { return Ok(None) };
        let failed = |error: Errno| {
            let error = SharedFolderError::Io { doing: "read", error: error.into() };
            SnoozeError::Folder(path.to_owned(), error)
        };
        let stat = fstat(&snoozes.folder).map_err(failed)?;
        if stat.st_uid != 0 && stat.st_uid != keeper {
            return Err(SnoozeError::Owner(path.to_owned(), stat.st_uid));
        }
        if stat.st_mode & GROUP_WRITES != 0 && stat.st_mode & STICKY == 0 {
            return Err(SnoozeError::Group(path.to_owned()));
        }
        Ok(Some(snoozes))
    }

    /// Opens it to add to it. Only root makes it: it would not be trusted if we did.
    ///
    /// # Errors
    /// When there is none, or others could take away what is in it.
    pub fn add(path: &Path) -> Result<Self, SnoozeError> {
        if geteuid().is_root() {
            return Self::make(path);
        }
        Self::open(path)?.ok_or_else(|| SnoozeError::Missing(path.to_owned()))
    }

    /// Opens it, and makes it where there is none.
    ///
    /// # Errors
    /// When it cannot be made, or others could take away what is in it.
    pub fn make(path: &Path) -> Result<Self, SnoozeError> {
        let folder = shared_folder::open_or_make(path)
            .map_err(|error| SnoozeError::Folder(path.to_owned(), error))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    fn open(path: &Path) -> Result<Option<Self>, SnoozeError> {
        let folder = shared_folder::open(path)
            .map_err(|error| SnoozeError::Folder(path.to_owned(), error))?;
        Ok(folder.map(|folder| Self { path: path.to_owned(), folder }))
    }

    /// Until when a process is left alone, where its owner or root has said so; the longest of
    /// what they have said.
    #[must_use]
    pub fn until(
        &self,
        of: Sleeper,
        most: Duration,
        now: UnixMillis,
    ) -> Reading<Option<UnixMillis>> {
        let said = names(of).map(|name| self.said(&name, of, most, now));
        let unknown = said.iter().find(|one| one.known().is_none()).copied();
        let longest = said.iter().filter_map(|one| one.known().flatten()).max();
        match (longest, unknown) {
            (None, Some(unknown)) => unknown,
            (longest, _) => Reading::Known(longest),
        }
    }

    fn said(
        &self,
        name: &str,
        of: Sleeper,
        most: Duration,
        now: UnixMillis,
    ) -> Reading<Option<UnixMillis>> {
        let stat = match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Reading::Known(None),
            Err(_) => return Reading::Unknown(Why::NotTold),
        };
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || !(stat.st_uid == of.owner || stat.st_uid == 0) {
            return Reading::Known(None);
        }
        let touched = UnixMillis(stat.st_mtime.saturating_mul(1000));
        // One that only its owner may read says as much as one that was only touched.
        let text = self.text(name).unwrap_or_default();
        let until = until(&text, touched, of, most)
            .filter(|until| *until > now)
            .filter(|_| is_past(touched, now));
        Reading::Known(until)
    }

    fn text(&self, name: &str) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::empty())?;
        let mut text = String::new();
        File::from(file).take(LONGEST_TEXT).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Exempts a process of ours, or as root any.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, of: Sleeper, until: UnixMillis) -> Result<(), SnoozeError> {
        let text = format!("gua 1 {} {}\n", of.start_ticks, until.0);
        let [plain, own] = names(of);
        // Somebody else may have taken the first.
        let put = self.put(&plain, &text).or_else(|_| self.put(&own, &text));
        put.map_err(|error| SnoozeError::File(self.path.join(&own), error))
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

/// `PID`, which is easily touched, and `UID.PID`, which nobody has a reason to take before.
fn names(of: Sleeper) -> [String; 2] {
    [of.pid.to_string(), format!("{}.{}", of.owner, of.pid)]
}

/// A file from the future would count for ever.
const fn is_past(touched: UnixMillis, now: UnixMillis) -> bool {
    touched.0 <= now.0.saturating_add(TOLERANCE_MILLIS)
}

/// What a file says of this process; one that was made before it is about another.
fn until(text: &str, touched: UnixMillis, of: Sleeper, most: Duration) -> Option<UnixMillis> {
    let longest = UnixMillis(touched.0.saturating_add(millis(most)));
    let words: Vec<&str> = text.split_whitespace().collect();
    if let ["gua", "1", start, until] = words.as_slice()
        && let (Ok(start), Ok(until)) = (start.parse::<u64>(), until.parse())
    {
        return (start == of.start_ticks).then(|| UnixMillis(until).min(longest));
    }
    // Whatever else its owner has written: they have touched it.
    let is_later = |started: UnixMillis| touched.0.saturating_add(1000) >= started.0;
    of.started.is_none_or(is_later).then_some(longest)
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
        let snoozes = Snoozes::make(&dir.path().join("snoozes")).unwrap();
        (dir, snoozes)
    }

    fn until_of(snoozes: &Snoozes, sleeper: Sleeper) -> Option<UnixMillis> {
        snoozes.until(sleeper, HOUR, now()).known().unwrap()
    }

    #[test]
    fn what_is_written_counts_until_its_time_and_no_longer_than_allowed() {
        let (_dir, snoozes) = folder();
        let until = UnixMillis(now().0 + 60_000);
        snoozes.write(sleeper(), until).unwrap();
        assert_eq!(until_of(&snoozes, sleeper()), Some(until));
        assert_eq!(snoozes.until(sleeper(), HOUR, until), Reading::Known(None));
        snoozes.write(sleeper(), UnixMillis(i64::MAX)).unwrap();
        let most = until_of(&snoozes, sleeper()).unwrap();
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
        assert_eq!(until_of(&snoozes, sleeper()), Some(until));
    }

    #[test]
    fn a_file_that_was_touched_counts_whatever_is_in_it() {
        let (dir, snoozes) = folder();
        for text in ["", "gua 2 5 9", "4h", "gua 1 5", "gua 1 5 soon"] {
            fs::write(dir.path().join("snoozes/7"), text).unwrap();
            assert!(until_of(&snoozes, sleeper()).is_some(), "{text}");
            // The process came later: it was another's.
            let later = Sleeper { started: Some(UnixMillis(now().0 + 10_000)), ..sleeper() };
            assert_eq!(until_of(&snoozes, later), None, "{text}");
        }
    }

    /// Trap: one that only its owner may read was taken for none.
    #[test]
    fn a_file_whose_text_cannot_be_read_counts() {
        let (dir, snoozes) = folder();
        fs::write(dir.path().join("snoozes/7"), [0xff]).unwrap();
        assert!(until_of(&snoozes, sleeper()).is_some());
    }

    #[test]
    fn only_the_owner_and_root_are_believed_and_only_of_this_process() {
        let (dir, snoozes) = folder();
        snoozes.write(sleeper(), UnixMillis(now().0 + 60_000)).unwrap();
        let another = Sleeper { start_ticks: 6, ..sleeper() };
        assert_eq!(until_of(&snoozes, another), None);
        if geteuid().is_root() {
            fs::write(dir.path().join("snoozes/7"), "").unwrap();
            std::os::unix::fs::chown(dir.path().join("snoozes/7"), Some(4242), None).unwrap();
            assert_eq!(until_of(&snoozes, sleeper()), None);
        }
    }

    /// Trap: somebody takes the names of all pids before.
    #[test]
    fn a_name_that_is_taken_leaves_another() {
        let (dir, snoozes) = folder();
        let until = UnixMillis(now().0 + 60_000);
        let text = format!("gua 1 5 {}\n", until.0);
        fs::create_dir(dir.path().join("snoozes/7")).unwrap();
        fs::write(dir.path().join(format!("snoozes/{}.7", sleeper().owner)), text).unwrap();
        assert_eq!(until_of(&snoozes, sleeper()), Some(until));
    }

    /// Trap: who owns a folder may take away whatever others leave in it.
    #[test]
    fn only_a_folder_of_root_and_of_the_recorder_is_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, _snoozes) = folder();
        let (path, us) = (dir.path().join("snoozes"), geteuid().as_raw());
        let look = |keeper| Snoozes::look(&path, keeper);
        assert!(look(us).unwrap().is_some());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o775)).unwrap();
        assert!(matches!(look(us), Err(SnoozeError::Group(_))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
        if geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(4242), None).unwrap();
        }
        assert!(matches!(look(41_000), Err(SnoozeError::Owner(..))));
        assert!(Snoozes::look(&dir.path().join("none"), us).unwrap().is_none());
    }
}
