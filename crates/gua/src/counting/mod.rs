//! The counters of a host: kept from run to run, and shown to whoever asks.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `beside` | a small file beside the database, there whole or not at all |
//! | `counted` | what was counted of a history, and up to where |
//! | `keeper` | counts every tick that is stored, for the recorder |
//! | `losses` | what could not be pushed or told apart, shared by who pushes and who counts |
//! | `recorded` | frames from a history that somebody else records |
//! | `slot` | the newest frame, put there by one thread and taken by others |

mod beside;
mod counted;
mod keeper;
mod losses;
mod recorded;
mod slot;

pub use beside::{Beside, BesideError, Care};
pub use counted::{Counted, CountersFile};
pub use keeper::Keeper;
pub use losses::Losses;
pub use recorded::Recorded;
pub use slot::{Frames, NotReady, Scraper, Shown, Slot};
