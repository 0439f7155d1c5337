//! The folder of the reservations, shared by users who need not trust each other.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use probe::units::UnixMillis;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, ftruncate,
    openat, statat, unlinkat,
};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::geteuid;

use super::slip::{Kind, LONGEST_TEXT, Slip};
use super::{ReservationError, Reserved, Taken, Term, card_key};
use crate::shared_folder::{self, SharedFolderError};

/// How long to wait for others who choose: each takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for who only looks.
const PATIENCE_OF_A_LOOK: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Where reservations are.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    folder: OwnedFd,
}

/// The same while nobody else chooses.
#[derive(Debug)]
pub struct Locked<'a>(&'a Folder);

impl Folder {
    /// Opens it, and makes it where there is none.
    ///
    /// # Errors
    /// When it cannot be made, or others could take away what is in it.
    pub fn open(path: &Path) -> Result<Self, ReservationError> {
        let folder = shared_folder::open_or_make(path).map_err(|error| refused(path, error))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Opens it where there is one.
    ///
    /// # Errors
    /// When it cannot be opened, or others could take away what is in it.
    pub fn find(path: &Path) -> Result<Option<Self>, ReservationError> {
        let folder = shared_folder::open(path).map_err(|error| refused(path, error))?;
        Ok(folder.map(|folder| Self { path: path.to_owned(), folder }))
    }

    /// Keeps others from choosing, until it is dropped.
    ///
    /// # Errors
    /// When somebody else does not let go.
    pub fn lock(&self) -> Result<Locked<'_>, ReservationError> {
        self.locked(FlockOperation::NonBlockingLockExclusive, PATIENCE)
    }

    /// All that hold now, for who only looks: nothing is removed, and nobody is waited for
    /// for long.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn standing(&self, now: UnixMillis) -> Result<Vec<Reserved>, ReservationError> {
        let locked = self.locked(FlockOperation::NonBlockingLockShared, PATIENCE_OF_A_LOOK)?;
        let found = locked.found(now)?.into_iter();
        Ok(found.filter_map(|(_, found)| found.standing()).collect())
    }

    fn locked(
        &self,
        operation: FlockOperation,
        patience: Duration,
    ) -> Result<Locked<'_>, ReservationError> {
        let begun = Instant::now();
        loop {
            match flock(&self.folder, operation) {
                Ok(()) => return Ok(Locked(self)),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() < patience => {
                    thread::sleep(LOOK_AGAIN);
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    return Err(ReservationError::Locked(self.path.clone()));
                }
                Err(error) => return Err(failed(&self.path, "locked", error)),
            }
        }
    }

    /// Gives back what was taken for a command that did not come to run.
    pub fn give_back(&self, taken: &Taken) {
        // What cannot be removed ends with this process.
        let _ = unlinkat(&self.folder, &taken.name, AtFlags::empty());
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = flock(&self.0.folder, FlockOperation::Unlock);
    }
}

