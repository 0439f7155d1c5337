//! The recorder as a service of this host: where its files are, who it is, how it is
//! started and stopped.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `places` | where the database, the pid file and the log are |
//! | `process` | what a process is, and whether it is a recorder of ours |
//! | `pid_file` | the file in which a recorder leaves its number |
//! | `database` | the database to record into: made, gone on with, or refused |
//! | `log_end` | the end of its log |
//! | `starter`, `stopper` | a recorder in the background |

mod database;
mod log_end;
mod pid_file;
mod places;
mod process;
mod starter;
mod stopper;

pub use database::{Existing, check, prepare};
pub use log_end::last_line;
pub use pid_file::{Found, Held, PidFile, find};
pub use places::Places;
pub use process::{Process, is_recorder};
pub use starter::{Started, make_folder, report_ready, start};
pub use stopper::{Stopped, stop};
