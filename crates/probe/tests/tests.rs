//! The driver's oddities, each on a machine that shows it, through the real library path:
//! dlopen, versioned functions, error codes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by falling over")]

/// The builder that the others use.
mod machine;

/// What the driver keeps account of.
mod accounts;
/// Looks that are begun, and taken later.
mod begun;
/// What one look costs, and that fixed facts are read once.
mod calls;
/// Time as the classifier sees it through the library.
mod classified;
/// Clocks that are set, and samples stamped in the future.
mod clock;
/// Sample buffers that are emptied between looks.
mod drain;
/// Lost cards, hung calls, a driver that goes away and comes back.
mod failing;
/// Process lists: versions, growth, doubt, shares of the work.
mod holders;
/// MIG instances.
mod mig;
/// The library that stays open, and what is left of a prober that was dropped.
mod open;
/// Polls for the classifier.
mod poller;
/// Who is behind real processes.
mod real;
/// Samples of cards and processes, with their times.
mod samples;
/// Utilization, memory and the rest of one card.
mod vitals;
