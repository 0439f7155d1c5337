//! Options of a prober: what to open, what to read, and how long to wait.

use std::path::PathBuf;
use std::time::Duration;

/// Options of a prober.
#[derive(Debug, Clone)]
pub struct Options {
    /// Path of the library; `None` leaves the search to the loader.
    pub library: Option<PathBuf>,
    /// Root of the host's files.
    pub host_root: PathBuf,
    pub wants: Wants,
    pub patience: Patience,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            library: None,
            host_root: PathBuf::from("/"),
            wants: Wants::ALL,
            patience: Patience::default(),
        }
    }
}

/// Longest times to wait for a driver that may be failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For loading and initialising, and for a look that has to wake up cards.
    pub open: Duration,
    /// For waking up one GPU, which takes seconds where persistence mode is off.
    pub attach: Duration,
    /// For reading one GPU.
    pub card: Duration,
    /// For a whole look.
    pub look: Duration,
}

impl Patience {
    /// Returns the same times, but none longer than this.
    #[must_use]
    pub fn at_most(self, most: Duration) -> Self {
        let Self { open, attach, card, look } = self;
        Self {
            open: open.min(most),
            attach: attach.min(most),
            card: card.min(most),
            look: look.min(most),
        }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            open: Duration::from_secs(30),
            attach: Duration::from_secs(8),
            card: Duration::from_secs(2),
            look: Duration::from_secs(10),
        }
    }
}

/// Readings that are wanted besides utilization, memory and holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a call of its own")]
pub struct Wants {
    pub power: bool,
    pub energy: bool,
    pub temperature: bool,
    pub clocks: bool,
    pub codecs: bool,
    pub fan: bool,
    /// Lists of graphics and MPS processes. Otherwise their last known entries are used.
    pub all_lists: bool,
    /// Each holder's share of the work.
    pub shares: bool,
    /// Shares also on idle cards: those without new samples and with an instant utilization of 0.
    pub idle_shares: bool,
    /// Part of the time in which memory was read or written.
    pub memory_work: bool,
    pub performance: bool,
    pub compute_mode: bool,
    pub persistence: bool,
    pub mig: bool,
    /// Power limit that was set. The enforced one may be lower.
    pub set_power_limit: bool,
}

impl Wants {
    pub const ALL: Self = Self {
        power: true,
        energy: true,
        temperature: true,
        clocks: true,
        codecs: true,
        fan: true,
        all_lists: true,
        shares: true,
        idle_shares: true,
        memory_work: true,
        performance: true,
        compute_mode: true,
        persistence: true,
        mig: true,
        set_power_limit: true,
    };

    /// Only utilization, memory and holders.
    pub const ESSENTIALS: Self = Self {
        power: false,
        energy: false,
        temperature: false,
        clocks: false,
        codecs: false,
        fan: false,
        all_lists: true,
        shares: false,
        idle_shares: true,
        memory_work: false,
        performance: false,
        compute_mode: false,
        persistence: false,
        mig: false,
        set_power_limit: false,
    };
}
