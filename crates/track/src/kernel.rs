//! The questions that only a bare system call answers; the only `unsafe` here.

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

/// Waits for a child that has ended. `None` when it has not, or is not our child.
#[must_use]
pub fn reap(pid: u32) -> Option<(ExitStatus, Account)> {
    let pid = libc::pid_t::try_from(pid).ok()?;
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
    (reaped == pid).then(|| (ExitStatus::from_raw(status), account))
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}

/// Makes a command start from a copy of this process instead of borrowing its memory until then:
/// otherwise the kernel charges the command with all that this process has.
pub fn start_from_a_copy(command: &mut Command) {
    // SAFETY: it does nothing, which is allowed between fork and exec.
    unsafe { command.pre_exec(|| Ok(())) };
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
        let (status, account) = reap(pid).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(account.largest_bytes > 100_000);
        assert_eq!((cpu_time(pid), reap(pid)), (None, None));
    }

    #[test]
    fn who_is_not_our_child_is_not_waited_for() {
        assert_eq!(reap(1), None);
        assert_eq!(reap(u32::MAX), None);
        assert_eq!(cpu_time(u32::MAX), None);
    }
}
