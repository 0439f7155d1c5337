//! Who hears of ticks once they are stored.

use std::fmt::Debug;

use crate::metrics::Observed;

/// Hears of every tick that is stored, in order. It is waited for, so it must be quick.
pub trait Witness: Debug + Send {
    /// Gives what there is to say about it in the log.
    fn stored(
        &mut self,
        tick: i64,
        observed: Observed<'_>,
        driver_version: Option<&str>,
    ) -> Option<String>;
}
