//! Threads that call the driver, so that a card that hangs blocks no caller.
//!
//! One worker reads one GPU after the other. If one is slow, another worker goes on with the rest. A
//! GPU that does not answer in time is given up with its worker; when it comes back it is read again.
//! A healthy host has one worker.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gua_core::poll::ProcessPoll;

use super::accounts::CardAccounts;
use super::options::{Patience, Wants};
use super::unit::Unit;
use crate::card::{CardFacts, CardLook};
use crate::oneshot::{self, Receiver};
use crate::{fork, threads};

/// Stack of a worker. The library's frames are small, and a worker that hangs should cost little.
const WORKER_STACK: usize = 512 << 10;

/// Time on one GPU after which another worker takes the next.
const SLOW: Duration = Duration::from_millis(250);

/// Greatest number of GPUs that are read at the same time.
const MOST_WORKERS: usize = 16;

/// Work to do with each unit.
#[derive(Debug, Clone)]
pub(super) enum Task {
    Look(Wants),
    /// Look, and then read the accounts of these processes, which are in order.
    LastLook(Wants, Arc<[u32]>),
    /// Only read the sample buffers.
    Drain,
    /// Only read the process samples.
    ProcessSamples,
    /// Only read the accounts of these processes, which are in order.
    Accounts(Arc<[u32]>),
}

/// Result of a [`Task`]. What was not asked for is empty.
#[derive(Debug, Default)]
pub(super) struct Product {
    pub looks: Vec<CardLook>,
    pub accounts: Vec<CardAccounts>,
    pub process_polls: Vec<ProcessPoll>,
}

impl Task {
    fn run(&self, unit: &mut Unit) -> Product {
        let mut product = Product::default();
        match self {
            Self::Look(wants) => product.looks = unit.look(*wants),
            Self::LastLook(wants, pids) => {
                product.looks = unit.look(*wants);
                product.accounts = unit.accounts(pids);
            }
            Self::Drain => unit.drain(),
            Self::ProcessSamples => product.process_polls = unit.process_samples(),
            Self::Accounts(pids) => product.accounts = unit.accounts(pids),
        }
        product
    }
}

/// Results of the units that were passed to [`Workers::start`].
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub done: Vec<(Unit, Product)>,
    /// Cards of units that were attached, also of those that then did not answer.
    pub found: Vec<(u32, Vec<Arc<CardFacts>>)>,
    /// Units whose turn did not come in time.
    pub unread: Vec<Unit>,
}

/// The workers of a prober.
#[derive(Debug, Default)]
pub(super) struct Workers {
    shared: Arc<Shared>,
}

/// State of the workers and of their caller.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there is work.
    work: Condvar,
    /// Notified when all work is done.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Unit>,
    task: Option<(Task, Patience)>,
    running: Vec<Running>,
    done: Vec<(Unit, Product)>,
    found: Vec<(u32, Vec<Arc<CardFacts>>)>,
    /// Units that came back after they had been given up.
    returned: Vec<Unit>,
    /// Number of workers that wait for work, or are about to look for it.
    idle: usize,
    /// Number of the last job.
    last_job: u64,
    is_stopped: bool,
}

/// Job that a worker is at, with the times at which it is slow and has taken too long.
#[derive(Debug, Clone, Copy)]
struct Running {
    job: u64,
    slow_at: Instant,
    due: Instant,
}

/// A unit that a worker has taken off the queue.
struct Job {
    number: u64,
    unit: Unit,
    task: Task,
    patience: Patience,
}

impl Workers {
    /// Returns the units that have come back since they were given up.
    pub fn returned(&self) -> Vec<Unit> {
        mem::take(&mut self.shared.lock().returned)
    }

    /// Does the task with all units, or with as many as answer in time.
    pub fn run(
        &self,
        units: Vec<Unit>,
        task: Task,
        patience: Patience,
        give_up: Instant,
    ) -> Outcome {
        self.start(units, task, patience);
        self.finish(give_up)
    }

    /// Starts the task with all units, and does not wait.
    pub fn start(&self, units: Vec<Unit>, task: Task, patience: Patience) {
        let mut state = self.shared.lock();
        // Allocated by the thread that is going to free it.
        state.done.reserve(units.len());
        state.queue = units.into();
        state.task = Some((task, patience));
        self.spawn_if_needed(&mut state, Instant::now());
        self.shared.work.notify_all();
    }

    /// Waits until all is done, and returns true, or until a deadline.
    pub fn is_done_by(&self, deadline: Instant) -> bool {
        let mut state = self.shared.lock();
        while state.is_at_work() {
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            self.spawn_if_needed(&mut state, now);
            state = self.shared.wait(state, now, deadline);
        }
        true
    }

    /// Waits for the results. Units that have not answered at `give_up` are given up.
    pub fn finish(&self, give_up: Instant) -> Outcome {
        let mut state = self.shared.lock();
        let mut unread = Vec::new();
        while state.is_at_work() {
            let now = Instant::now();
            state.running.retain(|running| now < running.due.min(give_up));
            if now >= give_up {
                unread = state.queue.drain(..).collect();
            }
            if !state.is_at_work() {
                break;
            }
            self.spawn_if_needed(&mut state, now);
            state = self.shared.wait(state, now, give_up);
        }
        Outcome { done: mem::take(&mut state.done), found: mem::take(&mut state.found), unread }
    }

