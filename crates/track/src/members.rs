//! Which pids belong to the tree, for those who look at the cards meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A process's place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Main,
    Descendant,
}

/// All processes that were ever seen in the tree, by pid. Clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Members(Arc<Mutex<HashMap<u32, Role>>>);

impl Members {
    pub fn add(&self, pid: u32, role: Role) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pid, role);
    }

    /// Reads the list as it is now; whoever adds to it waits meanwhile.
    pub fn read<T>(&self, look: impl FnOnce(&HashMap<u32, Role>) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
