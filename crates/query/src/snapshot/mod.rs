//! All cards and holders now, live or as last seen.
//!
//! | module | contents |
//! |---|---|
//! | `live` | [`LiveSource`]: reads the driver and the host, again and again |
//! | `recent` | means over the last seconds of several looks |
//! | `recorded` | what the recorder last saw |
//! | `idle` | [`add_idle_times`]: since when holders are idle, from the record |
//! | `unlisted` | the same of unlisted memory |
//! | `watch` | [`IdleWatch`]: the same by the looks of one program |
//! | `selection` | [`CardSelection`]: the cards that were asked for |

mod idle;
mod live;
mod recent;
mod recorded;
mod selection;
mod unlisted;
mod watch;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

pub use gua_core::snapshot::*;
pub use idle::{add_idle_times, add_no_history};
pub use live::LiveSource;
pub(crate) use recorded::newest_run;
pub use recorded::{SnapshotError, recorded};
pub use selection::{CardSelection, SelectionError};
pub use watch::IdleWatch;
