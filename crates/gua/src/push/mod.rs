//! Pushes every tick to a receiver of remote writes, with the database as the queue.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `wire` | the message, as Prometheus has it |
//! | `request` | ticks made into one request (pure) |
//! | `cursor` | what was acknowledged, in a file beside the database |
//! | `verdict` | what an answer means, and how long to wait (pure) |
//! | `pusher` | the loop, on a thread of its own |

mod cursor;
mod pusher;
mod request;
mod verdict;
mod wire;

pub use cursor::{Cursor, CursorFile};
pub use pusher::{PushError, Pusher, check};
pub use request::Request;
pub use verdict::{Backoff, Verdict};
