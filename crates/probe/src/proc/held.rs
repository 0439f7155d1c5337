//! The processes that were read before, each held so that another one with its pid is not taken for
//! it.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::event::{Timespec, epoll};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::process::ProcessFacts;

/// What was read of processes that may still be there.
#[derive(Debug)]
pub(super) struct Held {
    root: PathBuf,
    known: HashMap<u32, Known>,
    /// Tells of the held processes that have ended; made when the first one is held.
    endings: Option<OwnedFd>,
}

/// A process that was read before, and what tells whether it is still the same.
#[derive(Debug)]
struct Known {
    facts: Arc<ProcessFacts>,
    hold: Hold,
}

/// What a process is held by.
#[derive(Debug)]
pub(super) enum Hold {
    /// A handle, where the pid is one of our own kernel's. All of them are asked at once, in
    /// [`Held::forget_the_ended`].
    Handle { _open: OwnedFd },
    /// Its folder: the kernel never shows another process in it. Asked one by one.
    Folder(OwnedFd, Stamp),
}

/// What changes when a file is another one than before.
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
    /// None yet, of the host below this root.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, known: HashMap::new(), endings: None }
    }

    /// What was read of a process that is still there. One that is not is forgotten.
    pub(super) fn still_there(&mut self, pid: u32) -> Option<Arc<ProcessFacts>> {
        if let Some(known) = self.known.get(&pid).filter(|known| known.hold.is_still_there()) {
            return Some(Arc::clone(&known.facts));
        }
        self.known.remove(&pid);
        None
    }

    /// Takes hold of a process. `None` where no more files can be opened: then it is read anew each
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

    /// A handle whose end we are told of, for as long as it is kept open.
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

    /// Keeps what was read while the process was held.
    pub(super) fn keep(&mut self, facts: &Arc<ProcessFacts>, hold: Hold) {
        self.known.insert(facts.pid, Known { facts: Arc::clone(facts), hold });
    }

    /// Forgets the others.
    pub(super) fn keep_only(&mut self, is_wanted: impl Fn(u32) -> bool) {
        self.known.retain(|pid, _| is_wanted(*pid));
    }

    /// Forgets the processes that have ended, and returns what was read of them. `None` where the
    /// kernel does not answer: then none is sure to be there, and all are forgotten.
    pub(super) fn forget_the_ended(&mut self) -> Option<Vec<Arc<ProcessFacts>>> {
        let Ok(ended) = self.ended() else {
            self.known.clear();
            return None;
        };
        let removed = ended.iter().filter_map(|pid| self.known.remove(pid));
        Some(removed.map(|known| known.facts).collect())
    }

    /// Whether [`Self::forget_the_ended`] is going to tell the end of a process.
    pub(super) fn is_watched(&self, pid: u32) -> bool {
        matches!(self.known.get(&pid), Some(Known { hold: Hold::Handle { .. }, .. }))
    }

    /// Those that have ended, in one question to the kernel.
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