impl Locked<'_> {
    /// All that hold now. What does not any more is removed, where we may.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn standing(&self, now: UnixMillis) -> Result<Vec<Reserved>, ReservationError> {
        let mut standing = Vec::new();
        for (name, found) in self.found(now)? {
            match found {
                Found::Standing(reserved) => standing.push(reserved),
                Found::Over => drop(unlinkat(&self.0.folder, &name, AtFlags::empty())),
                Found::NotOurs => {}
            }
        }
        Ok(standing)
    }

    /// What each file of the folder is, by its name.
    fn found(&self, now: UnixMillis) -> Result<Vec<(String, Found)>, ReservationError> {
        let Folder { path, folder } = self.0;
        let mut found = Vec::new();
        for entry in Dir::read_from(folder).map_err(|error| failed(path, "read", error))? {
            let entry = entry.map_err(|error| failed(path, "read", error))?;
            if let Ok(name) = entry.file_name().to_str() {
                found.push((name.to_owned(), self.read(name, now)));
            }
        }
        Ok(found)
    }

    fn read(&self, name: &str, now: UnixMillis) -> Found {
        let Some((card, uid)) = parse_name(name) else { return Found::NotOurs };
        let standing =
            |term| Found::Standing(Reserved { card: card.to_owned(), uid, user: None, term });
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.0.folder, name, flags, Mode::empty()) {
            Ok(file) if is_theirs(fstat(&file), uid) => file,
            // Their own, and kept from us: it is not to be taken for none.
            Err(error) if error != Errno::NOENT && is_theirs(self.unopened(name), uid) => {
                return standing(Term::Untold);
            }
            _ => return Found::NotOurs,
        };
        let is_locked =
            flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
        let Ok(slip) = slip(file) else { return standing(Term::Untold) };
        match slip.filter(|slip| is_locked || slip.holds(now)) {
            Some(Slip { kind: Kind::Until(until), .. }) => standing(Term::Until(until)),
            Some(Slip { kind: Kind::Command { .. }, pid, .. }) => standing(Term::Command { pid }),
            None => Found::Over,
        }
    }

    fn unopened(&self, name: &str) -> Result<Stat, Errno> {
        statat(&self.0.folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Writes down that a card is given to this user.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn take(&self, uuid: &str, slip: Slip) -> Result<Taken, ReservationError> {
        let name = format!("{}.{}", card_key(uuid), geteuid().as_raw());
        let failed = |error| ReservationError::File(self.0.path.join(&name), error);
        let file = self.write(&name, slip).map_err(failed)?;
        Ok(Taken { file, name })
    }

    fn write(&self, name: &str, slip: Slip) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.0.folder, name, flags, Mode::from_raw_mode(0o644))?;
        if fstat(&file)?.st_uid != geteuid().as_raw() {
            return Err(io::Error::other("it is a file of another user"));
        }
        // Others must be able to read it, whatever this user gives to others usually.
        fchmod(&file, Mode::from_raw_mode(0o644))?;
        ftruncate(&file, 0)?;
        let mut file = File::from(file);
        file.write_all(slip.text().as_bytes())?;
        if matches!(slip.kind, Kind::Command { .. }) {
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        }
        Ok(file.into())
    }
}

impl Taken {
    /// Lets the command that this process becomes inherit it.
    ///
    /// # Errors
    /// When the host refuses.
    pub fn keep_open(&self) -> io::Result<()> {
        Ok(fcntl_setfd(&self.file, FdFlags::empty())?)
    }
}

/// What a file of the folder is.
enum Found {
    Standing(Reserved),
    Over,
    /// Not to be touched.
    NotOurs,
}

impl Found {
    fn standing(self) -> Option<Reserved> {
        match self {
            Self::Standing(reserved) => Some(reserved),
            Self::Over | Self::NotOurs => None,
        }
    }
}

/// Only its owner may speak for a user, and only in an ordinary file.
fn is_theirs(stat: Result<Stat, Errno>, uid: u32) -> bool {
    stat.is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_uid == uid
    })
}

fn refused(path: &Path, error: SharedFolderError) -> ReservationError {
    let path = path.to_owned();
    match error {
        SharedFolderError::Io { doing, error } => {
            let error = io::Error::new(error.kind(), format!("cannot be {doing}: {error}"));
            ReservationError::Folder(path, error)
        }
        error => ReservationError::NotOurs(path, error.to_string()),
    }
}

fn failed(path: &Path, doing: &str, error: Errno) -> ReservationError {
    let error = io::Error::from(error);
    let error = io::Error::new(error.kind(), format!("cannot be {doing}: {error}"));
    ReservationError::Folder(path.to_owned(), error)
}

/// The card and the user.
fn parse_name(name: &str) -> Option<(&str, u32)> {
    let (card, uid) = name.rsplit_once('.')?;
    Some((card, uid.parse().ok().filter(|_| !card.is_empty())?))
}

