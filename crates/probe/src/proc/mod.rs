//! Processes of a host, from its `/proc`, and the names of its users.
//!
//! [`Host`] opens files below a root that is passed in; [`stat`], [`status`], [`cmdline`] and
//! [`meminfo`] parse their bytes. [`tree`] reads the processor time of a process and its descendants.

mod accounts;
pub mod cmdline;
mod held;
mod host;
pub mod meminfo;
mod name_service;
pub mod stat;
pub mod status;
pub mod tree;

pub use accounts::{Accounts, groups};
pub use host::Host;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::reading::Why;

/// Size of a buffer that most files of a process fit in.
const USUAL_FILE: usize = 4096;

/// Reads a file of `/proc`. Such files have no size, so a large buffer avoids many small reads.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_FILE);
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns why a file of a process could not be read.
fn why(error: &io::Error) -> Why {
    const ESRCH: i32 = 3;
    match error.kind() {
        io::ErrorKind::NotFound => Why::Gone,
        io::ErrorKind::PermissionDenied => Why::NoPermission,
        _ if error.raw_os_error() == Some(ESRCH) => Why::Gone,
        _ => Why::Garbled,
    }
}

#[cfg(test)]
mod tests;
