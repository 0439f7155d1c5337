//! One file or folder a question; the answers are plain structs that can be serialized.

pub mod accounts;
pub mod bands;
pub mod board;
pub mod checkup;
pub mod config;
pub mod database;
pub mod identity;
pub mod imported;
pub mod now;
pub mod policy;
pub mod query;
pub mod recorded;
pub mod reservation;
pub mod status;
pub mod tracked;
pub mod unknowns;
pub mod usage;
pub mod who;
