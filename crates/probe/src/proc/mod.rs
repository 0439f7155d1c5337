//! Who a pid is, from the host's `/proc`.
//!
//! Reading stands apart from parsing: [`Host`] opens files below a root that is
//! passed in; [`stat`], [`usage`], [`status`], [`passwd`], [`meminfo`] and [`cmdline`] turn
//! bytes into facts and touch nothing.

pub mod cmdline;
mod host;
pub mod meminfo;
pub mod passwd;
pub mod stat;
pub mod status;
pub mod usage;

pub use host::{Host, Taken};

#[cfg(test)]
mod hostile;
