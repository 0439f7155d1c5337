//! A thread that stays for a while after its work, for who has more of it soon: to start one takes
//! longer than a short piece of work, and to wait for its begin longer still.

use std::fmt;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::own::Own;
use crate::{fork, nvml, threads};

/// How long it stays.
const REST: Duration = Duration::from_secs(1);

static RESTING: Own<Resting> = Own::empty();

/// A thread that waits for work.
#[derive(Debug)]
struct Resting {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
}

/// Something to do, and what the thread is to rest with afterwards.
struct Order {
    work: Box<dyn FnOnce() + Send>,
    afterwards: Resting,
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order").finish_non_exhaustive()
    }
}

/// A thread of ours to be given something to do. Without that it goes.
#[derive(Debug)]
pub struct Hired {
    resting: Resting,
    /// Told by one that was just started.
    begins: Option<Receiver<()>>,
}

/// One that rests, or a new one. Threads rest where things stay open ([`nvml::stay_open`]).
///
/// # Errors
/// When there is no thread to be had.
pub fn hired(name: &str) -> io::Result<Hired> {
    match taken(|_| true) {
        Some(resting) => Ok(Hired { resting, begins: None }),
        None => start(name),
    }
}

impl Hired {
    /// Whether it has begun, at the latest after that time.
    #[must_use]
    pub fn has_begun_within(&self, most: Duration) -> bool {
        self.begins.as_ref().is_none_or(|begins| begins.recv_timeout(most).is_ok())
    }

    /// Has it do that, and rest afterwards.
    pub fn order(self, work: impl FnOnce() + Send + 'static) {
        let orders = self.resting.orders.clone();
        // It hears it: it goes only when nobody can order anything any more.
        let _ = orders.send(Order { work: Box::new(work), afterwards: self.resting });
    }
}

/// Sends away a thread that rests, and waits until it has gone.
pub(crate) fn send_away() {
    if let Some(Resting { orders, thread }) = taken(|_| true) {
        drop(orders);
        // Its panic was its own.
        let _ = thread.join();
    }
}

fn start(name: &str) -> io::Result<Hired> {
    let (orders, ordered) = mpsc::channel();
    let (begin, begins) = mpsc::channel();
    let thread = threads::spawn(threads::named(name), move || {
        // Who hired it need not wait for it.
        let _ = begin.send(());
        let mut next = ordered.recv().ok();
        while let Some(Order { work, afterwards }) = next {
            work();
            next = rested(afterwards, &ordered);
        }
    })?;
    Ok(Hired { resting: Resting { orders, thread }, begins: Some(begins) })
}

/// What is to be done next; `None` when it has to go.
fn rested(resting: Resting, ordered: &Receiver<Order>) -> Option<Order> {
    // No fork meanwhile, which would copy a lock that nobody gives back.
    let one_too_many =
        fork::inside(|| if nvml::stays_open() { RESTING.put(resting) } else { Some(resting) });
    if one_too_many.is_some() {
        return None;
    }
    match ordered.recv_timeout(REST) {
        Ok(order) => Some(order),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => {
            let us = thread::current().id();
            match taken(|resting| resting.thread.thread().id() == us) {
                Some(_) => None,
                // Somebody has taken it, and either has an order or sends it away.
                None => ordered.recv().ok(),
            }
        }
    }
}

fn taken(is_wanted: impl FnOnce(&Resting) -> bool) -> Option<Resting> {
    fork::inside(|| RESTING.take_if(is_wanted))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Which thread does it, and whether that is a new one.
    fn who() -> (thread::ThreadId, bool) {
        let (tell, told) = channel();
        let hired = hired("test").unwrap();
        let is_new = hired.begins.is_some();
        assert!(hired.has_begun_within(Duration::from_secs(60)));
        hired.order(move || tell.send(thread::current().id()).unwrap());
        (told.recv().unwrap(), is_new)
    }

    fn until(it_is_so: impl Fn() -> bool) {
        while !it_is_so() {
            thread::yield_now();
        }
    }

    fn until_one_rests() {
        until(|| RESTING.look(|_| ()).is_some());
    }

    /// In a process of its own, as nextest runs it: the state is everybody's.
    #[test]
    fn one_that_rests_is_asked_first_and_goes_when_it_is_sent_away() {
        let (first, second) = (who(), who());
        assert!(first.0 != second.0 && second.1, "where nothing stays open, threads do not rest");
        until(|| threads::count() == 0);
        nvml::stay_open();
        let (first, _) = who();
        until_one_rests();
        assert_eq!(who(), (first, false));
        until_one_rests();
        send_away();
        assert_eq!(threads::count(), 0);
        assert!(who().1);
    }
}
