//! The questions that only a bare system call answers; the only `unsafe` here.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// What the kernel charges to a process when it has ended, with all the descendants that it, or
/// one of them, has waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub cpu: Duration,
    /// The largest resident size that any one of them ever had.
    pub largest_bytes: u64,
}

/// The CPU time of a whole process, in nanoseconds; also of one that has ended and has not been
/// waited for. `None` when there is no such process.
#[must_use]
pub fn cpu_time(pid: u32) -> Option<Duration> {
    /// The kernel's number for the clock of the time that was spent on a core.
    const ON_A_CORE: libc::clockid_t = 2;
    let pid = libc::pid_t::try_from(pid).ok()?;
    // What clock_getcpuclockid makes of it, without a system call to ask whether it exists.
    read_clock((!pid << 3) | ON_A_CORE)
}

/// The CPU time of the calling thread.
#[must_use]
pub fn own_cpu_time() -> Duration {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

fn read_clock(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `time` is a valid place to write to, and zeroes are a timespec.
    let (answer, time) =
        unsafe { (libc::clock_gettime(clock, time.as_mut_ptr()), time.assume_init()) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    (answer == 0).then(|| Duration::new(seconds, nanoseconds))
}

/// What waiting for a child comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    Ended(ExitStatus, Account),
    /// It is still at work.
    NotYet,
    /// It is none of ours, or somebody else has waited for it.
    NotOurs,
}

/// Waits for a child if it has ended.
#[must_use]
pub fn reap(pid: u32) -> Reaped {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return Reaped::NotOurs };
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both are valid places to write to, and zeroes are an rusage.
    let (reaped, usage) = unsafe {
        let reaped = libc::wait4(pid, &raw mut status, libc::WNOHANG, usage.as_mut_ptr());
        (reaped, usage.assume_init())
    };
    let account = Account {
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        largest_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
    };
    match reaped {
        0 => Reaped::NotYet,
        _ if reaped == pid => Reaped::Ended(ExitStatus::from_raw(status), account),
        _ => Reaped::NotOurs,
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}

/// Prepares a command, and this process for waiting for it.
///
/// - It starts from a copy of this process instead of borrowing its memory until then: otherwise
///   the kernel charges the command with all that this process has.
/// - Who was told to ignore the end of children cannot wait for them. This process stops to, and
///   the command inherits what it would have.
/// - This process may hold as many files as it is allowed, one for each process that it follows.
///   The command keeps the limit that it would have.
///
/// # Errors
/// When the system refuses one of these.
pub fn prepare(command: &mut Command) -> io::Result<()> {
    let ignores_children = stop_ignoring_children()?;
    let files = raise_file_limit()?;
    let restore = move || {
        // SAFETY: both are allowed between fork and exec, and `files` is a valid limit.
        let limited = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const files) };
        if limited != 0 {
            return Err(io::Error::last_os_error());
        }
        if ignores_children {
            // SAFETY: as above.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        }
        Ok(())
    };
    // SAFETY: it makes two system calls and touches no memory but its own.
    unsafe { command.pre_exec(restore) };
    Ok(())
}

/// Whether the end of children was ignored until now.
fn stop_ignoring_children() -> io::Result<bool> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set, `action` is a valid place to write to, and zeroes are a sigaction.
    let (answer, action) = unsafe {
        let asked = libc::sigaction(libc::SIGCHLD, std::ptr::null(), action.as_mut_ptr());
        (asked, action.assume_init())
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_ignored = action.sa_sigaction == libc::SIG_IGN;
    if is_ignored {
        // SAFETY: the default is always a valid way to meet a signal.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
    Ok(is_ignored)
}

/// Raises the number of files that this process may hold; what it was before.
fn raise_file_limit() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place to write to.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: `raised` is a valid limit. Where it is refused, fewer are followed, which is told.
    let _ = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) };
    Ok(limit)
}

/// The cores that are switched on, whoever may use them.
#[must_use]
pub fn cores() -> u32 {
    // SAFETY: the question has no preconditions.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(online).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_still_tells_its_time_until_it_is_waited_for() {
        #[expect(clippy::zombie_processes, reason = "waiting for it is what is tested")]
        let child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let pid = child.id();
        let ended = std::iter::repeat_with(|| {
            std::thread::yield_now();
            std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ")
        });
        assert!(ended.into_iter().any(|is_zombie| is_zombie));
        assert!(cpu_time(pid).is_some_and(|time| time > Duration::ZERO));
        let Reaped::Ended(status, account) = reap(pid) else { panic!("it has ended") };
        assert_eq!(status.code(), Some(3));
        assert!(account.largest_bytes > 100_000);
        assert_eq!((cpu_time(pid), reap(pid)), (None, Reaped::NotOurs));
    }

    #[test]
    fn who_is_not_our_child_is_not_waited_for() {
        assert_eq!(reap(1), Reaped::NotOurs);
        assert_eq!(reap(u32::MAX), Reaped::NotOurs);
        assert_eq!(cpu_time(u32::MAX), None);
    }
}
