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
//! | [`gpu_tracker`] | the same in the formats of gpu_tracker, the Python tool |
//! | [`options`] | what to measure, how often |
//! | [`tracker`] | measures a running process, or a command that it starts |
//! | [`handles`] | what the caller holds meanwhile, and gets at the end |
//! | [`questions`] | what was used so far, for whoever asks meanwhile |
//! | [`orphans`] | descendants of a command that came to this process |
//! | [`sample`], [`usage`] | one row of the time line; the whole when it is over |
//! | [`parts`] | a figure for the main process, its descendants, and both together |
//! | `follower`, `pace` | looks at its beat: samples, glances between them, dear readings within a budget |
//! | `measure` | one measurement: looks, accounts, maxima |
//! | `tree`, `followed`, `process`, `births`, `lineage` | who belongs to it, as they come and go |
//! | [`members`] | which pids belong to it, for those who look at the cards |
//! | `cpu`, `loads` | CPU time that is neither lost nor doubled; the highest and the mean |
//! | `ram`, `peaks` | memory with shared pages counted once; the most of it |
//! | `own_mark` | the high-water mark of this process, reset at the begin of a measurement |
//! | [`gpu`] | what the tree holds of the cards and does on them, from a thread of its own |
//! | `machine`, `cgroup`, `ourselves` | the whole machine; what a container or job allows of it; what we have |
//! | `proc` | parsing what `/proc` says |
//! | `kernel` | what only a bare system call answers; the only `unsafe` |

mod births;
mod cgroup;
mod cpu;
mod followed;
mod follower;
pub mod gpu;
pub mod gpu_tracker;
pub mod handles;
mod kernel;
mod lineage;
mod loads;
mod machine;
mod measure;
pub mod members;
pub mod options;
pub mod orphans;
mod ourselves;
mod own_mark;
mod pace;
pub mod parts;
mod peaks;
mod proc;
mod process;
pub mod questions;
mod ram;
pub mod sample;
pub mod tracker;
mod tree;
pub mod usage;

pub use handles::{Finished, Left, Running, Signaller, Stopper, Tracking};
pub use options::{Cards, Options};
pub use parts::Parts;
pub use questions::Asker;
pub use sample::Sample;
pub use tracker::{SpawnError, StartError, Tracker};
pub use usage::Usage;
