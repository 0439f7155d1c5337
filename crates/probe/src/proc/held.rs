//! Processes that were read before. Each is held by a handle, so that another process with its pid is
//! not taken for it.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::event::{Timespec, epoll};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::process::ProcessFacts;

/// Facts of processes that may still exist.
#[derive(Debug)]
pub(super) struct Held {
    root: PathBuf,
    known: HashMap<u32, Known>,
    /// Epoll instance that reports the end of held processes; created with the first one.
    endings: Option<OwnedFd>,
}

/// Process that was read before.
#[derive(Debug)]
struct Known {
    facts: Arc<ProcessFacts>,
    hold: Hold,
}

/// Handle of a process.
#[derive(Debug)]
pub(super) enum Hold {
    /// Pidfd, if the pid is one of our own kernel's. All are polled at once, in
    /// [`Held::forget_the_ended`].
    Handle { _open: OwnedFd },
    /// Folder in `/proc`, in which the kernel never shows another process. Checked one by one.
    Folder(OwnedFd, Stamp),
}

/// Identity of a file: it changes when another file takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    seconds: i64,
    nanoseconds: u64,
}

impl Hold {
    fn is_still_there(&self) -> bool {
        match self {
            Self::Handle { .. } => true,
            Self::Folder(folder, stamp) => Stamp::of(folder) == Some(*stamp),
        }
    }
}

impl Stamp {
    fn of(folder: &OwnedFd) -> Option<Self> {
        let stat = rustix::fs::statat(folder, "stat", AtFlags::empty()).ok()?;
        Some(Self { inode: stat.st_ino, seconds: stat.st_mtime, nanoseconds: stat.st_mtime_nsec })
    }
}

impl Held {
    /// Returns an empty set for the host below this root.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, known: HashMap::new(), endings: None }
    }

    /// Returns the facts of a process that still exists, and forgets one that does not.
    pub(super) fn still_there(&mut self, pid: u32) -> Option<Arc<ProcessFacts>> {
        if let Some(known) = self.known.get(&pid).filter(|known| known.hold.is_still_there()) {
            return Some(Arc::clone(&known.facts));
        }
        self.known.remove(&pid);
        None
    }

    /// Opens a handle of a process. `None` if no more files can be opened: then it is read again each
    /// time.
    pub(super) fn hold(&mut self, pid: u32) -> Option<Hold> {
        // An old kernel has no handles.
        let handle = (self.root == Path::new("/")).then(|| self.handle(pid).ok()).flatten();
        if let Some(handle) = handle {
            return Some(Hold::Handle { _open: handle });
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = self.root.join(format!("proc/{pid}"));
        let folder = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        let stamp = Stamp::of(&folder)?;
        Some(Hold::Folder(folder, stamp))
    }

    /// Opens a pidfd whose end is reported while it is open.
    fn handle(&mut self, pid: u32) -> Result<OwnedFd, Errno> {
        let process = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        let handle = pidfd_open(process, PidfdFlags::empty())?;
        let endings = match &self.endings {
            Some(endings) => endings,
            None => self.endings.insert(epoll::create(epoll::CreateFlags::CLOEXEC)?),
        };
        let data = epoll::EventData::new_u64(pid.into());
        epoll::add(endings, &handle, data, epoll::EventFlags::IN)?;
        Ok(handle)
    }

    /// Keeps facts that were read while the process was held.
    pub(super) fn keep(&mut self, facts: &Arc<ProcessFacts>, hold: Hold) {
        self.known.insert(facts.pid, Known { facts: Arc::clone(facts), hold });
    }

    /// Forgets all processes that are not wanted.
    pub(super) fn keep_only(&mut self, is_wanted: impl Fn(u32) -> bool) {
        self.known.retain(|pid, _| is_wanted(*pid));
    }

    /// Forgets the processes that have ended, and returns their facts. If the kernel does not answer,
    /// forgets all and returns `None`.
    pub(super) fn forget_the_ended(&mut self) -> Option<Vec<Arc<ProcessFacts>>> {
        let Ok(ended) = self.ended() else {
            self.known.clear();
            return None;
        };
        let removed = ended.iter().filter_map(|pid| self.known.remove(pid));
        Some(removed.map(|known| known.facts).collect())
    }

    /// Returns true if [`Self::forget_the_ended`] will report the end of a process.
    pub(super) fn is_watched(&self, pid: u32) -> bool {
        matches!(self.known.get(&pid), Some(Known { hold: Hold::Handle { .. }, .. }))
    }

    /// Returns the pids of the processes that have ended, with one system call.
    fn ended(&self) -> Result<Vec<u32>, Errno> {
        let mut ended = Vec::with_capacity(self.known.len());
        let Some(endings) = self.endings.as_ref().filter(|_| ended.capacity() > 0) else {
            return Ok(Vec::new());
        };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(endings, rustix::buffer::spare_capacity(&mut ended), Some(&now))?;
        let pid = |event: &epoll::Event| u32::try_from(event.data.u64()).ok();
        Ok(ended.iter().filter_map(pid).collect())
    }
}
