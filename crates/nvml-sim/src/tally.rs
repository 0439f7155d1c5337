//! How often each function was called, for the file that `NVML_SIM_CALLS` names.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

static CALLS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Counts one call.
pub fn count(call: &'static str) {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    *calls.entry(call).or_default() += 1;
}

/// Has the counts written when the process ends.
pub fn write_at_exit() {
    extern "C" fn at_exit() {
        // Nothing could be done about a panic here.
        let _ = panic::catch_unwind(write);
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function takes nothing, returns nothing and does not unwind, and
        // the library is never unmapped.
        unsafe { libc::atexit(at_exit) };
    });
}

/// Writes the counts now, if the environment names a file for them.
pub fn write() {
    let Some(path) = env::var_os("NVML_SIM_CALLS") else {
        return;
    };
    if let Err(error) = fs::write(&path, lines()) {
        // Not `eprintln`, which panics when nobody reads standard error any more.
        let _ = writeln!(io::stderr(), "nvml-sim: NVML_SIM_CALLS: {}: {error}", path.display());
    }
}

fn lines() -> String {
    let calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    calls.iter().fold(String::new(), |mut text, (call, times)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{call} {times}");
        text
    })
}
