//! A library that stays open after its last use, for programs that measure again and again: opening
//! it takes a driver longer than everything that is asked of it then.

use std::mem;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nvml_wrapper::Nvml;

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

struct Kept {
    /// The process that opened it. What a fork copies is not its own.
    owner: u32,
    path: Option<PathBuf>,
    nvml: Arc<Nvml>,
}

/// From now on the library stays open in this process, until the driver goes away.
pub fn stay_open() {
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// Closes what was kept, as soon as nobody uses it.
pub fn let_go() {
    let kept = forget_if_copied(&mut lock()).take();
    // Closing may take long, and nobody is to wait for the lock meanwhile.
    drop(kept);
}

/// What was kept of this library, if anything.
pub(super) fn kept(library: Option<&PathBuf>) -> Option<Arc<Nvml>> {
    let mut kept = lock();
    let of_this_library =
        forget_if_copied(&mut kept).as_ref().filter(|kept| kept.path.as_ref() == library);
    of_this_library.map(|kept| Arc::clone(&kept.nvml))
}

/// Keeps a library that was just opened, where that is wanted.
pub(super) fn keep(library: Option<&PathBuf>, nvml: &Arc<Nvml>) {
    if IS_WANTED.load(Ordering::Relaxed) {
        let (path, nvml) = (library.cloned(), Arc::clone(nvml));
        *lock() = Some(Kept { owner: process::id(), path, nvml });
    }
}

/// A copy is left as it is: the original may need what closing would take away.
fn forget_if_copied(kept: &mut Option<Kept>) -> &mut Option<Kept> {
    if kept.as_ref().is_some_and(|kept| kept.owner != process::id()) {
        mem::forget(kept.take());
    }
    kept
}

fn lock() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
