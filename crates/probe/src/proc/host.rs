//! The host whose processes hold the cards, read from its `/proc`.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::held::Held;
use super::stat::{self, ProcessUsage};
use super::{Accounts, cmdline, read, status, why};
use crate::identity::{Reader, Subject, Who};
use crate::process::{Presence, ProcessFacts};
use crate::reading::{Reading, Why};
use crate::units::UnixMillis;

/// Initial pid namespace. The kernel reserves this inode for it.
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Longest time that a boot time is kept: the kernel changes it when the clock is set, and its file is
/// long.
const BOOT_TIME_KEPT: Duration = Duration::from_secs(10);

/// Usual mount points of the host's root in a container.
const USUAL_MOUNTS: [&str; 3] = ["/host", "/rootfs", "/hostfs"];

/// Reads processes, and remembers them, so that one look costs little.
#[derive(Debug)]
pub struct Host {
    root: PathBuf,
    view: View,
    boot: Option<Boot>,
    accounts: Accounts,
    /// `None` if identities are not wanted.
    identities: Option<Reader>,
    known: Held,
}

/// Boot time of the host when it was read.
#[derive(Debug)]
struct Boot {
    read: Instant,
    at: UnixMillis,
}

/// Relation between the driver's pids and those of our `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// The same pids in both.
    Whole,
    /// We are in a container and see only its processes. A pid of the host may belong to another process
    /// here.
    Partial,
}

impl Host {
    /// Returns the host below `root`, or the one that is visible from here if `None`.
    #[must_use]
    pub fn new(root: Option<PathBuf>) -> Self {
        let (root, view) = match root {
            Some(root) => (root, View::Whole),
            None => seen_from_here(),
        };
        Self {
            accounts: Accounts::new(root.clone()),
            known: Held::new(root.clone()),
            root,
            view,
            boot: None,
            identities: None,
        }
    }

    /// Also finds the identity behind each process when it is first seen, if `wanted`.
    #[must_use]
    pub fn with_identities(mut self, wanted: bool) -> Self {
        self.identities = wanted.then(|| Reader::new(self.root.clone()));
        self
    }

    /// Returns the name of a user of the host; `None` if it is unknown.
    pub fn user_name(&mut self, uid: u32) -> Option<String> {
        self.accounts.name(uid).ok().flatten().map(|name| name.to_string())
    }

    /// Returns the root of the host's files.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if the processes with the driver's pids are visible.
    #[must_use]
    pub fn sees_all_processes(&self) -> bool {
        self.view == View::Whole
    }

    /// Returns the name of the host.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let name = fs::read_to_string(self.root.join("proc/sys/kernel/hostname")).ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// Returns the process that a pid is now. A process that was read before costs at most one system
    /// call, which checks that it still exists. Its facts are those of that time, also its parent and
    /// name.
    pub fn process(&mut self, pid: u32) -> Presence {
        if let Some(facts) = self.known.still_there(pid) {
            return Presence::Here(facts);
        }
        if self.view == View::Partial {
            match self.has_a_card_open(pid) {
                Ok(true) => {}
                Ok(false) | Err(Why::Gone) => return Presence::Foreign,
                // It may be the holder, or another process with its pid here.
                Err(why) => return Presence::Hidden(why),
            }
        }
        // Held before it is read, so that the facts are those of the held process.
        let hold = self.known.hold(pid);
        let stat = match read(&self.of(pid, "stat")) {
            Ok(bytes) => stat::parse(&bytes),
            Err(error) => return self.absent(pid, &error),
        };
        let Some(stat) = stat else { return Presence::Hidden(Why::Garbled) };
        // Names missed so far were of other processes.
        self.accounts.has_missed_one();
        let facts = Arc::new(self.facts(pid, &stat));
        // A name that is missing now, its own or that of its job's user, may be there at the next look.
        let is_whole = !self.accounts.has_missed_one();
        if let Some(hold) = hold.filter(|_| is_whole) {
            self.known.keep(&facts, hold);
        }
        Presence::Here(facts)
    }

    /// Returns the arguments of a process. They may contain secrets: do not store them.
    #[must_use]
    pub fn command(&self, pid: u32) -> Reading<Vec<String>> {
        let bytes = read(&self.of(pid, "cmdline")).map_err(|error| why(&error));
        Reading::from(bytes).map(|bytes| cmdline::parse(&bytes))
    }

    /// Returns the processor time and memory of a process.
    #[must_use]
    pub fn usage(&self, facts: &ProcessFacts) -> Reading<ProcessUsage> {
        let bytes = match read(&self.of(facts.pid, "stat")) {
            Ok(bytes) => bytes,
            Err(error) => return Reading::Unknown(why(&error)),
        };
        match ProcessUsage::parse(&bytes) {
            Some(usage) if usage.start_ticks == facts.start_ticks => Reading::Known(usage),
            // Another process has its pid now.
            Some(_) => Reading::Unknown(Why::Gone),
            None => Reading::Unknown(Why::Garbled),
        }
    }

