//! Counters through the public interface: recorded, exported and sent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "made-up figures are small")]

mod exporting;
mod lab;
mod pushing;
mod receiver;
mod recording;
mod summing;
