//! What was acknowledged, in a file beside the database.
//!
//! Not in it: a second writer would make ticks wait, and a copy of a database would go on from
//! where another one is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::counting::{Beside, Counted};

/// How far it came. It is not of one receiver: who mends an address gets what waited for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cursor {
    /// Up to the last tick that was taken, or given up; those that were given up are counted.
    #[serde(flatten)]
    pub counted: Counted,
    /// The newest time that anything was sent for. The clock may have been set back since, and
    /// no receiver takes what is older.
    pub newest_millis: i64,
}

/// Where it is kept: `gua-push.json` beside `gua.db`.
pub type CursorFile = Beside<Cursor>;

impl CursorFile {
    #[must_use]
    pub fn of(database: &Path) -> Self {
        Self::new(database, "push", "gua.push/3")
    }
}
