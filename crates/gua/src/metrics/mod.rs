//! What the ticks have counted so far, as series for Prometheus and its kin (pure).
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `split` | a time divided among those who share a card, to the microsecond |
//! | `owner` | whom time is counted for: a person, and what the config asks for besides |
//! | `counters` | everything counted since the counters began |
//! | `room` | how many can be told apart, and who makes room for others |
//! | `card` | one card's counters, and those of everybody on it |
//! | `histogram` | how long ticks took |
//! | `frame` | the counters and the cards at the last tick, ready to be shown |
//! | `family` | every series: its name, what it means, its kind |
//! | `series` | a frame as samples, for whoever writes them |
//! | `text` | samples as the text that a scrape gets |

mod card;
mod counters;
mod family;
mod frame;
mod histogram;
mod owner;
mod room;
mod series;
mod split;
#[cfg(test)]
mod tests;
mod text;

pub use card::{CardCounters, STATES};
pub use counters::{Counters, Loss, Observed};
pub use family::{Family, Kind};
pub use frame::{Frame, Host};
pub use owner::{Owner, UNATTRIBUTED, Wanted};
pub use series::{Labels, Sink, tell};
pub use text::{Format, text};