    /// Forgets all processes that are not wanted.
    pub fn keep_only(&mut self, is_wanted: impl Fn(u32) -> bool) {
        self.known.keep_only(is_wanted);
        if let Some(identities) = &mut self.identities {
            identities.forget_ancestors();
        }
    }

    /// Forgets the watched processes that have ended, and returns them. If that is unknown, forgets all
    /// and returns `None`. To be called before each look at processes.
    pub fn forget_the_ended(&mut self) -> Option<Vec<Arc<ProcessFacts>>> {
        self.known.forget_the_ended()
    }

    /// Returns true if [`Self::forget_the_ended`] will report the end of a process. Until then it exists
    /// with the same facts.
    #[must_use]
    pub fn is_watched(&self, pid: u32) -> bool {
        self.known.is_watched(pid)
    }

    fn facts(&mut self, pid: u32, stat: &stat::ProcessStat) -> ProcessFacts {
        let uid = match read(&self.of(pid, "status")) {
            Ok(bytes) => match status::uid(&String::from_utf8_lossy(&bytes)) {
                Some(uid) => Reading::Known(uid),
                None => Reading::Unknown(Why::Garbled),
            },
            Err(error) => Reading::Unknown(why(&error)),
        };
        // Without the arguments the name is the kernel's, which may be cut.
        let arguments = read(&self.of(pid, "cmdline")).unwrap_or_default();
        let program: Arc<str> = cmdline::program(&stat.comm, &arguments).into();
        let subject = Subject {
            pid,
            stat,
            program: Arc::clone(&program),
            uid: uid.known(),
            arguments: &arguments,
        };
        ProcessFacts {
            pid,
            parent: stat.parent,
            start_ticks: stat.start_ticks,
            started: self.started(stat.start_ticks),
            who: self.who(&subject),
            program,
            user: match uid {
                Reading::Known(uid) => self.accounts.name(uid).into(),
                Reading::Unknown(why) => Reading::Unknown(why),
            },
            uid,
        }
    }

    fn who(&mut self, subject: &Subject<'_>) -> Reading<Arc<Who>> {
        match &mut self.identities {
            Some(reader) => reader.who(subject, &mut self.accounts),
            None => Reading::Unknown(Why::NotAsked),
        }
    }

    fn started(&mut self, ticks: u64) -> Reading<UnixMillis> {
        let Some(boot) = self.booted(Instant::now()) else {
            return Reading::Unknown(Why::Garbled);
        };
        let since_boot = ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second();
        let since_boot = i64::try_from(since_boot).unwrap_or(i64::MAX);
        Reading::Known(UnixMillis(boot.0.saturating_add(since_boot)))
    }

    /// Returns when the host booted, by its clock as it is set now.
    fn booted(&mut self, now: Instant) -> Option<UnixMillis> {
        let is_recent = |boot: &Boot| now.saturating_duration_since(boot.read) < BOOT_TIME_KEPT;
        if !self.boot.as_ref().is_some_and(is_recent) {
            let text = fs::read_to_string(self.root.join("proc/stat")).ok()?;
            let at = UnixMillis(stat::boot_seconds(&text)?.saturating_mul(1000));
            self.boot = Some(Boot { read: now, at });
        }
        self.boot.as_ref().map(|boot| boot.at)
    }

    /// Returns true if one of the process's open files is a card, as each holder has.
    fn has_a_card_open(&self, pid: u32) -> Result<bool, Why> {
        let files = fs::read_dir(self.of(pid, "fd")).map_err(|error| why(&error))?;
        let mut targets = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        Ok(targets.any(|target| target.as_os_str().as_bytes().starts_with(b"/dev/nvidia")))
    }

    /// Returns why a process could not be read. `/proc` may hide it from this user (`hidepid`): then a
    /// test signal is refused.
    fn absent(&self, pid: u32, error: &io::Error) -> Presence {
        let why = why(error);
        let is_hidden = || {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::PERM))
        };
        match why {
            Why::Gone if self.root == Path::new("/") && is_hidden() => {
                Presence::Hidden(Why::NoPermission)
            }
            Why::Gone => Presence::Gone,
            why => Presence::Hidden(why),
        }
    }

    fn of(&self, pid: u32, file: &str) -> PathBuf {
        self.root.join(format!("proc/{pid}/{file}"))
    }
}

