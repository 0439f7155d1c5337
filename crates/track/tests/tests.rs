//! The tracker as its users call it: on real processes, and on a pretend driver through the real
//! library path.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by falling over")]

/// The builder of pretend machines.
mod machine;
/// The program that is measured.
mod subject;

/// Programs that use a known amount of something.
mod accuracy;
/// Processes that run already.
mod attached;
/// Which cards there are.
mod available;
/// A cgroup of our own.
mod cgroup;
/// What a command does on the cards.
mod gpu;
