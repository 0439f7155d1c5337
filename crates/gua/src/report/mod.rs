//! One file a question; the answers are plain structs that can be serialized.

pub mod checkup;
pub mod database;
pub mod now;
