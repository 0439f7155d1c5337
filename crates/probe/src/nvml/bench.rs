//! Does the asking on threads of its own, so that a hung card hangs nobody.
//!
//! One worker takes one GPU after the other. When one is slow, another worker goes on
//! with the rest meanwhile. A GPU that does not answer in time is left behind with its
//! worker; when it comes back it is handed out again, and until then nobody waits for it.
//! A healthy host has one worker.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gua_core::poll::ProcessPoll;

use super::options::Patience;
use super::unit::{Unit, Wants};
use crate::account::CardAccounts;
use crate::answer::{Answer, answer};
use crate::card::{CardFacts, CardLook};
use crate::fork;
use crate::threads;

/// NVML's own frames are small; a hung worker should not cost much either.
const WORKER_STACK: usize = 512 << 10;

/// After this time on one GPU another worker takes the next.
const SLOW: Duration = Duration::from_millis(250);

/// How many GPUs are asked at the same time, at most.
const MOST_WORKERS: usize = 16;

/// The work place that caller and workers share.
#[derive(Debug, Default)]
pub(super) struct Bench {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    table: Mutex<Table>,
    work: Condvar,
    progress: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    queue: VecDeque<Unit>,
    busy: Vec<Busy>,
    done: Vec<(Unit, Product)>,
    /// What units turned out to be, told before they are read.
    found: Vec<(u32, Vec<Arc<CardFacts>>)>,
    /// Units that came back after they had been given up.
    returned: Vec<Unit>,
    asked: Option<Asked>,
    /// Workers that are waiting for something to do.
    idle: usize,
    /// Goes up with each unit that is taken, so that each taking has a number of its own.
    taken: u64,
    closed: bool,
}

/// What is to be done with each unit.
#[derive(Debug, Clone)]
pub(super) enum Task {
    Look(Wants),
    /// Both of it: look, and then account.
    LastLook(Wants, Arc<[u32]>),
    /// Only take what the sample buffers hold.
    Drain,
    /// Only read the process samples.
    ProcessSamples,
    /// Ask what is kept account of, of these processes, which are in order.
    Account(Arc<[u32]>),
}

/// What came of it, as far as it was asked for.
#[derive(Debug, Default)]
pub(super) struct Product {
    pub looks: Vec<CardLook>,
    pub accounts: Vec<CardAccounts>,
    pub process_polls: Vec<ProcessPoll>,
}

impl Task {
    fn run(&self, unit: &mut Unit) -> Product {
        match self {
            Self::Look(wants) => Product { looks: unit.look(*wants), ..Product::default() },
            Self::LastLook(wants, pids) => {
                let looks = unit.look(*wants);
                Product { looks, accounts: unit.accounts(pids), ..Product::default() }
            }
            Self::Drain => {
                unit.drain();
                Product::default()
            }
            Self::ProcessSamples => {
                Product { process_polls: unit.process_samples(), ..Product::default() }
            }
            Self::Account(pids) => Product { accounts: unit.accounts(pids), ..Product::default() },
        }
    }
}

/// What the caller asked for.
#[derive(Debug, Clone)]
struct Asked {
    task: Task,
    patience: Patience,
}

/// What a worker is at, and when it should be done with it.
#[derive(Debug, Clone, Copy)]
struct Busy {
    taking: u64,
    index: u32,
    slow_at: Instant,
    due: Instant,
}

/// A unit that a worker has taken.
struct Taken {
    unit: Unit,
    taking: u64,
    asked: Asked,
}

/// What became of the units that were put on the bench.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub done: Vec<(Unit, Product)>,
    /// What units were found to be, those included that then did not answer.
    pub found: Vec<(u32, Vec<Arc<CardFacts>>)>,
    /// The time was up before their turn came.
    pub unread: Vec<Unit>,
    /// They did not answer and are away with their worker.
    pub stuck: Vec<u32>,
}

impl Bench {
    /// The units that have come back since they were given up.
    pub fn returned(&mut self) -> Vec<Unit> {
        std::mem::take(&mut self.shared.lock().returned)
    }

