//! Which pids belong to the tree, for those who look at the cards meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A process's place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Main,
    Descendant,
}

/// The processes of the tree, by pid. Clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Members(Arc<Mutex<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    living: HashMap<u32, Role>,
    /// Also those that are gone, whose pids may be somebody else's by now.
    ever: HashMap<u32, Role>,
}

impl Members {
    pub fn add(&self, pid: u32, role: Role) {
        let mut lists = self.lock();
        lists.living.insert(pid, role);
        lists.ever.insert(pid, role);
    }

    /// It is gone, and its pid free for others.
    pub fn remove(&self, pid: u32) {
        self.lock().living.remove(&pid);
    }

    /// Those that are there; whoever changes the list waits meanwhile.
    pub fn living<T>(&self, look: impl FnOnce(&HashMap<u32, Role>) -> T) -> T {
        look(&self.lock().living)
    }

    /// All that ever were there, for those who can tell by its age whom a pid meant.
    pub fn ever<T>(&self, look: impl FnOnce(&HashMap<u32, Role>) -> T) -> T {
        look(&self.lock().ever)
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_that_is_free_again_is_nobodys() {
        let members = Members::default();
        members.add(7, Role::Descendant);
        members.clone().remove(7);
        assert!(members.living(HashMap::is_empty));
        assert_eq!(members.ever(|ever| ever.get(&7).copied()), Some(Role::Descendant));
    }
}
