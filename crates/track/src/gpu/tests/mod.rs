//! The looks of a driver, pretended: as values, and through the real library path.

#[path = "../../../tests/machine.rs"]
mod machine;

/// Looks as values.
mod tally;
/// Looks through dlopen, at a driver that may fail.
mod watch;
