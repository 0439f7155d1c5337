//! What a process and all its descendants use: CPU, RAM, GPU memory and GPU time.
//!
//! Sampling alone is wrong for short commands and for spikes between two samples. Here the
//! kernel's own accounts come first (CPU time at exit, the high-water mark of the memory, the
//! driver's accounting where it is on), and samples add what no account tells.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | [`gpu`] | what the tree holds of the cards and does on them, from a thread of its own |
//! | [`members`] | which pids belong to the tree |
//! | [`options`] | what to measure, how often |
//! | [`parts`] | a figure for the main process, its descendants, and both together |
//! | [`sample`] | one row of the time line |
//! | [`usage`] | the whole measurement, when it is over |

pub mod gpu;
pub mod members;
pub mod options;
pub mod parts;
pub mod sample;
pub mod usage;

pub use options::{Cards, Options};
pub use parts::Parts;
pub use sample::Sample;
pub use usage::Usage;
