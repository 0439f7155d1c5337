//! The recorder on pretend machines: real signals, real disks, a real SQLite.
//!
//! Nothing here is right because of how long it waited: every test waits for something to be
//! seen, and gives up only after much longer than it can take.

/// Ticks keep their step.
mod beat;
/// The wall clock is set while it records.
pub(super) mod clock;
/// It is killed, again and again.
mod crash;
/// Many processes on the host and on the cards.
mod crowd;
/// The driver, the disk and the database fail while it records.
mod faults;
/// What it says about itself, also when the log is moved away.
mod log;
/// Pid files that are stale, somebody else's, or no pid files at all.
mod pid_file;
/// Databases that it must not write to.
pub mod refused;
/// As a service of systemd.
mod service;
/// A start in the background and in the foreground.
mod start;
/// Is it running, and how does it do?
mod status;
/// It is told to end.
mod stop;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gua_core::Period;
use gua_core::units::UnixMillis;
use gua_store::Database;
use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::machine::{Machine, Run, run};

/// Far longer than anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Number of polls that are stored. With an interval of up to 5 s, each is stored by a tick of its own.
pub(super) const POLLS: &str = "SELECT ifnull(sum(polls), 0) FROM run";

pub(super) const TWO_CARDS: &str = r#"
[[card]]
uuid = "GPU-a"
utilization = 80

[[card]]
uuid = "GPU-b"
utilization = 0

[[process]]
pid = 100
card = 0
user = "alice"
program = "python"
memory = "70000MiB"
"#;

/// Waits until it is so.
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A recorder in the foreground, with its home on a machine; it ends with the test.
pub(super) struct Recorder {
    child: Child,
    pub database: PathBuf,
    pub log: PathBuf,
}

impl Recorder {
    /// Ten ticks a second into the database at home; the first is stored.
    pub fn start(machine: &Machine) -> Self {
        Self::with(machine, &["--interval", "100ms"], |_| ())
    }

    /// With these arguments, and with what else the command is given; the first tick is
    /// stored.
    pub fn with(machine: &Machine, args: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        // What an earlier one has stored is not its own.
        let before = ask(&database(machine, args), POLLS).unwrap_or(0);
        let mut recorder = Self::spawn(machine, args, prepare);
        recorder.has_ticked(before + 1);
        recorder
    }

    /// Without waiting for anything.
    pub fn spawn(machine: &Machine, args: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let database = database(machine, args);
        let log = machine.dir().join("stderr");
        let mut command = machine.command(&["daemon", "--foreground"]);
        command.args(args).stdout(Stdio::null());
        command.stderr(File::options().append(true).create(true).open(&log).unwrap());
        prepare(&mut command);
        Self { child: command.spawn().unwrap(), database, log }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the recorder ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// Ends it as it should be ended, and looks at what it left.
    pub fn end(mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.ended().code(), Some(0), "{}", self.said());
        is_clean(&self.database);
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What it said on stderr.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until so many polls are stored.
    pub fn has_ticked(&mut self, ticks: i64) {
        until("it ticks", || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {ended:?}: {}", self.said());
            // The first to open the database makes this file. Made by root for a moment, a recorder
            // of another user cannot open it.
            is_opened(&self.database) && self.ticks().is_some_and(|stored| stored >= ticks)
        });
    }

    /// Waits until another tick is stored, and one more: the second began after the call.
    pub fn goes_on(&mut self) {
        let mut before = None;
        until("ticks can be counted", || {
            before = self.ticks();
            before.is_some()
        });
        self.has_ticked(before.unwrap() + 2);
    }

    /// How many are stored; `None` where that cannot be read right now.
    fn ticks(&self) -> Option<i64> {
        ask(&self.database, POLLS).ok()
    }

    pub fn number(&self, sql: &str) -> i64 {
        number(&self.database, sql)
    }

