//! Facts about GPUs and the processes that hold them, from the driver and from `/proc`. Their meaning
//! is judged elsewhere.
//!
//! A value that could not be read is never a number here. It is a [`Reading::Unknown`] with the reason,
//! so that it cannot be mistaken for zero.
//!
//! # Layout
//!
//! | module | content |
//! |---|---|
//! | [`clocks`] | reads the host's clocks |
//! | [`nvml`] | cards, holders and accounts through the driver's library |
//! | [`poller`] | polls of cards and holders for the classifier |
//! | [`proc`] | processes and accounts of the host, from its `/proc` and `/etc` |
//! | [`directory`] | questions to a directory service, which may hang |
//! | [`oneshot`] | a value that another thread sends once |
//! | [`fork`] | prevents forks while the library is in use |
//! | [`threads`] | starts and counts our threads in this process |
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

pub mod clocks;
pub mod directory;
pub mod fork;
pub mod identity;
pub mod nvml;
pub mod oneshot;
pub mod poller;
pub mod proc;
pub mod threads;

pub use clocks::Clocks;
pub use gua_core::card::{Basis, CardFacts, CardLook, MemoryUse, Utilization, Vitals};
pub use gua_core::process::{Holder, Holders, Kinds};
pub use gua_core::reading::{Reading, Reason as Why};
pub use gua_core::{card, process, slices, units};
pub use nvml::{Account, CardAccounts};

/// Values that were read, or the reason why not.
pub mod reading {
    pub use gua_core::reading::{Reading, Reason as Why};
}
