//! Cards and their holders through the driver's library, and the one room for its
//! oddities.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `prober` | [`Prober`]: opens the library, looks, opens it anew when the driver went away |
//! | `options` | what to open, what to read, and how long to wait for it |
//! | `bench` | does the asking on threads of its own, so that a hung card hangs nobody |
//! | `unit` | one GPU: finds its cards (itself, or its MIG instances) |
//! | `calls` | number of calls of the driver |
//! | `division` | into which instances a GPU is divided |
//! | `attached` | one card: what it remembers between looks, and how its vitals are read |
//! | `utilization`, `counters`, `holders`, `memory` | one question each |
//! | `accounts` | what the driver keeps account of, also after a process has ended |
//! | `gathered`, `sampled` | the samples since the last look and their mean, of a card and of each process |
//! | `library` | loads and initialises the library, and keeps it open where that is wanted |
//! | `error` | the library's codes in our words |
//! | `raw` | the calls that nvml-wrapper lacks or makes twice; the only `unsafe` |

mod accounts;
mod attached;
mod bench;
mod calls;
mod counters;
mod division;
mod error;
mod gathered;
mod holders;
mod library;
mod memory;
mod options;
mod prober;
mod raw;
mod sampled;
mod unit;
mod utilization;

pub use calls::call_count;
pub use error::OpenError;
pub use library::{DEFAULT_LIBRARY, DriverFacts, close_unused, stay_open};
pub use options::{Options, Patience};
pub use prober::{Look, Prober, is_left_in_the_loader};
pub use raw::{end_in_spite_of_the_loader, exit_at_once};
pub use unit::Wants;
