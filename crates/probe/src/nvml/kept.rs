//! What stays open after its last use, for programs that measure again and again: opening a library
//! takes a driver longer than everything that is asked of it then. The library stays, and so does
//! one prober, with its cards.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nvml_wrapper::Nvml;

use super::options::Options;
use super::prober::Prober;
use crate::fork;
use crate::own::Own;

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static LIBRARY: Own<Library> = Own::empty();
static PROBER: Own<Prober> = Own::empty();

struct Library {
    path: Option<PathBuf>,
    nvml: Arc<Nvml>,
}

/// From now on what was opened stays open in this process, until the driver goes away.
pub fn stay_open() {
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// Whether it does.
pub(crate) fn stays_open() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

/// Closes what was kept, as soon as nobody uses it.
pub fn let_go() {
    // Closing may take long, and nobody is to wait for a lock meanwhile.
    let kept = (PROBER.take_if(|_| true), LIBRARY.take_if(|_| true));
    drop(kept);
}

/// What was kept of this library, if anything.
pub(super) fn library(path: Option<&PathBuf>) -> Option<Arc<Nvml>> {
    let of_this_path =
        |kept: &mut Library| (kept.path.as_ref() == path).then(|| Arc::clone(&kept.nvml));
    LIBRARY.look(of_this_path).flatten()
}

/// Keeps a library that was just opened, where that is wanted.
pub(super) fn keep_library(path: Option<&PathBuf>, nvml: &Arc<Nvml>) {
    if stays_open() {
        let before = LIBRARY.replace(Library { path: path.cloned(), nvml: Arc::clone(nvml) });
        drop(before);
    }
}

/// The prober that was kept, if it is of this kind. It is the asker's own until it is kept again.
pub(super) fn prober(options: &Options) -> Option<Prober> {
    // No fork meanwhile, which would copy a lock that nobody gives back.
    fork::inside(|| PROBER.take_if(|kept| kept.is_for(options)))
}

/// Keeps a prober for whoever wants one next; gives it back where none is wanted, or one is there.
pub(super) fn keep_prober(prober: Prober) -> Option<Prober> {
    fork::inside(|| if stays_open() { PROBER.put(prober) } else { Some(prober) })
}

/// Leaves no thread behind that only waits for the next use.
pub(crate) fn send_workers_away() {
    // Not under the lock, which another fork would copy.
    if let Some(mut prober) = fork::inside(|| PROBER.take_if(|_| true)) {
        prober.send_workers_away();
        drop(keep_prober(prober));
    }
}
