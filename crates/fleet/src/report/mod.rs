//! What the cards of many hosts did over a window, by the counters that an engine has of them.
//!
//! A counter is taken at the time up to which it is final, which `gua_final_until_timestamp_seconds` says,
//! not at the time of the scrape. So the report on a window says what the hosts' own reports say, however
//! often they were scraped. Nothing is extrapolated.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | `read` | sends the queries one after the other |
//! | `queries` | the queries in PromQL |
//! | `epoch` | counters of a host since they began at 0, and the targets that have them |
//! | `edge` | value of a counter at one moment, from the samples around it |
//! | `collect` | takes the responses, series by series |
//! | `resets` | counters that began again within the window, from all samples |
//! | `tally` | sums of what counters rose by |
//! | `week` | hours in which counters rose |
//! | `finish` | from sums to the answer |
//! | `answer` | the answer |

mod answer;
mod collect;
mod edge;
mod epoch;
mod finish;
mod queries;
mod read;
mod resets;
mod tally;
mod week;

pub use answer::{FleetPerson, FleetUsage, HostUsage, ModelUsage, Source};
pub(crate) use queries::name_matcher;
pub use read::FleetReader;
