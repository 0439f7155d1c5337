//! Boot of this host.

use std::fs;

/// Returns what tells one boot from another; empty if the host does not say.
#[must_use]
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}
