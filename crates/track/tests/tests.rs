//! The tracker as its users call it, on a pretend driver through the real library path.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by falling over")]

/// The builder that the others use.
mod machine;

/// Which cards there are.
mod available;
/// What a command does on the cards.
mod gpu;