fn seen_from_here() -> (PathBuf, View) {
    let own = PathBuf::from("/");
    let namespace = fs::read_link("/proc/self/ns/pid");
    let is_initial = namespace.is_ok_and(|link| link == Path::new(INITIAL_PID_NAMESPACE));
    if is_initial {
        return (own, View::Whole);
    }
    let mounted = USUAL_MOUNTS.iter().map(Path::new).find(|root| root.join("proc/stat").exists());
    match mounted {
        Some(root) => (root.to_owned(), View::Whole),
        None => (own, View::Partial),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn stat_line(comm: &str, parent: u32, start: u64) -> String {
        format!(
            "70 ({comm}) S {parent} 70 70 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0 \
             18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        )
    }

    fn sample_host() -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "proc/stat", "cpu 1 2 3\nbtime 1000\n");
        write(dir.path(), "etc/passwd", "ann:x:1001:1001::/home/ann:/bin/sh\n");
        write(dir.path(), "proc/70/stat", &stat_line("python", 5, 1234));
        write(dir.path(), "proc/70/status", "Name:\tpython\nUid:\t1001\t1001\t1001\t1001\n");
        write(dir.path(), "proc/70/cmdline", "python\0a.py\0");
        let host = Host::new(Some(dir.path().to_owned()));
        (dir, host)
    }

    #[test]
    fn a_process_is_named_with_user_program_parent_and_start() {
        let (_dir, mut host) = sample_host();
        let Presence::Here(facts) = host.process(70) else { panic!("not here") };
        assert_eq!(facts.user, Reading::Known(Some("ann".into())));
        assert_eq!((&*facts.program, facts.parent), ("python", 5));
        assert_eq!(facts.started, Reading::Known(UnixMillis(1_000_000 + 12_340)));
        assert_eq!(host.command(70).known().unwrap(), ["python", "a.py"]);
    }

    #[test]
    fn what_a_process_takes_is_that_of_the_process_that_was_meant() {
        let mut host = Host::new(Some(PathBuf::from("/")));
        let Presence::Here(facts) = host.process(std::process::id()) else { panic!("not here") };
        assert!(host.usage(&facts).is_known_and(|usage| usage.resident > Bytes::from_mib(1)));
        let another = ProcessFacts { start_ticks: facts.start_ticks + 1, ..(*facts).clone() };
        assert_eq!(host.usage(&another), Reading::Unknown(Why::Gone));
        let none = ProcessFacts { pid: i32::MAX.cast_unsigned(), ..(*facts).clone() };
        assert_eq!(host.usage(&none), Reading::Unknown(Why::Gone));
    }

    #[test]
    fn names_that_cannot_be_read_are_unknown_not_missing() {
        let (dir, mut host) = sample_host();
        fs::remove_file(dir.path().join("etc/passwd")).unwrap();
        let Presence::Here(facts) = host.process(70) else { panic!("not here") };
        assert_eq!(facts.user, Reading::Unknown(Why::Gone));
    }

    #[test]
    fn a_pid_that_is_used_again_is_another_process() {
        let (dir, mut host) = sample_host();
        host.process(70);
        write(dir.path(), "proc/70/stat", &stat_line("bash", 6, 99_999));
        write(dir.path(), "proc/70/status", "Uid:\t4242\t4242\t4242\t4242\n");
        let Presence::Here(facts) = host.process(70) else { panic!("not here") };
        assert_eq!((&*facts.program, facts.start_ticks), ("bash", 99_999));
        assert_eq!((facts.uid, &facts.user), (Reading::Known(4242), &Reading::Known(None)));
    }

    #[test]
    fn a_process_that_ended_is_gone_though_it_was_known() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let mut host = Host::new(Some(PathBuf::from("/")));
        assert!(matches!(host.process(child.id()), Presence::Here(_)));
        assert!(matches!(host.process(child.id()), Presence::Here(_)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(host.is_watched(child.id()));
        let ended = host.forget_the_ended().unwrap();
        assert_eq!(ended.iter().map(|facts| facts.pid).collect::<Vec<_>>(), [child.id()]);
        assert!(!host.is_watched(child.id()) && host.forget_the_ended() == Some(vec![]));
        assert_eq!(host.process(child.id()), Presence::Gone);
    }

    #[test]
    fn a_pid_that_is_not_there_is_gone() {
        let (_dir, mut host) = sample_host();
        assert_eq!(host.process(71), Presence::Gone);
        assert_eq!(host.command(71), Reading::Unknown(Why::Gone));
    }

    /// Trap: inside a container the driver reports the host's pids.
    #[test]
    fn without_the_hosts_proc_a_pid_without_a_card_is_foreign() {
        let (_dir, mut host) = sample_host();
        host.view = View::Partial;
        assert_eq!(host.process(70), Presence::Foreign);
    }

    #[test]
    fn we_can_see_ourselves() {
        let mut host = Host::new(Some(PathBuf::from("/")));
        let Presence::Here(facts) = host.process(std::process::id()) else { panic!("not here") };
        assert_eq!(facts.uid, Reading::Known(rustix::process::geteuid().as_raw()));
        let now = UnixMillis::from(std::time::SystemTime::now());
        assert!(
            facts.started.is_known_and(|started| started <= now && now.0 - started.0 < 600_000)
        );
    }
}
