//! Who a pid is, from the host's `/proc`.
//!
//! Reading stands apart from parsing: [`Host`] opens files below a root that is
//! passed in; [`stat_line`], [`stat`], [`usage`], [`status`], [`passwd`], [`meminfo`] and
//! [`cmdline`] turn bytes into facts and touch nothing. [`tree`] is what a process and its
//! descendants have used.

mod accounts;
pub mod cmdline;
mod groups;
mod held;
mod host;
pub mod meminfo;
mod name_service;
pub mod passwd;
pub mod stat;
pub mod stat_line;
pub mod status;
pub mod tree;
pub mod usage;

pub use accounts::Accounts;
pub use groups::groups;
pub use host::Host;
pub use usage::Taken;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::reading::Why;

/// More than most files of a process hold.
const USUAL_FILE: usize = 4096;

/// The whole of a file of `/proc`. None of them tells its size, so there must be room for it
/// beforehand: it would be read piece by piece otherwise.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_FILE);
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why a file of a process could not be read.
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
mod hostile;
