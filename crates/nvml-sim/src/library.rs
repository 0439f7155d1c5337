//! What the callers in one process share: the machine, and how often it was initialised.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use scenario::Scenario;
use scenario::parse::{self, Refused};

use crate::abi::{Answer, Code};
use crate::functions;
use crate::machine::{self, Machine};
use crate::tally;
use crate::watch::Fingerprint;

/// How old a look at the scenario file may get.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The machine and the file it came from.
#[derive(Debug)]
struct Playing {
    machine: Arc<Machine>,
    path: PathBuf,
    /// What the file was like when it was last read, taken or refused.
    seen: Option<Fingerprint>,
    started: i64,
}

/// Calls of `nvmlInit` without their `nvmlShutdown`.
static USES: AtomicU32 = AtomicU32::new(0);
/// Kept after the last shutdown, for the counts of its faults.
static PLAYING: RwLock<Option<Playing>> = RwLock::new(None);
/// When the file was last looked at, in ns since [`epoch`].
static LOOKED: AtomicU64 = AtomicU64::new(0);
/// What was said on standard error, so that it is said once.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The machine to answer from; `UNINITIALIZED` before `nvmlInit`.
pub fn machine() -> Answer<Arc<Machine>> {
    if USES.load(Ordering::Acquire) == 0 {
        return Err(Code::UNINITIALIZED);
    }
    if is_time_to_look() {
        look_again();
    }
    current().ok_or(Code::UNINITIALIZED)
}

/// The machine for a call that initialises: the current one, or a fresh one when
/// nobody uses the library yet.
pub fn machine_to_use() -> Answer<Arc<Machine>> {
    if USES.load(Ordering::Acquire) > 0 {
        return machine();
    }
    load()
}

/// Counts one more user.
pub fn begin_use() {
    USES.fetch_add(1, Ordering::AcqRel);
}

/// Counts one user less; after the last one the library is as before.
pub fn end_use() -> Answer {
    let before = USES.try_update(Ordering::AcqRel, Ordering::Acquire, |uses| uses.checked_sub(1));
    if before.map_err(|_| Code::UNINITIALIZED)? == 1 {
        tally::write();
    }
    Ok(())
}

fn current() -> Option<Arc<Machine>> {
    let playing = PLAYING.read().unwrap_or_else(PoisonError::into_inner);
    playing.as_ref().map(|playing| Arc::clone(&playing.machine))
}

fn load() -> Answer<Arc<Machine>> {
    let Some(path) = machine::scenario_path() else {
        say("NVML_SIM_SCENARIO is not set: there is no driver to be found");
        return Err(Code::DRIVER_NOT_LOADED);
    };
    let seen = Fingerprint::of(&path).ok();
    let scenario = read(&path).map_err(|refused| {
        say(&refused.to_string());
        Code::UNKNOWN
    })?;
    let started = machine::start_from_env().unwrap_or_else(first_start);
    let machine = take_over(Machine::new(scenario, started));
    put(Playing { machine: Arc::clone(&machine), path, seen, started });
    Ok(machine)
}

/// Reads a scenario, with a warning for what it names that does not exist. That is not
/// refused here: whoever plays it can no longer be asked.
fn read(path: &Path) -> Result<Scenario, Refused> {
    let file = path.display().to_string();
    let text = parse::read(path)?;
    let scenario = parse::from_str(&file, &text)?;
    for unknown in functions::unknown(&file, &text) {
        say(&format!("warning: {unknown}"));
    }
    Ok(scenario)
}

/// Reads the file again if it has changed. A file that is refused changes nothing.
fn look_again() {
    let (path, seen, started) = {
        let playing = PLAYING.read().unwrap_or_else(PoisonError::into_inner);
        let Some(playing) = playing.as_ref() else {
            return;
        };
        (playing.path.clone(), playing.seen, playing.started)
    };
    let found = Fingerprint::of(&path).ok();
    if found == seen || found.is_some_and(|found| found.is_empty()) {
        return;
    }
    let machine = match read(&path) {
        Ok(scenario) => Some(take_over(Machine::new(scenario, started))),
        Err(refused) => {
            say(&refused.to_string());
            None
        }
    };
    let Some(machine) = machine.or_else(current) else {
        return;
    };
    put(Playing { machine, path, seen: found, started });
}

fn take_over(machine: Machine) -> Arc<Machine> {
    Arc::new(match current() {
        Some(before) => machine.following(&before),
        None => machine,
    })
}

fn put(playing: Playing) {
    *PLAYING.write().unwrap_or_else(PoisonError::into_inner) = Some(playing);
}

/// Whether this caller is the one that has to look at the file.
fn is_time_to_look() -> bool {
    let now = u64::try_from(epoch().elapsed().as_nanos()).unwrap_or(u64::MAX);
    let every = u64::try_from(LOOK_EVERY.as_nanos()).unwrap_or(u64::MAX);
    LOOKED
        .try_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            (now >= last.saturating_add(every)).then_some(now)
        })
        .is_ok()
}

fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

fn first_start() -> i64 {
    static START: OnceLock<i64> = OnceLock::new();
    *START.get_or_init(machine::unix_micros_now)
}

fn say(message: &str) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(message.to_owned()) {
        // Not `eprintln`, which panics when nobody reads standard error any more.
        let _ = writeln!(io::stderr(), "nvml-sim: {message}");
    }
}

/// Has a bug in here said once for each place, not with every call. The hook is that of
/// the shared library's own runtime, which its caller does not share.
pub fn say_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|bug| match bug.location() {
            Some(place) => say(&format!("a bug at {place}: the call answers UNKNOWN")),
            None => say("a bug: the call answers UNKNOWN"),
        }));
    });
}
