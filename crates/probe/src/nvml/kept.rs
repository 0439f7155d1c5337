//! What stays open after its last use, for programs that measure again and again: opening a library
//! takes a driver longer than everything that is asked of it then. The library stays, and so does
//! one prober, with its cards.

use std::mem;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nvml_wrapper::Nvml;

use super::options::Options;
use super::prober::Prober;
use crate::fork;

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static LIBRARY: Mutex<Option<Kept<Library>>> = Mutex::new(None);
static PROBER: Mutex<Option<Kept<Prober>>> = Mutex::new(None);

struct Kept<T> {
    /// The process that opened it. What a fork copies is not its own.
    owner: u32,
    it: T,
}

struct Library {
    path: Option<PathBuf>,
    nvml: Arc<Nvml>,
}

/// From now on what was opened stays open in this process, until the driver goes away.
pub fn stay_open() {
    IS_WANTED.store(true, Ordering::Relaxed);
}

pub(super) fn is_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

/// Closes what was kept, as soon as nobody uses it.
pub fn let_go() {
    // Closing may take long, and nobody is to wait for a lock meanwhile.
    let kept = (taken(&PROBER), taken(&LIBRARY));
    drop(kept);
}

/// What was kept of this library, if anything.
pub(super) fn library(path: Option<&PathBuf>) -> Option<Arc<Nvml>> {
    let mut kept = lock(&LIBRARY);
    let of_this_path = ours(&mut kept).as_ref().filter(|kept| kept.it.path.as_ref() == path);
    of_this_path.map(|kept| Arc::clone(&kept.it.nvml))
}

/// Keeps a library that was just opened, where that is wanted.
pub(super) fn keep_library(path: Option<&PathBuf>, nvml: &Arc<Nvml>) {
    if is_wanted() {
        let it = Library { path: path.cloned(), nvml: Arc::clone(nvml) };
        *lock(&LIBRARY) = Some(Kept { owner: process::id(), it });
    }
}

/// The prober that was kept, if it is of this kind. It is the asker's own until it is kept again.
pub(super) fn prober(options: &Options) -> Option<Prober> {
    // No fork meanwhile, which would copy a lock that nobody gives back.
    fork::inside(|| {
        let mut kept = lock(&PROBER);
        let is_wanted = ours(&mut kept).as_ref().is_some_and(|kept| kept.it.is_for(options));
        if is_wanted { kept.take().map(|kept| kept.it) } else { None }
    })
}

/// Keeps a prober for whoever wants one next; gives it back where none is wanted, or one is there.
pub(super) fn keep_prober(prober: Prober) -> Option<Prober> {
    fork::inside(|| {
        let mut kept = lock(&PROBER);
        if !is_wanted() || ours(&mut kept).is_some() {
            return Some(prober);
        }
        *kept = Some(Kept { owner: process::id(), it: prober });
        None
    })
}

/// Leaves no thread behind that only waits for the next use.
pub(crate) fn send_workers_away() {
    if let Some(kept) = ours(&mut lock(&PROBER)) {
        kept.it.send_workers_away();
    }
}

fn taken<T>(place: &'static Mutex<Option<Kept<T>>>) -> Option<Kept<T>> {
    ours(&mut lock(place)).take()
}

/// A copy is left as it is: the original may need what closing would take away.
fn ours<T>(kept: &mut Option<Kept<T>>) -> &mut Option<Kept<T>> {
    if kept.as_ref().is_some_and(|kept| kept.owner != process::id()) {
        mem::forget(kept.take());
    }
    kept
}

fn lock<T>(place: &'static Mutex<T>) -> MutexGuard<'static, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