    /// Spawns a worker if one is needed. If no thread can be started, the next call tries again.
    fn spawn_if_needed(&self, state: &mut State, now: Instant) {
        if state.needs_another_worker(now) {
            let shared = Arc::clone(&self.shared);
            let thread = threads::named("nvml").stack_size(WORKER_STACK);
            let spawned = threads::spawn(thread, move || shared.work_as_idle());
            state.idle += usize::from(spawned.is_ok());
        }
    }

    /// Spawns a worker that first does something else, which may hang, and works for units only if
    /// that succeeds. It has a full stack. If no thread can be started, the receiver is closed.
    pub fn spawn_after<T, E>(
        &self,
        first: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Receiver<Result<T, E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        let work = move || {
            let result = first();
            let stays = result.is_ok();
            // Counted before the result is sent: the receiver has work, and needs no other worker.
            shared.lock().idle += usize::from(stays);
            sender.send(result);
            if stays {
                shared.work_as_idle();
            }
        };
        let _ = threads::spawn(threads::named("nvml"), work);
        receiver
    }
}

impl Drop for Workers {
    /// Stops the workers that wait. One that hangs in the driver stops when it comes back.
    fn drop(&mut self) {
        self.shared.lock().is_stopped = true;
        self.shared.work.notify_all();
    }
}

impl State {
    fn is_at_work(&self) -> bool {
        !self.queue.is_empty() || !self.running.is_empty()
    }

    /// Returns true if no worker is free and all are slow.
    fn needs_another_worker(&self, now: Instant) -> bool {
        !self.queue.is_empty()
            && self.idle == 0
            && self.running.len() < MOST_WORKERS
            && self.running.iter().all(|running| now >= running.slow_at)
    }

    /// Returns when the caller has to check again although nothing is reported.
    fn next_check(&self, now: Instant) -> Instant {
        let due = self.running.iter().map(|running| running.due).filter(|due| *due > now).min();
        let slow_at = self.running.iter().map(|running| running.slow_at);
        let slow = slow_at.filter(|slow| *slow > now).max();
        let retry = now + SLOW;
        let waiting = (!self.queue.is_empty()).then(|| slow.unwrap_or(retry));
        due.into_iter().chain(waiting).min().unwrap_or(retry)
    }

    /// Takes the next unit off the queue.
    fn take(&mut self) -> Option<Job> {
        let (task, patience) = self.task.clone()?;
        let unit = self.queue.pop_front()?;
        self.last_job += 1;
        let most = if unit.was_asked() { patience.card } else { patience.attach };
        let now = Instant::now();
        self.running.push(Running { job: self.last_job, slow_at: now + SLOW, due: now + most });
        Some(Job { number: self.last_job, unit, task, patience })
    }

    /// Returns the place of a job among those that run; `None` if it was given up.
    fn place(&self, job: u64) -> Option<usize> {
        self.running.iter().position(|running| running.job == job)
    }
}

impl Shared {
    /// A panic while the lock is held leaves plain data behind, which stays usable.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all work is done, or something else has to be checked.
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        now: Instant,
        until: Instant,
    ) -> MutexGuard<'a, State> {
        let until = state.next_check(now).min(until);
        let waited = self.progress.wait_timeout(state, until.saturating_duration_since(now));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Works as a worker that is counted as idle.
    fn work_as_idle(&self) {
        let mut state = self.lock();
        state.idle -= 1;
        // The lock is held from one job to the next, so that a worker always counts as running or idle.
        while let Some(Job { number, mut unit, task, patience }) = self.next(state) {
            if !unit.was_asked() {
                fork::inside(|| unit.attach());
                if !self.is_still_wanted(number, &unit, patience.card) {
                    return self.lock().returned.push(unit);
                }
            }
            let product = fork::inside(|| task.run(&mut unit));
            state = self.lock();
            let Some(place) = state.place(number) else {
                return state.returned.push(unit);
            };
            state.running.remove(place);
            state.done.push((unit, product));
            if !state.is_at_work() {
                self.progress.notify_all();
            }
            // One worker is enough for the next time.
            if state.queue.is_empty() && (state.idle > 0 || !state.running.is_empty()) {
                return;
            }
        }
    }

    /// Waits for the next job; `None` if the workers are stopped.
    fn next(&self, mut state: MutexGuard<'_, State>) -> Option<Job> {
        loop {
            if state.is_stopped {
                return None;
            }
            if let Some(job) = state.take() {
                return Some(job);
            }
            state.idle += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Reports the cards of a unit that was attached, and gives its job time to read them. Returns
    /// false if it was given up meanwhile.
    fn is_still_wanted(&self, job: u64, unit: &Unit, most: Duration) -> bool {
        let mut state = self.lock();
        state.found.push((unit.index(), unit.facts().to_vec()));
        let place = state.place(job);
        if let Some(running) = place.and_then(|place| state.running.get_mut(place)) {
            running.due = Instant::now() + most;
        }
        place.is_some()
    }
}
