//! The tracker on real processes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so")]

/// Programs that use a known amount of something.
mod accuracy;
/// Processes that run already.
mod attached;
/// The program that is measured.
mod subject;
