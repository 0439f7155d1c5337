//! What this process itself is allowed and has, as far as that matters to what it measures.

use probe::threads;

use crate::parts::Parts;

/// How many processes can be followed, with some files left for everything else.
#[must_use]
pub fn room() -> usize {
    const FOR_OTHERS: u64 = 64;
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let room = files.map_or(u64::MAX, |files| files.saturating_sub(FOR_OTHERS).max(1));
    usize::try_from(room).unwrap_or(usize::MAX)
}

/// What a child of this process has before it becomes another program, which the kernel's account
/// at its end includes: a copy of our own pages, but not those of files, and a few more.
#[must_use]
pub fn size_before_exec() -> u64 {
    const A_FEW: u64 = 512 << 10;
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let status = crate::proc::status::parse(&text);
    let ours = status
        .and_then(|status| status.memory)
        .map_or(0, |ours| ours.by_kind.anonymous.saturating_add(ours.by_kind.shared_memory));
    ours.saturating_add(A_FEW)
}

/// How many of the threads of a process may have children: ours have none.
#[must_use]
pub fn threads_with_children(pid: u32, threads: u32) -> u32 {
    let ours = if pid == std::process::id() { threads::count() } else { 0 };
    threads.saturating_sub(ours).max(1)
}

/// The threads that we have in the process that is measured, where that is our own: what measures
/// is not a part of what is measured.
#[derive(Debug)]
pub struct OurThreads {
    is_our_process: bool,
    /// At the newest look.
    count: u32,
}

impl OurThreads {
    #[must_use]
    pub fn of(main: Option<u32>) -> Self {
        let is_our_process = main == Some(std::process::id());
        Self { is_our_process, count: threads::count() }
    }

    /// The threads were counted just now.
    pub fn look(&mut self) {
        self.count = threads::count();
    }

    /// What was counted at the newest look, without ours. One that was just ending looks like one
    /// of the others; so where there would be more than ever, the names are looked at, too.
    #[must_use]
    pub fn without(&self, counted: Parts<u32>, most: u32) -> Parts<u32> {
        if !self.is_our_process {
            return counted;
        }
        let mut main = counted.main.saturating_sub(self.count).max(1);
        if main > most.max(1) {
            main = threads::others().map_or(main, |others| others.clamp(1, main));
        }
        let less = counted.main.saturating_sub(main);
        Parts { main, combined: counted.combined.saturating_sub(less), ..counted }
    }
}
