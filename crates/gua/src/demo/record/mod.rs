//! A history of a simulated machine in the record, made without polls: a scenario says exactly what each
//! process does, so spans are made from that. A poll every 5 seconds would take minutes for a year.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | `timeline` | Unix time of a scenario |
//! | `observed` | when cards and the driver could be read |
//! | `course` | what a card and its holders do over a time |
//! | `work` | the rule by which time counts as work, on an exact utilization |
//! | `classify` | spans of a card |
//! | `identity` | who is behind a process |
//! | `latest` | what was last seen |
//! | `part` | everything that a recorder would know of a time |
//! | `write` | writes a history into a database |

mod classify;
mod course;
mod identity;
mod latest;
mod observed;
mod part;
mod timeline;
mod work;
mod write;

#[cfg(test)]
mod tests;

pub use write::{BOOT, write, write_unended};
