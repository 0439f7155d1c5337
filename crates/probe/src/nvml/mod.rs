//! Cards and their holders through the driver's library, and the one room for its
//! oddities.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `prober` | [`Prober`]: opens the library, looks, opens it anew when the driver went away |
//! | `bench` | does the looking on threads of its own, so that a hung card hangs nobody |
//! | `unit` | one GPU: finds its cards (itself, or its MIG instances) |
//! | `attached` | one card: what it remembers between looks, and how its vitals are read |
//! | `utilization`, `counters`, `holders`, `memory` | one question each |
//! | `library` | loading and initialising |
//! | `error` | the library's codes in our words |
//! | `raw` | the calls that nvml-wrapper lacks or makes twice; the only `unsafe` |

mod attached;
mod bench;
mod counters;
mod error;
mod holders;
mod library;
mod memory;
mod prober;
mod raw;
mod unit;
mod utilization;

pub use error::OpenError;
pub use library::{DEFAULT_LIBRARY, DriverFacts};
pub use prober::{Look, Options, Patience, Prober, is_left_in_the_loader};
pub use raw::exit_at_once;
pub use unit::Wants;
