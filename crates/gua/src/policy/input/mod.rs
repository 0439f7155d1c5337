//! What the rules judge: live from the recorder, or again from its record.
//!
//! Both sources become [`CardTime`]s and signs, and [`Timeline`] cuts these into steps at the same
//! times. So rules decide on a record of exact spans as they did while it was recorded.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | `timeline` | time of cards and holders, cut into steps (pure) |
//! | `sign_time` | signs that a process works, besides its classified time (pure) |
//! | `samples` | samples in which a process works, from polls (pure) |
//! | `sign_book` | signs as they are stored (pure) |
//! | `live` | polls and ticks into steps and signs (pure) |
//! | `facts` | who holds a card, as the host says now |
//! | `look` | one poll as a step that covers no time |
//! | `stored` | rows of a database into steps |

mod facts;
mod live;
mod look;
mod samples;
mod sign_book;
mod sign_time;
mod stored;
mod timeline;

pub use facts::{Held, LiveFacts, sign};
pub use live::{Advance, LiveInput};
pub use look::{Look, poll_once};
pub use stored::{ReplayBasis, StoredInput, UserGroups};
pub use timeline::{Cell, step_ms};