    /// Does the task with all units, or with as many as answer in time.
    pub fn run(
        &mut self,
        units: Vec<Unit>,
        task: Task,
        patience: Patience,
        give_up: Instant,
    ) -> Outcome {
        self.lay_out(units, task, patience);
        self.outcome(give_up)
    }

    /// Has somebody begin with the units, and waits for nothing.
    pub fn lay_out(&mut self, units: Vec<Unit>, task: Task, patience: Patience) {
        let shared = Arc::clone(&self.shared);
        let mut table = shared.lock();
        // Room for all of them, by the thread that is going to give it back.
        table.done.reserve(units.len());
        table.queue = units.into();
        table.asked = Some(Asked { task, patience });
        self.have_somebody(&mut table, Instant::now());
        let is_somebody_idle = table.idle > 0;
        drop(table);
        if is_somebody_idle {
            shared.work.notify_all();
        }
    }

    /// Whether all that was laid out is done, at the latest then.
    pub fn is_done_by(&mut self, then: Instant) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut table = shared.lock();
        while table.is_at_work() {
            let now = Instant::now();
            if now >= then {
                return false;
            }
            self.have_somebody(&mut table, now);
            table = shared.wait(table, now, then);
        }
        true
    }

    /// What came of it. Those that have not answered by then are given up.
    pub fn outcome(&mut self, give_up: Instant) -> Outcome {
        let shared = Arc::clone(&self.shared);
        let mut outcome = Outcome::default();
        let mut table = shared.lock();
        while table.is_at_work() {
            let now = Instant::now();
            table.leave_behind(now, give_up, &mut outcome);
            if !table.is_at_work() {
                break;
            }
            if now >= give_up {
                outcome.unread = table.queue.drain(..).collect();
                break;
            }
            self.have_somebody(&mut table, now);
            table = shared.wait(table, now, give_up);
        }
        outcome.done = std::mem::take(&mut table.done);
        outcome.found = std::mem::take(&mut table.found);
        outcome
    }

    /// Starts a worker where one is needed. Where no thread can be had, the next turn tries again.
    fn have_somebody(&mut self, table: &mut Table, now: Instant) {
        if !table.needs_another_worker(now) {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let builder = threads::named("nvml").stack_size(WORKER_STACK);
        let started = threads::spawn(builder, move || shared.come_and_work());
        table.idle += usize::from(started.is_ok());
    }

    /// Starts a worker that has something else to do first, which may never come back from it. It
    /// stays when that has come to something. Where no thread can be had, nobody answers. What it
    /// has to do may take more room than a card does.
    pub fn start_with<T, E>(
        &mut self,
        first: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Answer<Result<T, E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (teller, told) = answer();
        let shared = Arc::clone(&self.shared);
        let work = move || {
            let come_of_it = first();
            let stays = come_of_it.is_ok();
            // Whoever hears of it has work, and is not to look for somebody else.
            shared.lock().idle += usize::from(stays);
            teller.tell(come_of_it);
            // Where nobody wanted it any more, the bench is closed.
            if stays {
                shared.come_and_work();
            }
        };
        // If no thread starts, the sender is dropped, and the receiver gets an error.
        let _ = threads::spawn(threads::named("nvml"), work);
        told
    }
}

impl Drop for Bench {
    /// Ends the workers that wait. A worker that hangs in the driver is not waited for.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl Table {
    fn is_at_work(&self) -> bool {
        !self.queue.is_empty() || !self.busy.is_empty()
    }

    /// Gives up those that are over their time, and at the end all of them.
    fn leave_behind(&mut self, now: Instant, give_up: Instant, outcome: &mut Outcome) {
        let is_over = |busy: &Busy| now >= busy.due.min(give_up);
        outcome.stuck.extend(self.busy.iter().filter(|busy| is_over(busy)).map(|busy| busy.index));
        self.busy.retain(|busy| !is_over(busy));
    }

    /// Nobody is free, and everybody has been at the same thing for long.
    fn needs_another_worker(&self, now: Instant) -> bool {
        !self.queue.is_empty()
            && self.idle == 0
            && self.busy.len() < MOST_WORKERS
            && self.busy.iter().all(|busy| now >= busy.slow_at)
    }

