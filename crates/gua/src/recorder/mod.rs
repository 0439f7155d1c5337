//! The recorder: looks at its beat and keeps what it saw, whatever happens.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `schedule` | when to look, and when to drain the driver's samples (pure) |
//! | `boot` | which boot of the host this is |
//! | `source` | where ticks come from |
//! | `observer` | a look made into an entry, with what is to be told besides (pure) |
//! | `recording` | entries kept in a database, whatever happens to it |
//! | `attendant` | who is told of every tick that is kept |
//! | `pruning` | when to take out what is too old |
//! | `signals` | what the host's signals ask for |
//! | `log` | what the recorder says about itself |
//! | `witness` | who hears of ticks once they are stored |
//! | `beat` | the loop that brings them together |

mod attendant;
mod beat;
mod boot;
mod log;
mod observer;
mod pruning;
mod recording;
mod schedule;
mod signals;
mod source;
mod witness;

pub use attendant::{Attendant, Kept};
pub use beat::{Beat, Outcome};
pub use boot::boot_id;
pub use log::{Log, open as open_log};
pub use observer::Observer;
pub use recording::{Place, Recording};
pub use schedule::{Schedule, Task};
pub use signals::Signals;
pub use source::{Seen, Source};
pub use witness::Witness;

/// How this program calls itself in the histories it writes.
#[must_use]
pub fn name() -> String {
    format!("gua {}", env!("CARGO_PKG_VERSION"))
}
