//! Answers as a person or a program reads them: pure functions from a report to text.

pub mod config;
pub mod csv;
pub mod database;
pub mod fleet;
pub mod identity;
pub mod imported;
pub mod json;
mod markdown;
pub mod paint;
pub mod pick;
pub mod picture;
pub mod policy;
pub mod query;
pub mod stat;
pub mod status;
pub mod table;
pub mod tracked;
pub mod usage;
pub mod who;
pub mod words;
