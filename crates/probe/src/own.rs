//! What belongs to one process. A fork copies it, but neither the threads nor the handles behind it.

use std::mem;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A place for something that only the process that put it there may use.
#[derive(Debug)]
pub(crate) struct Own<T>(Mutex<Option<Put<T>>>);

#[derive(Debug)]
struct Put<T> {
    owner: u32,
    it: T,
}

impl<T> Own<T> {
    pub(crate) const fn empty() -> Self {
        Self(Mutex::new(None))
    }

    /// Takes what is there, if it is ours.
    pub(crate) fn take(&self) -> Option<T> {
        self.ours().take().map(|put| put.it)
    }

    /// Puts something there; what was there before is given back.
    pub(crate) fn replace(&self, it: T) -> Option<T> {
        self.ours().replace(Put { owner: process::id(), it }).map(|put| put.it)
    }

    /// Returns a copy of what is there, if it is ours.
    pub(crate) fn get(&self) -> Option<T>
    where
        T: Clone,
    {
        self.ours().as_ref().map(|put| put.it.clone())
    }

    /// A copy is left as it is: the original may need what closing would take away.
    fn ours(&self) -> MutexGuard<'_, Option<Put<T>>> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if place.as_ref().is_some_and(|put| put.owner != process::id()) {
            mem::forget(place.take());
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_another_process_has_put_there_is_forgotten_and_not_dropped() {
        let it = Arc::new(());
        let place = Own(Mutex::new(Some(Put { owner: 0, it: Arc::clone(&it) })));
        assert!(place.get().is_none());
        assert_eq!(Arc::strong_count(&it), 2);
        assert!(place.replace(Arc::clone(&it)).is_none());
        assert!(place.get().is_some());
        assert!(place.replace(Arc::clone(&it)).is_some());
        assert!(place.take().is_some());
        assert!(place.take().is_none());
    }
}
