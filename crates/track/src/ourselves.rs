//! What this process itself is allowed and has, as far as that matters to what it measures.

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
