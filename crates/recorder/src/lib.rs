//! The recorder: polls the cards, classifies time and stores it at each tick.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | [`log`] | what the recorder says about itself |
//! | [`observer`] | those who do something with every poll and every tick |

pub mod log;
pub mod observer;

pub use log::Log;
pub use observer::{RecordedTick, TickObserver};
