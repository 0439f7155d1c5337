//! One file or folder a question; the answers are plain structs that can be serialized.

pub mod config;
pub mod database;
pub mod imported;
pub mod policy;
pub mod query;
pub mod tracked;
pub mod unknowns;
