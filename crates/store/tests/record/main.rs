//! The record through its public interface: what is written is read back, whatever happens between.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod checking;
mod clock;
mod crash;
mod disk;
mod export;
mod info;
mod lab;
mod names;
mod policy;
mod pruning;
mod reading;
mod sessions;
mod totals;
mod writing;
