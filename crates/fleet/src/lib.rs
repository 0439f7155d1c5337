//! Counters as series: scraped or sent to a Prometheus-compatible engine, and read back from there.
//!
//! [`Totals`] observes the recorder. It adds the final time of each tick to totals in the database,
//! in the tick's transaction, and makes a [`Frame`] of them for scrapes. With remote write, the frame
//! goes into an outbox in the same transaction, and a [`Pusher`] sends it.
//!
//! [`report`] makes the report on a window of what an engine has of many hosts, [`now`] shows what they
//! were last seen doing.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | [`family`] | every family of series, and the counters in it |
//! | [`labels`] | texts of labels: cards, people and what they run |
//! | [`counters`] | totals of all counters in memory |
//! | `counting` | counts the final time of each tick |
//! | `caps` | limits to the number of series |
//! | `idle` | times since which users hold a card without working |
//! | [`poll_times`] | durations of polls |
//! | [`totals`] | the observer of the recorder |
//! | [`frame`] | what is exported after a tick |
//! | [`samples`] | a frame as samples |
//! | [`text`] | the text that a scrape gets |
//! | [`slot`] | the newest frame, shared with the web server |
//! | [`message`] | a frame as a message of remote write |
//! | [`outbox`] | what the recorder and the pusher tell each other |
//! | [`verdict`] | what a receiver's response means |
//! | [`pusher`] | sends the outbox |
//! | [`engine`] | HTTP client for Prometheus-compatible engines |
//! | [`selection`] | which series of an engine are read |
//! | [`target`] | recorders as an engine knows them |
//! | [`report`] | what the cards of many hosts did over a window |
//! | [`now`] | what is free on many hosts now, and who holds what |

mod caps;
pub mod counters;
mod counting;
pub mod engine;
pub mod family;
pub mod frame;
mod idle;
pub mod labels;
pub mod message;
pub mod now;
pub mod outbox;
pub mod poll_times;
pub mod pusher;
pub mod report;
pub mod samples;
pub mod selection;
pub mod slot;
pub mod target;
pub mod text;
pub mod totals;
pub mod verdict;

pub use counters::Counters;
pub use family::{Counter, FAMILIES, Family};
pub use frame::{CardGauges, Frame, Host};
pub use labels::OwnerLabels;
pub use outbox::Outbox;
pub use poll_times::PollTimes;
pub use pusher::Pusher;
pub use slot::{Frames, NotReady, RecordedFrames, Scraper, ServedFrame, Slot};
pub use text::{Format, format_text};
pub use totals::{OutboxOptions, Totals};