    /// When something may have to be done even if no worker makes itself heard.
    fn next_event(&self, now: Instant) -> Instant {
        let due = self.busy.iter().map(|busy| busy.due).filter(|due| *due > now).min();
        let slow = self.busy.iter().map(|busy| busy.slow_at).filter(|slow| *slow > now).max();
        let retry = now + SLOW;
        let waiting = if self.queue.is_empty() { None } else { Some(slow.unwrap_or(retry)) };
        due.into_iter().chain(waiting).min().unwrap_or(retry)
    }

    /// Takes the next unit off the queue.
    fn take(&mut self) -> Option<Taken> {
        let asked = self.asked.clone()?;
        let unit = self.queue.pop_front()?;
        self.taken += 1;
        let Patience { attach, card, .. } = asked.patience;
        let most = if unit.was_asked() { card } else { attach };
        let now = Instant::now();
        self.busy.push(Busy {
            taking: self.taken,
            index: unit.index(),
            slow_at: now + SLOW,
            due: now + most,
        });
        Some(Taken { unit, taking: self.taken, asked })
    }

    fn position(&self, taking: u64) -> Option<usize> {
        self.busy.iter().position(|busy| busy.taking == taking)
    }
}

impl Shared {
    /// A panic while the lock is held leaves plain data behind, which stays usable.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the workers go on, and waits until they make themselves heard, or something else has to
    /// be done.
    fn wait<'a>(
        &'a self,
        mut table: MutexGuard<'a, Table>,
        now: Instant,
        until: Instant,
    ) -> MutexGuard<'a, Table> {
        let until = table.next_event(now).min(until);
        if table.idle > 0 {
            // Not under the lock: whoever wakes up would find it taken and sleep again.
            drop(table);
            self.work.notify_all();
            table = self.lock();
        }
        if !table.is_at_work() {
            return table;
        }
        let waited = self.progress.wait_timeout(table, until.saturating_duration_since(now));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// A worker on its way counts as idle.
    fn come_and_work(&self) {
        let mut table = self.lock();
        table.idle -= 1;
        self.work(table);
    }

    fn work<'a>(&'a self, mut table: MutexGuard<'a, Table>) {
        while let Some(Taken { mut unit, taking, asked }) = self.next(table) {
            if !unit.was_asked() {
                fork::inside(|| unit.attach());
                if !self.goes_on(taking, &unit, asked.patience.card) {
                    return self.lock().returned.push(unit);
                }
            }
            let product = fork::inside(|| asked.task.run(&mut unit));
            table = self.lock();
            let Some(place) = table.position(taking) else {
                return table.returned.push(unit);
            };
            table.busy.remove(place);
            table.done.push((unit, product));
            // One worker is enough for next time.
            let is_one_too_many =
                table.queue.is_empty() && (table.idle > 0 || !table.busy.is_empty());
            if !table.is_at_work() {
                table = self.tell_of_the_end(table);
            }
            if is_one_too_many {
                return;
            }
        }
    }

    /// Not under the lock: whoever wakes up would find it taken and sleep again. It is as free as
    /// if it were waiting already.
    fn tell_of_the_end<'a>(&'a self, mut table: MutexGuard<'a, Table>) -> MutexGuard<'a, Table> {
        table.idle += 1;
        drop(table);
        self.progress.notify_all();
        table = self.lock();
        table.idle -= 1;
        table
    }

    /// The next unit, when there is one; `None` when the bench is closed.
    fn next(&self, mut table: MutexGuard<'_, Table>) -> Option<Taken> {
        loop {
            if table.closed {
                return None;
            }
            if let Some(taken) = table.take() {
                return Some(taken);
            }
            table.idle += 1;
            table = self.work.wait(table).unwrap_or_else(PoisonError::into_inner);
            table.idle -= 1;
        }
    }

    /// Gives the worker time for its next step, unless it has been left behind meanwhile.
    fn goes_on(&self, taking: u64, unit: &Unit, most: Duration) -> bool {
        let mut table = self.lock();
        table.found.push((unit.index(), unit.facts().to_vec()));
        let place = table.position(taking);
        if let Some(busy) = place.and_then(|place| table.busy.get_mut(place)) {
            busy.due = Instant::now() + most;
        }
        place.is_some()
    }
}
