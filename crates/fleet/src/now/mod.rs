//! What is free on many hosts now, and who holds what.

mod answer;
mod read;

pub use answer::{
    FleetCard, FleetHolder, FleetNow, FleetState, FreeCard, FreeCards, HolderOnHost, HoldersNow,
    HostCards, LongestIdle, StateCounts,
};
pub use read::read_fleet_now;
