//! What another thread has to tell, once. Unlike a channel it needs nothing of the thread that waits:
//! a channel's first wait takes the loader's lock, and a driver that hangs while it is loaded never
//! gives that back.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Told by somebody else, or never.
#[derive(Debug)]
pub struct Answer<T>(Arc<Shared<T>>);

/// Who is to tell it. Whoever is gone without a word tells that.
#[derive(Debug)]
pub struct Teller<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    told: Mutex<Told<T>>,
    changed: Condvar,
}

#[derive(Debug)]
pub enum Told<T> {
    NotYet,
    This(T),
    /// Nobody is there to tell it any more, or it was heard already.
    Nothing,
}

/// The two ends of it.
#[must_use]
pub fn answer<T>() -> (Teller<T>, Answer<T>) {
    let shared = Arc::new(Shared { told: Mutex::new(Told::NotYet), changed: Condvar::new() });
    (Teller(Arc::clone(&shared)), Answer(shared))
}

impl<T> Answer<T> {
    /// What was told, at the latest after that time.
    #[must_use]
    pub fn within(&self, most: Duration) -> Told<T> {
        let is_awaited = |told: &mut Told<T>| matches!(told, Told::NotYet);
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), most, is_awaited);
        let mut told = waited.unwrap_or_else(PoisonError::into_inner).0;
        match &*told {
            Told::NotYet => Told::NotYet,
            Told::This(_) | Told::Nothing => mem::replace(&mut *told, Told::Nothing),
        }
    }
}

impl<T> Teller<T> {
    pub fn tell(self, it: T) {
        self.0.become_told(Told::This(it));
    }
}

impl<T> Drop for Teller<T> {
    fn drop(&mut self) {
        if matches!(*self.0.lock(), Told::NotYet) {
            self.0.become_told(Told::Nothing);
        }
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Told<T>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn become_told(&self, told: Told<T>) {
        *self.lock() = told;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn it_is_heard_once_and_silence_is_told_too() {
        let (teller, answer) = answer();
        assert!(matches!(answer.within(Duration::ZERO), Told::NotYet));
        let told = thread::spawn(move || teller.tell(5));
        assert!(matches!(answer.within(Duration::MAX), Told::This(5)));
        told.join().unwrap();
        assert!(matches!(answer.within(Duration::MAX), Told::Nothing));
    }

    #[test]
    fn who_is_gone_tells_nothing() {
        let (teller, silent) = answer::<u32>();
        drop(teller);
        assert!(matches!(silent.within(Duration::MAX), Told::Nothing));
    }
}
