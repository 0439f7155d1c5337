//! The folder of the reservations, shared by users who need not trust each other.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use probe::units::UnixMillis;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, fchmod, flock, fstat, ftruncate, openat,
    unlinkat,
};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::geteuid;

use super::slip::{Kind, LONGEST_TEXT, Slip};
use super::{ReservationError, Reserved, Taken, card_key};
use crate::shared_folder;

/// How long to wait for others who choose: each takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
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
    /// Opens it, and makes it where there is none. A link in its place is not followed.
    ///
    /// # Errors
    /// When it cannot be made, or others could take away what is in it.
    pub fn open(path: &Path) -> Result<Self, ReservationError> {
        let folder = shared_folder::open_or_make(path)
            .map_err(|error| ReservationError::Folder(path.to_owned(), error))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Keeps others from choosing, until it is dropped.
    ///
    /// # Errors
    /// When somebody else does not let go.
    pub fn lock(&self) -> Result<Locked<'_>, ReservationError> {
        let begun = Instant::now();
        loop {
            match flock(&self.folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Locked(self)),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() < PATIENCE => {
                    thread::sleep(LOOK_AGAIN);
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    return Err(ReservationError::Locked(self.path.clone()));
                }
                Err(error) => {
                    return Err(ReservationError::Read(self.path.clone(), error.into()));
                }
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
        let Folder { path, folder } = self.0;
        let failed = |error: Errno| ReservationError::Read(path.clone(), error.into());
        let mut standing = Vec::new();
        for entry in Dir::read_from(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            match self.read(name, now) {
                Found::Standing(reserved) => standing.push(reserved),
                Found::Over => drop(unlinkat(folder, name, AtFlags::empty())),
                Found::NotOurs => {}
            }
        }
        Ok(standing)
    }

    fn read(&self, name: &str, now: UnixMillis) -> Found {
        let Some((card, uid)) = parse_name(name) else { return Found::NotOurs };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(&self.0.folder, name, flags, Mode::empty()) else {
            return Found::NotOurs;
        };
        // Only its owner may speak for a user.
        let is_believed = fstat(&file).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_uid == uid
        });
        if !is_believed {
            return Found::NotOurs;
        }
        let is_locked =
            flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
        let Some(slip) = slip(file) else { return Found::Over };
        if !is_locked && !slip.holds(now) {
            return Found::Over;
        }
        let until = match slip.kind {
            Kind::Until(until) => Some(until),
            Kind::Command { .. } => None,
        };
        Found::Standing(Reserved { card: card.to_owned(), uid, pid: slip.pid, until })
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

/// The card and the user.
fn parse_name(name: &str) -> Option<(&str, u32)> {
    let (card, uid) = name.rsplit_once('.')?;
    Some((card, uid.parse().ok().filter(|_| !card.is_empty())?))
}

fn slip(file: OwnedFd) -> Option<Slip> {
    let mut text = String::new();
    File::from(file).take(LONGEST_TEXT as u64).read_to_string(&mut text).ok()?;
    Slip::parse(&text)
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
        assert_eq!((standing[0].card.as_str(), standing[0].pid), ("GPU-1", 7));
        assert_eq!(locked.standing(UnixMillis(NOW.0 + 30_000)).unwrap(), []);
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn a_lock_stands_whatever_the_clock_says() {
        let (_dir, folder) = folder();
        let locked = folder.lock().unwrap();
        let taken = locked.take("GPU-1", Slip::of_command(NOW)).unwrap();
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
        assert!(matches!(Folder::open(dir.path()), Err(ReservationError::Folder(..))));
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
