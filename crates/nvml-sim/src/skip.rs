//! For the tests of this workspace, and nothing else: one that cannot run is counted as
//! skipped, not taken for passed.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;

/// Says so on stderr and, since test runners hide the output of what passes, also in the
/// file that `GUA_TEST_SKIPS` names.
pub fn skipped(what: &str, why: &str) {
    let line = format!("SKIPPED: {what}: {why}\n");
    eprint!("{line}");
    let Some(path) = env::var_os("GUA_TEST_SKIPS") else { return };
    let written = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(error) = written.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("{}: {error}", path.display());
    }
}
