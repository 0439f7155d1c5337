//! Cards and their holders through the driver's library. What is peculiar to that library stays in this
//! module.
//!
//! # Layout
//!
//! | module | content |
//! |---|---|
//! | `prober` | [`Prober`]: opens the library and reads the cards, and opens it again if the driver went away |
//! | `options` | what to open, what to read, and how long to wait |
//! | `worker` | threads that call the driver, so that a card that hangs blocks no caller |
//! | `unit` | one GPU: finds its cards (itself, or its MIG instances) |
//! | `mig` | how a GPU is divided into instances |
//! | `card` | one card: what is kept between looks, and how it is read |
//! | `utilization`, `holders`, `memory`, `accounts` | one group of readings each |
//! | `card_samples`, `process_samples` | samples since the last look, and their mean |
//! | `library` | loads and initialises the library, and counts its calls |
//! | `error` | error codes of the library as reasons |
//! | `raw` | calls that nvml-wrapper lacks or makes twice; the only `unsafe` |

mod accounts;
mod card;
mod card_samples;
mod error;
mod holders;
mod library;
mod memory;
mod mig;
mod options;
mod prober;
mod process_samples;
mod raw;
mod unit;
mod utilization;
mod worker;

pub use accounts::{Account, CardAccounts};
pub use error::OpenError;
pub use library::{DEFAULT_LIBRARY, DriverFacts, call_count, close_unused, stay_open};
pub use options::{Options, Patience, Wants};
pub use prober::{Look, Prober, is_left_in_the_loader};
pub use raw::{end_in_spite_of_the_loader, exit_at_once};
