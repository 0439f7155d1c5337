//! The file that names the recorder's process and its database.
//!
//! A pid alone says little: another process gets it one day. With its start time a process is known for
//! good.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use probe::proc::{cmdline, stat};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, test_kill_process};

use crate::error::RecorderError;
use crate::places::{Places, make_folder};

/// Contents of a pid file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PidFile {
    pub pid: u32,
    /// In clock ticks since boot. The Python gua does not write it.
    pub start_ticks: Option<u64>,
    pub database: Option<PathBuf>,
}

/// What is at the path of a pid file.
#[derive(Debug)]
pub enum FoundPidFile {
    Missing,
    Unreadable(io::Error),
    /// Whoever created it was killed, or the disk was full.
    Empty,
    /// Another kind of file.
    Garbled,
    Names(PidFile, NamedProcess),
}

/// The process that a pid file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedProcess {
    Recorder,
    /// Another program has the pid now.
    Other,
    Gone,
    /// It exists and may not be read.
    Hidden,
}

impl PidFile {
    /// Reads a pid file, and looks at the process that it names.
    #[must_use]
    pub fn find(path: &Path) -> FoundPidFile {
        match read_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => FoundPidFile::Missing,
            Err(error) => FoundPidFile::Unreadable(error),
            Ok(bytes) if bytes.is_empty() => FoundPidFile::Empty,
            Ok(bytes) => Self::parse(&bytes).map_or(FoundPidFile::Garbled, |file| {
                let process = file.process();
                FoundPidFile::Names(file, process)
            }),
        }
    }

    /// Returns what the process is now.
    #[must_use]
    pub fn process(&self) -> NamedProcess {
        match (self.start_ticks, start_ticks(self.pid)) {
            (Some(written), Some(now)) if written != now => NamedProcess::Other,
            _ => NamedProcess::from_pid(self.pid),
        }
    }

    /// Parses `PID START` on the first line and the path of the database on the second.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let first = String::from_utf8_lossy(lines.next()?).into_owned();
        let mut words = first.split_whitespace();
        let pid: u32 = words.next()?.parse().ok()?;
        let start_ticks = words.next().and_then(|word| word.parse().ok());
        let database = lines.next().filter(|line| !line.is_empty());
        let database = database.map(|path| OsString::from_vec(path.to_vec()).into());
        to_pid(pid)?;
        Some(Self { pid, start_ticks, database })
    }

    fn write(&self, mut out: impl Write) -> io::Result<()> {
        write!(out, "{}", self.pid)?;
        if let Some(start) = self.start_ticks {
            write!(out, " {start}")?;
        }
        if let Some(database) = &self.database {
            out.write_all(b"\n")?;
            out.write_all(database.as_os_str().as_bytes())?;
        }
        out.write_all(b"\n")
    }
}

/// Returns the pid of the recorder that runs with these places.
pub fn running_recorder(places: &Places) -> Result<Option<u32>, RecorderError> {
    let unusable =
        |reason: String| RecorderError::PidFile { path: places.pid_file.clone(), reason };
    let (file, process) = match PidFile::find(&places.pid_file) {
        FoundPidFile::Missing | FoundPidFile::Empty => return Ok(None),
        FoundPidFile::Names(file, process) => (file, process),
        FoundPidFile::Garbled => return Err(unusable("it is not a pid file".to_owned())),
        FoundPidFile::Unreadable(error) => return Err(unusable(error.to_string())),
    };
    let pid = file.pid;
    match (process, file.database) {
        (NamedProcess::Gone | NamedProcess::Other, _) => Ok(None),
        (NamedProcess::Hidden, _) => {
            Err(unusable(format!("process {pid} of another user may be a recorder")))
        }
        (NamedProcess::Recorder, _) if file.start_ticks.is_none() => Err(unusable(format!(
            "process {pid} is a recorder of another gua, maybe the Python one"
        ))),
        (NamedProcess::Recorder, Some(database)) if !is_same_path(&database, &places.database) => {
            Err(RecorderError::OtherDatabase { pid, database })
        }
        (NamedProcess::Recorder, _) => Ok(Some(pid)),
    }
}

/// Returns true if both lead to the same file, also through a link.
#[must_use]
pub fn is_same_path(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

/// The pid file of this process. Of two recorders that start at the same time only one gets its lock.
#[derive(Debug)]
pub struct PidFileLock {
    path: PathBuf,
    file: File,
}

impl PidFileLock {
    /// Creates the pid file, or overwrites one that nobody has locked.
    pub fn take(places: &Places) -> Result<Self, RecorderError> {
        let path = &places.pid_file;
        let unusable = |reason: String| RecorderError::PidFile { path: path.clone(), reason };
        let take = || -> io::Result<Self> {
            make_folder(path)?;
            let file = lock(path)?;
            if matches!(PidFile::find(path), FoundPidFile::Garbled) {
                return Err(io::Error::other("it is not a pid file"));
            }
            file.set_len(0)?;
            let pid = std::process::id();
            let database = Some(places.database.clone());
            PidFile { pid, start_ticks: start_ticks(pid), database }.write(&file)?;
            Ok(Self { path: path.clone(), file })
        };
        take().map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => unusable("another recorder has locked it".to_owned()),
            _ => unusable(error.to_string()),
        })
    }

    /// Deletes the file, unless another one is in its place.
    pub fn remove(&self) {
        if is_at(&self.file, &self.path) {
            // One that is left behind is overwritten by the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for PidFileLock {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Opens and locks a file. Another recorder may delete it in between: then it is another file.
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
        (Ok(open), Ok(found)) => (open.dev(), open.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}

/// Reads a file. Reading a pipe would block until somebody writes to it.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    fs::read(path)
}

impl NamedProcess {
    #[must_use]
    pub fn from_pid(pid: u32) -> Self {
        match fs::read(format!("/proc/{pid}/cmdline")) {
            // It has ended, and its parent has not noticed yet.
            Ok(bytes) if bytes.is_empty() => Self::Gone,
            Ok(bytes) if is_recorder(&cmdline::parse(&bytes)) => Self::Recorder,
            Ok(_) => Self::Other,
            Err(_) if is_alive(pid) => Self::Hidden,
            Err(_) => Self::Gone,
        }
    }
}

/// Returns the start of a process in clock ticks since boot; `None` if it is gone or hidden.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    stat::parse(&bytes).map(|stat| stat.start_ticks)
}

