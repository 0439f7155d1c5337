//! The file in which a recorder leaves its number, its start and its database.
//!
//! A number alone says little: it is given to another process one day. With its start a
//! process is known for good.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::process::{Process, start_ticks};

/// What a pid file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PidFile {
    pub pid: u32,
    /// In clock ticks since boot; the Python gua does not write it.
    pub start_ticks: Option<u64>,
    pub database: Option<PathBuf>,
}

/// What is at the place of a pid file.
#[derive(Debug)]
pub enum Found {
    None,
    Unreadable(io::Error),
    /// Nothing is in it: whoever made it was killed, or the disk was full.
    Empty,
    /// It is something else than a pid file, maybe somebody's work.
    Garbled,
    Process(PidFile, Process),
}

/// Looks at a pid file and at the process that it names.
#[must_use]
pub fn find(path: &Path) -> Found {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Found::None,
        Err(error) => Found::Unreadable(error),
        Ok(bytes) if bytes.is_empty() => Found::Empty,
        Ok(bytes) => match parse(&bytes) {
            None => Found::Garbled,
            Some(file) => {
                let process = process(&file);
                Found::Process(file, process)
            }
        },
    }
}

/// A process that started at another time is another.
fn process(file: &PidFile) -> Process {
    match (file.start_ticks, start_ticks(file.pid)) {
        (Some(written), Some(now)) if written != now => Process::Other,
        _ => Process::of(file.pid),
    }
}

/// Only a file is read: a pipe would wait for a writer.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    fs::read(path)
}

/// `PID START` on the first line, the path of the database on the second.
fn parse(bytes: &[u8]) -> Option<PidFile> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first = String::from_utf8_lossy(lines.next()?).into_owned();
    let mut words = first.split_whitespace();
    let pid: u32 = words.next()?.parse().ok()?;
    let database = lines.next().filter(|line| !line.is_empty());
    let file = PidFile {
        pid,
        start_ticks: words.next().and_then(|word| word.parse().ok()),
        database: database.map(|path| std::ffi::OsString::from_vec(path.to_vec()).into()),
    };
    Some(file).filter(|file| file.pid > 0 && i32::try_from(file.pid).is_ok())
}

fn write(file: &PidFile, mut out: impl Write) -> io::Result<()> {
    write!(out, "{}", file.pid)?;
    // A start that is not known is not written: no process has begun at 0.
    if let Some(start) = file.start_ticks {
        write!(out, " {start}")?;
    }
    if let Some(database) = &file.database {
        out.write_all(b"\n")?;
        out.write_all(database.as_os_str().as_bytes())?;
    }
    out.write_all(b"\n")
}

/// Our own pid file, for as long as we run. Locked, so that of two that start at the same
/// time only one has it.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    file: File,
}

impl Held {
    /// Writes it, over one that nobody holds any more.
    ///
    /// # Errors
    /// When another holds it ([`io::ErrorKind::WouldBlock`]), it is another kind of file
    /// ([`io::ErrorKind::InvalidData`]), or it cannot be written.
    pub fn take(path: &Path, database: &Path) -> io::Result<Self> {
        let file = lock(path)?;
        if matches!(find(path), Found::Garbled) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a pid file"));
        }
        file.set_len(0)?;
        let pid = std::process::id();
        let ours =
            PidFile { pid, start_ticks: start_ticks(pid), database: Some(database.to_owned()) };
        write(&ours, &file)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Takes it away. Somebody may have put another file in its place.
    pub fn remove(&self) {
        if is_at(&self.file, &self.path) {
            // Left behind it is stale, which the next start clears.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Whoever held it may take it away between opening and locking; then it is another file
/// that has to be locked.
fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    loop {
        let file = options.open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let database = PathBuf::from("/home/ann/.gua/größe (1).db");
        for start_ticks in [Some(99), None] {
            let file = PidFile { pid: 4711, start_ticks, database: Some(database.clone()) };
            let mut bytes = Vec::new();
            write(&file, &mut bytes).unwrap();
            assert_eq!(parse(&bytes), Some(file));
        }
    }

    #[test]
    fn the_first_number_is_the_process() {
        let pid = |text: &str| parse(text.as_bytes()).map(|file| (file.pid, file.start_ticks));
        assert_eq!(pid("4711\n"), Some((4711, None)), "as the Python gua writes it");
        assert_eq!(pid(" 12 34\nmore"), Some((12, Some(34))));
        for text in ["", "\n5", "gua 5", "-5", "0", "4294967295", "99999999999"] {
            assert_eq!(pid(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_that_was_given_to_another_is_not_ours() {
        let pid = std::process::id();
        let file = |start_ticks| PidFile { pid, start_ticks, database: None };
        assert_eq!(process(&file(Some(1))), Process::Other);
        assert_eq!(process(&file(start_ticks(pid))), Process::Other, "a test is no recorder");
    }

    #[test]
    fn only_one_can_hold_it_and_it_goes_with_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.pid");
        fs::write(&path, "999999 1\n/a very long path that must not shine through\n").unwrap();
        let held = Held::take(&path, Path::new("/x.db")).unwrap();
        let taken = Held::take(&path, Path::new("/x.db")).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::WouldBlock);
        let Found::Process(file, _) = find(&path) else { panic!("not found") };
        assert_eq!(file.pid, std::process::id());
        assert_eq!(file.database, Some(PathBuf::from("/x.db")));
        drop(held);
        assert!(!path.exists());
    }
}
