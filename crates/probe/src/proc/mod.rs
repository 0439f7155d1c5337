//! Who a pid is, from the host's `/proc`.
//!
//! Reading stands apart from parsing: [`Host`] opens files below a root that is
//! passed in; [`stat`], [`usage`], [`status`], [`passwd`], [`meminfo`] and [`cmdline`] turn
//! bytes into facts and touch nothing. [`tree`] is what a process and its descendants have used.

mod accounts;
pub mod cmdline;
mod groups;
mod host;
pub mod meminfo;
pub mod passwd;
pub mod stat;
pub mod status;
pub mod tree;
pub mod usage;

pub use accounts::Accounts;
pub use groups::groups;
pub use host::{Host, Taken};

use std::io;

use crate::reading::Why;

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
