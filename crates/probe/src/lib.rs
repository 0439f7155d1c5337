//! Facts about GPUs and the processes that hold them, from the driver and from
//! `/proc`. Facts only: what they mean is judged elsewhere.
//!
//! A value that could not be read is never a number here. It is a
//! [`Reading::Unknown`] with the reason, so that nobody can mistake it for zero.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | [`answer`] | a value that another thread sends once |
//! | [`account`] | what the driver keeps account of, also after a process has ended |
//! | [`clocks`] | reads the host's clocks |
//! | [`nvml`] | cards and holders through the driver's library |
//! | [`poller`] | cards and holders together, as the classifier takes them |
//! | [`proc`] | what a pid is, from the host's `/proc` |
//! | [`directory`] | questions to a directory of people, which may hang |
//! | [`fork`] | keeps a fork of this process away from the library |
//! | `own` | what belongs to this process and not to a fork of it |
//! | [`threads`] | how many threads of this process are ours |
//! | [`identity`] | the identity behind a process: a person, a job, a container, a notebook |
//!
//! ```no_run
//! use probe::nvml::{Options, Prober};
//!
//! let mut prober = Prober::open(Options::default())?;
//! for card in prober.look().cards {
//!     println!("{:?} {:?}", card.facts.name, card.vitals.utilization);
//! }
//! # Ok::<(), probe::nvml::OpenError>(())
//! ```

pub mod account;
pub mod answer;
pub mod clocks;
pub mod directory;
pub mod fork;
pub mod identity;
pub mod nvml;
mod own;
pub mod poller;
pub mod proc;
pub mod threads;

pub use account::{Account, CardAccounts};
pub use clocks::Clocks;
pub use gua_core::card::{Basis, CardFacts, CardLook, MemoryUse, Utilization, Vitals};
pub use gua_core::process::{Holder, Holders, Kinds};
pub use gua_core::reading::{Reading, Reason as Why};
pub use gua_core::{card, process, slices, units};

/// Values that were read, or the reason why not.
pub mod reading {
    pub use gua_core::reading::{Reading, Reason as Why};
}