pub(crate) fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Returns true for a process that exists, also if it may not be signalled.
fn is_alive(pid: u32) -> bool {
    let answer = to_pid(pid).map(test_kill_process);
    matches!(answer, Some(Ok(()) | Err(rustix::io::Errno::PERM)))
}

/// Returns true for the arguments of a recorder, also of the Python gua: `gua daemon`, `gua start`,
/// maybe behind an interpreter.
#[must_use]
pub fn is_recorder(arguments: &[String]) -> bool {
    let is_gua = |argument: &String| {
        let name = argument.rsplit('/').next().unwrap_or(argument);
        // A download has its version and platform in its name.
        name.strip_prefix("gua")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
            || name.replace('_', "-") == "gpu-usage-audit"
    };
    let Some(program) = arguments.iter().position(is_gua) else { return false };
    arguments.iter().skip(program + 1).any(|argument| matches!(&**argument, "daemon" | "start"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pid_file_is_read_as_it_was_written() {
        let database = PathBuf::from("/home/ann/.gua/größe (1).db");
        for start_ticks in [Some(99), None] {
            let file = PidFile { pid: 4711, start_ticks, database: Some(database.clone()) };
            let mut bytes = Vec::new();
            file.write(&mut bytes).unwrap();
            assert_eq!(PidFile::parse(&bytes), Some(file));
        }
    }

    #[test]
    fn first_number_is_the_pid() {
        let pid =
            |text: &str| PidFile::parse(text.as_bytes()).map(|file| (file.pid, file.start_ticks));
        assert_eq!(pid("4711\n"), Some((4711, None)), "of the Python gua");
        assert_eq!(pid(" 12 34\nmore"), Some((12, Some(34))));
        for text in ["", "\n5", "gua 5", "-5", "0", "4294967295", "99999999999"] {
            assert_eq!(pid(text), None, "{text}");
        }
    }

    #[test]
    fn pid_of_another_process_is_no_recorder() {
        let pid = std::process::id();
        let file = |start_ticks| PidFile { pid, start_ticks, database: None };
        assert_eq!(file(Some(1)).process(), NamedProcess::Other);
        assert_eq!(file(start_ticks(pid)).process(), NamedProcess::Other, "a test");
        assert_eq!(NamedProcess::from_pid(i32::MAX.cast_unsigned()), NamedProcess::Gone);
        assert_eq!(start_ticks(i32::MAX.cast_unsigned()), None);
    }

    /// Trap: two recorders; the pid file only names.
    #[test]
    fn only_one_gets_the_pid_file() {
        let dir = tempfile::tempdir().unwrap();
        let pid_file = dir.path().join("run/gua.pid");
        let places = Places {
            database: "/x.db".into(),
            is_default: true,
            pid_file: pid_file.clone(),
            log_file: dir.path().join("gua.log"),
        };
        let lock = PidFileLock::take(&places).unwrap();
        let error = PidFileLock::take(&places).unwrap_err().to_string();
        assert!(error.contains("another recorder has locked it"), "{error}");
        let FoundPidFile::Names(file, _) = PidFile::find(&pid_file) else { panic!("not found") };
        assert_eq!(file.pid, std::process::id());
        assert_eq!(file.database, Some(PathBuf::from("/x.db")));
        assert_eq!(running_recorder(&places).unwrap(), None, "a test is no recorder");
        drop(lock);
        assert!(!pid_file.exists());
        fs::write(&pid_file, "999999 1\n/a longer path that is overwritten\n").unwrap();
        drop(PidFileLock::take(&places).unwrap());
        fs::write(&pid_file, "my notes").unwrap();
        assert!(PidFileLock::take(&places).is_err());
        assert_eq!(fs::read_to_string(&pid_file).unwrap(), "my notes");
    }

    #[test]
    fn recorder_is_known_by_its_arguments() {
        let is = |line: &str| is_recorder(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is("gua daemon"));
        assert!(is("/opt/bin/gua --nvml /x.so daemon --interval 30s"));
        assert!(is("/usr/bin/python3 /home/a/.local/bin/gua start"));
        assert!(is("python3 -m gpu_usage_audit daemon"));
        assert!(is("./gua-0.1.0-x86_64-linux daemon"));
        assert!(!is("gua stat"));
        assert!(!is("guard daemon"));
        assert!(!is("vim /home/gua/daemon"));
        assert!(!is("daemon gua"));
        assert!(!is(""));
    }
}
