//! Reports on made-up records.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod accounts;
mod lab;
mod page;
mod parts;
mod sessions;
mod windows;
