//! A thread that stays for a while after its work, for who has more of it soon: to start one takes
//! longer than a short piece of work, and to wait for its begin longer still.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::answer::{Answer, Told, answer};
use crate::own::Own;
use crate::threads::Counted;
use crate::{fork, nvml, threads};

/// How long it stays.
const REST: Duration = Duration::from_secs(1);

/// How long a fork waits for those that are about to rest.
const MOST: Duration = Duration::from_millis(100);

static RESTING: Own<Resting> = Own::empty();

/// How many have been given something to do, and do not rest yet.
static AT_WORK: AtomicU32 = AtomicU32::new(0);

/// How many of them are needed.
static NEEDED: AtomicU32 = AtomicU32::new(0);

/// A thread that waits for work.
#[derive(Debug)]
struct Resting {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
}

/// Something to do, and what the thread is to rest with afterwards.
struct Order {
    work: Box<dyn FnOnce() + Send>,
    at_work: Counted,
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
    begins: Option<Answer<()>>,
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
        let has_told = |begins: &Answer<()>| matches!(begins.within(most), Told::This(()));
        self.begins.as_ref().is_none_or(has_told)
    }

    /// Says that its work is going to be needed, until that is gone.
    #[must_use]
    pub fn need(&self) -> Need {
        Need { _counted: Counted::new(&NEEDED) }
    }

    /// Has it do that, and rest afterwards.
    pub fn order(self, work: impl FnOnce() + Send + 'static) {
        let orders = self.resting.orders.clone();
        let (work, at_work) = (Box::new(work), Counted::new(&AT_WORK));
        // It hears it: it goes only when nobody can order anything any more.
        let _ = orders.send(Order { work, at_work, afterwards: self.resting });
    }
}

/// Somebody needs the work of a thread.
#[derive(Debug)]
pub struct Need {
    _counted: Counted,
}

/// Sends away a thread that rests, or is about to, and waits until it has gone.
pub(crate) fn send_away() {
    let begun = Instant::now();
    let is_about_to_rest = || AT_WORK.load(Ordering::SeqCst) > NEEDED.load(Ordering::SeqCst);
    while is_about_to_rest() && begun.elapsed() < MOST {
        thread::yield_now();
    }
    if let Some(Resting { orders, thread }) = taken(|_| true) {
        drop(orders);
        // Its panic was its own.
        let _ = thread.join();
    }
}

/// None of them is in a process that was forked.
pub(crate) fn forget() {
    AT_WORK.store(0, Ordering::SeqCst);
    NEEDED.store(0, Ordering::SeqCst);
}

fn start(name: &str) -> io::Result<Hired> {
    let (orders, ordered) = mpsc::channel();
    let (begin, begins) = answer();
    let thread = threads::spawn(threads::named(name), move || {
        // Who hired it need not wait for it.
        begin.tell(());
        let mut next = ordered.recv().ok();
        while let Some(Order { work, at_work, afterwards }) = next {
            work();
            next = rested(at_work, afterwards, &ordered);
        }
    })?;
    Ok(Hired { resting: Resting { orders, thread }, begins: Some(begins) })
}

/// What is to be done next; `None` when it has to go.
fn rested(at_work: Counted, resting: Resting, ordered: &Receiver<Order>) -> Option<Order> {
    // No fork meanwhile, which would copy a lock that nobody gives back.
    let one_too_many = fork::inside(|| {
        let not_put = if nvml::stays_open() { RESTING.put(resting) } else { Some(resting) };
        drop(at_work);
        not_put
    });
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
        let hired = hired("test").unwrap();
        let (need, (go, gone)) = (hired.need(), channel());
        hired.order(move || gone.recv().unwrap());
        // It is needed: that is not waited for.
        send_away();
        assert_eq!(threads::count(), 1);
        drop(need);
        go.send(()).unwrap();
        // It may have no core to come to its rest on.
        until(|| {
            send_away();
            threads::count() == 0
        });
        assert!(who().1);
    }
}