/// What stands in a file; `None` where it makes no sense.
fn slip(file: OwnedFd) -> io::Result<Option<Slip>> {
    let mut text = Vec::new();
    File::from(file).take(LONGEST_TEXT as u64).read_to_end(&mut text)?;
    Ok(Slip::parse(&String::from_utf8_lossy(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const NOW: UnixMillis = UnixMillis(1_000_000);

    fn until(millis: i64) -> Slip {
        Slip { made: NOW, pid: 7, kind: Kind::Until(UnixMillis(NOW.0 + millis)) }
    }

    fn folder() -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(&dir.path().join("reservations")).unwrap();
        (dir, folder)
    }

    #[test]
    fn the_folder_is_everybodys() {
        let (_dir, folder) = folder();
        let mode = fs::metadata(&folder.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o1777);
        Folder::open(&folder.path).unwrap();
    }

    #[test]
    fn what_is_taken_stands_until_its_time_is_over() {
        let (_dir, folder) = folder();
        let locked = folder.lock().unwrap();
        locked.take("GPU-1", until(30_000)).unwrap();
        let standing = locked.standing(NOW).unwrap();
        assert_eq!(standing.len(), 1);
        let until = Term::Until(UnixMillis(NOW.0 + 30_000));
        assert_eq!((standing[0].card.as_str(), standing[0].term), ("GPU-1", until));
        assert_eq!(locked.standing(UnixMillis(NOW.0 + 30_000)).unwrap(), []);
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn who_only_looks_removes_nothing() {
        let (_dir, folder) = folder();
        folder.lock().unwrap().take("GPU-1", until(30_000)).unwrap();
        assert_eq!(folder.standing(NOW).unwrap().len(), 1);
        assert_eq!(folder.standing(UnixMillis(NOW.0 + 30_000)).unwrap(), []);
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1);
        let nowhere = folder.path.join("nowhere");
        assert!(Folder::find(&nowhere).unwrap().is_none() && !nowhere.exists());
    }

    #[test]
    fn a_lock_stands_whatever_the_clock_says() {
        let (_dir, folder) = folder();
        let locked = folder.lock().unwrap();
        let taken = locked.take("GPU-1", Slip::of_command(NOW).unwrap()).unwrap();
        assert_eq!(locked.standing(UnixMillis(i64::MAX)).unwrap().len(), 1);
        folder.give_back(&taken);
        assert_eq!(locked.standing(NOW).unwrap(), []);
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("reservations");
        symlink(dir.path(), &link).unwrap();
        let refused = Folder::open(&link).unwrap_err().to_string();
        assert!(refused.ends_with("something else is in its place"), "{refused}");
        let (_dir, folder) = folder();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let uid = geteuid().as_raw();
        symlink(&victim, folder.path.join(format!("GPU-1.{uid}"))).unwrap();
        let locked = folder.lock().unwrap();
        assert!(locked.take("GPU-1", until(30_000)).is_err());
        assert_eq!(locked.standing(NOW).unwrap(), []);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn a_folder_that_anybody_may_empty_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(Folder::open(dir.path()), Err(ReservationError::NotOurs(..))));
    }

    #[test]
    fn files_that_are_something_else_are_left_alone() {
        let (_dir, folder) = folder();
        let uid = geteuid().as_raw();
        // A file that speaks for another user than its owner, a folder, and other names.
        for name in [format!("GPU-1.{}", uid + 1), "README".to_owned(), ".5".to_owned()] {
            fs::write(folder.path.join(name), until(30_000).text()).unwrap();
        }
        fs::create_dir(folder.path.join(format!("GPU-2.{uid}"))).unwrap();
        assert_eq!(folder.lock().unwrap().standing(NOW).unwrap(), []);
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 4);
    }

    #[test]
    fn garbage_is_no_reservation() {
        let (_dir, folder) = folder();
        let file = folder.path.join(format!("GPU-1.{}", geteuid().as_raw()));
        for text in [&b""[..], b"\xff\xfe", b"gua 2 1 2 until 3", &[b'9'; 5000]] {
            fs::write(&file, text).unwrap();
            assert_eq!(folder.lock().unwrap().standing(NOW).unwrap(), []);
        }
    }
}
