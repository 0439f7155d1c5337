//! Number of calls of the driver: what watching it costs.

use std::sync::atomic::{AtomicU64, Ordering};

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of calls of the driver so far, in this process.
#[must_use]
pub fn call_count() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// Counts a call.
pub(super) fn count_call() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}
