//! What to open, what to read, and how long to wait for it.

use std::path::PathBuf;
use std::time::Duration;

use super::unit::Wants;

/// What to open and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The library's path; the loader's own search when `None`.
    pub library: Option<PathBuf>,
    /// Where the host's files begin.
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

/// How long to wait for a driver that may be failing.
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
    /// The same, but nothing is waited for longer than that.
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
