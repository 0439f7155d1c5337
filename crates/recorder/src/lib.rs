//! The recorder: polls the cards, classifies time and stores it at each tick.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | [`recorder`] | the loop: polls and ticks when they are due, until it is stopped |
//! | [`schedule`] | when to poll and when to store a tick |
//! | [`signals`] | what the host's signals ask for |
//! | [`recording`] | polls in, ticks out |
//! | `pending` | a run as far as it is not stored |
//! | `file` | the database that is recorded into |
//! | `notices` | what happens to the driver, the cards and the clock |
//! | [`processes`] | who the processes are that hold cards |
//! | `samples` | samples of cards for plots |
//! | `latest` | what was last seen |
//! | `pruning` | when to delete rows that are too old |
//! | [`observer`] | those who do something with every poll and every tick |
//! | [`log`] | what the recorder says about itself |
//! | [`places`] | where the database, the pid file and the log are |
//! | [`pid_file`] | the file that names the recorder's process and database |
//! | [`background`] | starts a recorder in the background, and stops it |
//! | [`boot`] | boot of this host |
//! | [`error`] | why a recorder cannot be started or stopped |

pub mod background;
pub mod boot;
pub mod error;
mod file;
mod latest;
pub mod log;
mod notices;
pub mod observer;
mod pending;
pub mod pid_file;
pub mod places;
pub mod processes;
mod pruning;
pub mod recorder;
pub mod recording;
mod samples;
pub mod schedule;
pub mod signals;

pub use background::{Start, Stop, start, stop};
pub use boot::boot_id;
pub use error::RecorderError;
pub use log::Log;
pub use observer::{RecordedTick, TickObserver};
pub use pid_file::{FoundPidFile, PidFile, PidFileLock};
pub use places::{ExistingFile, Places};
pub use recorder::{Options, Outcome, Recorder};
pub use recording::{DriverNow, RULE, Recording};
pub use signals::Signals;

/// Name of this program in the histories that it writes.
pub const RECORDER: &str = concat!("gua ", env!("CARGO_PKG_VERSION"));
