//! Channel for one value from another thread. The first wait on a channel of the standard library takes
//! the loader's lock, which a driver that hangs while it is loaded never releases. This one does not.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Receiving end.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Shared<T>>);

/// Sending end. If it is dropped without a value, the channel is closed.
#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    received: Mutex<Received<T>>,
    changed: Condvar,
}

/// Result of waiting for a value.
#[derive(Debug)]
pub enum Received<T> {
    NotYet,
    Value(T),
    /// The sender is gone, or the value was received before.
    Closed,
}

/// Returns the two ends of a channel.
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared =
        Arc::new(Shared { received: Mutex::new(Received::NotYet), changed: Condvar::new() });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Receiver<T> {
    /// Waits for the value, at most for this time.
    #[must_use]
    pub fn within(&self, most: Duration) -> Received<T> {
        let is_awaited = |received: &mut Received<T>| matches!(received, Received::NotYet);
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), most, is_awaited);
        let mut received = waited.unwrap_or_else(PoisonError::into_inner).0;
        match &*received {
            Received::NotYet => Received::NotYet,
            Received::Value(_) | Received::Closed => mem::replace(&mut *received, Received::Closed),
        }
    }
}

impl<T> Sender<T> {
    pub fn send(self, value: T) {
        self.0.set(Received::Value(value));
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if matches!(*self.0.lock(), Received::NotYet) {
            self.0.set(Received::Closed);
        }
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Received<T>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, received: Received<T>) {
        *self.lock() = received;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_value_is_received_once() {
        let (sender, receiver) = channel();
        assert!(matches!(receiver.within(Duration::ZERO), Received::NotYet));
        let sending = thread::spawn(move || sender.send(5));
        assert!(matches!(receiver.within(Duration::MAX), Received::Value(5)));
        sending.join().unwrap();
        assert!(matches!(receiver.within(Duration::MAX), Received::Closed));
    }

    #[test]
    fn a_dropped_sender_closes_the_channel() {
        let (sender, silent) = channel::<u32>();
        drop(sender);
        assert!(matches!(silent.within(Duration::MAX), Received::Closed));
    }
}
