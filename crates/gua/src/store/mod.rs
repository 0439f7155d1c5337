//! The database: the only SQL.

mod identify;

pub use identify::{Identity, identify};

/// Marks a database as ours, in SQLite's field for it: `GUA1`.
pub const APPLICATION_ID: u32 = 0x4755_4131;

/// The newest layout that this version understands.
pub const SCHEMA_VERSION: u32 = 1;
