//! What did the cards of many hosts do, by the counters that an engine keeps of them?
//!
//! Counters are taken at the moments that their ticks spoke for, which
//! `gua_last_tick_timestamp_seconds` tells, not at those of the scrapes. So what is told of a
//! window is what the hosts' own histories tell of it, however often they were scraped, and
//! nothing is extrapolated.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `questions` | what is asked of the engine, in its language |
//! | `target` | whose series they are |
//! | `counter` | which counters there are: ways in which a host is known, and when it began anew |
//! | `edge` | a counter at one moment, from the samples around it |
//! | `gather` | takes the answers, series by series |
//! | `anew` | counters that began anew, put together from every sample |
//! | `week` | the hours of the week that they rose in |
//! | `tally` | what the counters add up to |
//! | `answer`, `finish` | what is told |
//! | `now` | the hosts at this moment |

mod anew;
mod answer;
mod counter;
mod edge;
mod finish;
mod gather;
pub mod now;
mod questions;
mod tally;
mod target;
mod week;

pub use answer::{FleetPerson, FleetUsage, HostUsage, ModelUsage, Source};
pub use gather::{Edge, Gather, Special};
pub use questions::{Around, Questions, Selection, Side};
pub use target::{TargetId, Targets};