    /// Waits until an event of this kind is stored, and gives its words.
    pub fn event(&self, kind: &str) -> String {
        let question = format!("SELECT detail FROM event WHERE kind = '{kind}' ORDER BY id DESC");
        let mut detail = None;
        until(&format!("an event {kind}"), || {
            detail = ask(&self.database, &question).ok();
            detail.is_some()
        });
        detail.unwrap()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A recorder in the background, by its pid file; it ends with the test.
pub(super) struct Background {
    pid_file: PathBuf,
}

impl Background {
    /// Whatever becomes of the start, what it started ends with this.
    pub fn start(machine: &Machine, args: &[&str]) -> (Run, Self) {
        let guard = Self { pid_file: at_home(machine, "gua.pid") };
        let told = run({
            let mut command = machine.command(&["start"]);
            command.args(args);
            command
        });
        (told, guard)
    }

    pub fn pid(&self) -> Option<Pid> {
        let text = fs::read_to_string(&self.pid_file).ok()?;
        Pid::from_raw(text.split_whitespace().next()?.parse().ok()?)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // A number in a stale file may be anybody's.
        if let Some(pid) = self.pid().filter(|pid| is_gua(*pid)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn is_gua(pid: Pid) -> bool {
    let program = fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero()));
    program.is_ok_and(|program| program == Path::new(env!("CARGO_BIN_EXE_gua")))
}

/// The one that the arguments name, else the one at home.
fn database(machine: &Machine, args: &[&str]) -> PathBuf {
    let mut named = args.iter().skip_while(|arg| **arg != "--db").skip(1);
    named.next().map_or_else(|| at_home(machine, "gua.db"), PathBuf::from)
}

pub(super) fn at_home(machine: &Machine, name: &str) -> PathBuf {
    machine.home().join(".gua").join(name)
}

fn is_opened(database: &Path) -> bool {
    database
        .canonicalize()
        .is_ok_and(|path| PathBuf::from(format!("{}-shm", path.display())).exists())
}

/// The first value that a question has for an answer.
pub(super) fn ask<T: rusqlite::types::FromSql>(path: &Path, sql: &str) -> rusqlite::Result<T> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    database.busy_timeout(Duration::from_secs(5))?;
    database.query_row(sql, [], |row| row.get(0))
}

pub(super) fn number(path: &Path, sql: &str) -> i64 {
    ask(path, sql).unwrap()
}

/// Asserts that the rows keep what they promise.
pub(super) fn is_clean(path: &Path) {
    let found = Database::open(path).and_then(|database| database.check()).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

/// Gaps of the record with their reasons, and their length in milliseconds.
pub(super) fn gaps(path: &Path) -> Vec<(String, i64)> {
    let database = Database::open(path).unwrap();
    let window = Period::new(UnixMillis(0), database.final_until().unwrap().unwrap());
    let gaps = database.gaps(window).unwrap().into_iter();
    gaps.filter_map(|gap| Some((gap.reason?.slug().to_owned(), gap.period.millis()))).collect()
}

/// Time of all cards that is stored, in milliseconds.
pub(super) const OBSERVED: &str =
    "SELECT ifnull(sum(active_ms + idle_held_ms + free_ms + unknown_ms), 0) FROM card_span";

/// `gua status --json` with its exit code.
pub(super) fn status(machine: &Machine, args: &[&str]) -> (Option<i32>, Value) {
    let told = machine.gua(&[&["status", "--json"], args].concat());
    assert_eq!(told.stderr, "", "{told:?}");
    (told.code, serde_json::from_str(&told.stdout).unwrap())
}

/// What the program said, with what differs from run to run taken out.
pub(super) fn plain(text: &str, machine: &Machine) -> String {
    let text = text.replace(machine.dir().to_str().unwrap(), "[DIR]");
    let text = without_numbers(&without_numbers(&text, "pid "), "process ");
    text.split_inclusive('\n').map(without_time).collect()
}

/// With `[PID]` for every number behind the word.
fn without_numbers(text: &str, word: &str) -> String {
    let mut parts = text.split(word);
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |plain, part| {
        let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let put = if rest.len() < part.len() { "[PID]" } else { "" };
        plain + word + put + rest
    })
}

fn without_time(line: &str) -> String {
    match line.split_once("  ") {
        Some((time, words)) if time.parse::<jiff::Timestamp>().is_ok() => {
            format!("[TIME]  {words}")
        }
        _ => line.to_owned(),
    }
}
