//! Loads and initialises the driver's library, and counts its calls.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::error::{OpenError, reading};
use crate::fork::ProcessLocal;
use crate::reading::Reading;

/// Name that the dynamic loader resolves if no path is given.
pub const DEFAULT_LIBRARY: &str = "libnvidia-ml.so.1";

static CALLS: AtomicU64 = AtomicU64::new(0);

static STAYS_OPEN: AtomicBool = AtomicBool::new(false);

/// Library that was opened last, if it stays open.
static OPENED: ProcessLocal<(Option<PathBuf>, Arc<Nvml>)> = ProcessLocal::empty();

/// Makes the library stay open in this process. This is for programs that measure repeatedly: opening
/// the library takes longer than the measurement.
pub fn stay_open() {
    STAYS_OPEN.store(true, Ordering::Relaxed);
}

/// Closes the library that stayed open, as soon as it is no longer in use.
pub fn close_unused() {
    // Closing may take long, so the lock is released first.
    drop(OPENED.take());
}

/// Facts about the driver that do not change while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverFacts {
    pub version: Reading<String>,
    pub nvml_version: Reading<String>,
    pub cuda_version: Reading<(i32, i32)>,
    /// Number of GPUs that the driver has, readable or not.
    pub gpus: u32,
}

/// Initialised library.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub nvml: Arc<Nvml>,
    pub facts: DriverFacts,
}

/// Loads and initialises the library, which may hang.
pub(super) fn open(library: Option<&PathBuf>) -> Result<Opened, OpenError> {
    let name = library.map_or(OsStr::new(DEFAULT_LIBRARY), |path| path.as_os_str());
    let shown = name.to_string_lossy();
    if library.is_some_and(|path| is_not_a_file(path)) {
        return Err(OpenError::NotAFile { library: shown.into_owned() });
    }
    let refused = |error| OpenError::new(&shown, error);
    if let Some((path, nvml)) = OPENED.get()
        && path.as_ref() == library
        && let Ok(opened) = Opened::of(nvml)
    {
        return Ok(opened);
    }
    // A library that no longer works has to be closed before it can be opened again.
    close_unused();
    let nvml = Arc::new(Nvml::builder().lib_path(name).init().map_err(refused)?);
    if STAYS_OPEN.load(Ordering::Relaxed) {
        drop(OPENED.replace((library.cloned(), Arc::clone(&nvml))));
    }
    Opened::of(nvml).map_err(refused)
}

impl Opened {
    fn of(nvml: Arc<Nvml>) -> Result<Self, NvmlError> {
        let gpus = nvml.device_count()?;
        let facts = DriverFacts {
            version: reading(nvml.sys_driver_version()),
            nvml_version: reading(nvml.sys_nvml_version()),
            cuda_version: reading(nvml.sys_cuda_driver_version())
                .map(|version| (version / 1000, version % 1000 / 10)),
            gpus,
        };
        Ok(Self { nvml, facts })
    }
}

/// Returns true for a path that is not a regular file. The loader would wait for ever on a pipe, while it
/// holds a lock that the whole program needs. A missing file is left to the loader, which also searches
/// its own folders.
fn is_not_a_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file())
}

/// Returns the number of calls of the driver so far, in this process: what watching it costs.
#[must_use]
pub fn call_count() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// Counts a call.
pub(super) fn count_call() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}
