//! One process that is followed.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::proc::rollup::{self, Rollup};
use crate::proc::stat::{self, Stat};
use crate::proc::status::{self, Status};

/// Held by its folder in `/proc`, in which the kernel never shows another process, also when
/// its pid is given out again.
#[derive(Debug)]
pub struct Process {
    pub pid: u32,
    folder: OwnedFd,
}

/// Why a file of a process was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The process is no more.
    Gone,
    /// It may not be read, or it makes no sense.
    Hidden,
    /// This process holds as many files as it may.
    NoRoom,
}

/// Files are read in one go into a place that is kept; a stat line and a status fit in easily.
pub type Buffer = Vec<u8>;

impl Process {
    /// # Errors
    /// When there is none, or its folder may not be opened.
    pub fn open(pid: u32) -> Result<Self, Unread> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, format!("/proc/{pid}"), flags, Mode::empty())?;
        Ok(Self { pid, folder })
    }

    /// # Errors
    /// See [`Unread`], here and for the other files.
    pub fn status(&self, buffer: &mut Buffer) -> Result<Status, Unread> {
        let status = self.status_in("status", buffer)?;
        if !status.has_ended || status.threads < 2 {
            return Ok(status);
        }
        // Only its first thread has ended; what they share is told by the others.
        let Some(thread) = self.other_thread() else { return Ok(status) };
        self.status_in(&format!("task/{thread}/status"), buffer).or(Ok(status))
    }

    fn status_in(&self, name: &str, buffer: &mut Buffer) -> Result<Status, Unread> {
        self.read(name, buffer)?;
        // A name may hold any bytes; it is not looked at.
        status::parse(&String::from_utf8_lossy(buffer)).ok_or(Unread::Hidden)
    }

    /// A thread that is not the first.
    fn other_thread(&self) -> Option<u32> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(&self.folder, "task", flags, Mode::empty()).ok()?;
        let mut threads = Dir::read_from(folder).ok()?;
        threads.find_map(|entry| {
            let thread: u32 = entry.ok()?.file_name().to_str().ok()?.parse().ok()?;
            (thread != self.pid).then_some(thread)
        })
    }

    pub fn stat(&self, buffer: &mut Buffer) -> Result<Stat, Unread> {
        self.read("stat", buffer)?;
        stat::parse(buffer).ok_or(Unread::Hidden)
    }

    /// The dear one: the kernel walks through all pages of the process for it.
    pub fn rollup(&self, buffer: &mut Buffer) -> Result<Rollup, Unread> {
        self.read("smaps_rollup", buffer)?;
        if let Some(rollup) = rollup::parse(&String::from_utf8_lossy(buffer)) {
            return Ok(rollup);
        }
        // A first thread that has ended has no map any more.
        let thread = self.other_thread().ok_or(Unread::Hidden)?;
        self.read(&format!("task/{thread}/smaps_rollup"), buffer)?;
        rollup::parse(&String::from_utf8_lossy(buffer)).ok_or(Unread::Hidden)
    }

    /// Whether it has not ended, or nobody has waited for it yet.
    #[must_use]
    pub fn is_there(&self) -> bool {
        statat(&self.folder, "stat", AtFlags::empty()).is_ok()
    }

    /// A whole file as text.
    pub fn text(&self, name: &str) -> Result<String, Unread> {
        let mut buffer = Buffer::new();
        self.read(name, &mut buffer)?;
        Ok(String::from_utf8_lossy(&buffer).into_owned())
    }

    fn read(&self, name: &str, buffer: &mut Buffer) -> Result<(), Unread> {
        const ROOM: usize = 4096;
        let file = openat(&self.folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        buffer.clear();
        loop {
            buffer.reserve(ROOM);
            let room = buffer.capacity() - buffer.len();
            // Each of these files is one record, which the kernel gives out whole.
            if rustix::io::read(&file, rustix::buffer::spare_capacity(buffer))? < room {
                return Ok(());
            }
        }
    }
}

/// The process that this is a thread of, unless it is its first.
#[must_use]
pub fn of_thread(pid: u32) -> Option<u32> {
    let status = Process::open(pid).ok()?.status(&mut Buffer::new()).ok()?;
    (status.process != pid).then_some(status.process)
}

/// The parent of a process, with one file opened and nothing held.
#[must_use]
pub fn parent(pid: u32) -> Option<u32> {
    let mut bytes = [0; 512];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, format!("/proc/{pid}/stat"), flags, Mode::empty()).ok()?;
    let length = rustix::io::read(file, &mut bytes).ok()?;
    stat::parse(bytes.get(..length)?).map(|stat| stat.parent)
}

impl From<Errno> for Unread {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::SRCH => Self::Gone,
            Errno::MFILE | Errno::NFILE => Self::NoRoom,
            _ => Self::Hidden,
        }
    }
}
