//! The counters of a host: kept from run to run, and shown to whoever asks.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `file` | the counters beside the database |
//! | `keeper` | counts every tick that is stored, for the recorder |
//! | `recorded` | frames from a history that somebody else records |
//! | `slot` | the newest frame, put there by one thread and taken by others |

mod file;
mod keeper;
mod recorded;
mod slot;

pub use file::{CountersError, CountersFile};
pub use keeper::Keeper;
pub use recorded::Recorded;
pub use slot::{Frames, NotReady, Shown, Slot};
