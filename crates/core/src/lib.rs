//! The domain of gua: what a card, a process and a state are, and how time is classified. No I/O:
//! time and everything else that comes from the machine are inputs.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | [`units`] | bytes, percent, watts, … as types |
//! | [`reading`] | a value, or the reason why there is none |
//! | [`card`] | facts about one card, and what one reading of it gives |
//! | [`process`] | a holder of a card, and the process behind it |
//! | [`identity`] | the person, job, container or notebook behind a process |
//! | [`clocks`] | the host's clocks at one moment, and whether one was set |
//! | [`period`] | a stretch of wall time |
//! | [`poll`] | one reading of all cards and their holders, the classifier's input |
//! | [`classifier`] | turns polls into spans |
//! | [`span`] | classified time |
//! | [`now`] | state and work of a card and its holders by one look |
//! | [`snapshot`] | all cards and holders now, as they are shown |
//! | [`text`] | quantities as short text |
//! | [`unknowns`] | why fields are null |
//! | [`slices`] | parts of a GPU that is partitioned into MIG instances |
//! | [`session`] | stretches in which a process holds a card without using it |
//! | [`sign`] | signs that a process works, besides its classified time |
//! | [`state`] | the state of a card, and the thresholds between the states |

pub mod card;
pub mod classifier;
pub mod clocks;
pub mod identity;
pub mod now;
pub mod period;
pub mod poll;
pub mod process;
pub mod reading;
pub mod session;
pub mod sign;
pub mod slices;
pub mod snapshot;
pub mod span;
pub mod state;
pub mod text;
pub mod units;
pub mod unknowns;

pub use classifier::Classifier;
pub use clocks::Clocks;
pub use period::Period;
pub use poll::Poll;
pub use reading::{Reading, Reason};
pub use session::{Session, SessionBuilder, SessionUpdate};
pub use slices::Slices;
pub use span::Span;
pub use state::{State, Thresholds};
