//! Reports on made-up records.

mod accounts;
mod lab;
mod sessions;
mod windows;
