//! What to measure, and how often.

use std::path::PathBuf;
use std::time::Duration;

/// What to measure, and how often.
#[derive(Debug, Clone)]
pub struct Options {
    /// From one sample to the next.
    pub every: Duration,
    /// Whose utilization and energy are asked for. The memory is that of all cards.
    pub cards: Cards,
    /// The driver's library; the loader's own search when `None`.
    pub library: Option<PathBuf>,
}

impl Options {
    /// No sample is closer to the one before.
    pub const SHORTEST: Duration = Duration::from_millis(1);
    /// No sample is further from it.
    pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
}

impl Default for Options {
    fn default() -> Self {
        Self { every: Duration::from_secs(1), cards: Cards::All, library: None }
    }
}

/// Which cards to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cards {
    All,
    /// By UUID. Make sure that they exist before the measurement begins.
    Only(Vec<String>),
    /// The driver is not even opened.
    None,
}
