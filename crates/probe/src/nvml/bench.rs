//! Does the looking on threads of its own, so that a hung card hangs nobody.
//!
//! One worker takes one GPU after the other. When a call does not come back in time,
//! the worker is left behind with that GPU and another goes on with the rest. A GPU
//! that comes back later is handed out again; until then nobody waits for it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::prober::Patience;
use super::unit::{Unit, Wants};
use crate::card::CardLook;

/// NVML's own frames are small; a hung worker should not cost much either.
const WORKER_STACK: usize = 512 << 10;

/// How long to wait before asking again for a thread that could not be had.
const NO_THREAD_PAUSE: Duration = Duration::from_millis(10);

/// The work place that caller and workers share.
#[derive(Debug, Default)]
pub(super) struct Bench {
    shared: Arc<Shared>,
    /// The generation that a worker was started for.
    started: Option<u64>,
}

#[derive(Debug, Default)]
struct Shared {
    table: Mutex<Table>,
    work: Condvar,
    idle: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    queue: VecDeque<Unit>,
    busy: Option<Busy>,
    done: Vec<(Unit, Vec<CardLook>)>,
    /// Units that came back after they had been given up.
    returned: Vec<Unit>,
    asked: Option<Asked>,
    /// Goes up when a worker is left behind, so that it knows when it wakes up.
    generation: u64,
    closed: bool,
}

/// What the caller of a look asked for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    wants: Wants,
    patience: Patience,
}

/// What the worker is at, and when it should be done with it.
#[derive(Debug, Clone, Copy)]
struct Busy {
    index: u32,
    due: Instant,
}

/// What became of the units that were put on the bench.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub done: Vec<(Unit, Vec<CardLook>)>,
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

    /// Looks at all units, or at as many as answer within the patience.
    pub fn look(&mut self, units: Vec<Unit>, wants: Wants, patience: Patience) -> Outcome {
        let all_awake = units.iter().all(Unit::is_attached);
        let give_up = Instant::now() + if all_awake { patience.look } else { patience.open };
        let shared = Arc::clone(&self.shared);
        let mut table = shared.lock();
        table.queue = units.into();
        table.asked = Some(Asked { wants, patience });
        let mut outcome = Outcome::default();
        while !table.queue.is_empty() || table.busy.is_some() {
            let now = Instant::now();
            if let Some(busy) = table.busy
                && now >= busy.due.min(give_up)
            {
                table.leave_behind(busy, &mut outcome);
                continue;
            }
            if now >= give_up {
                outcome.unread = table.queue.drain(..).collect();
                break;
            }
            // Nobody tells when a worker takes a unit, so look again by the time that one is due.
            let mut until = give_up.min(table.busy.map_or(now + patience.card, |busy| busy.due));
            if !self.has_worker(table.generation) {
                until = until.min(now + NO_THREAD_PAUSE);
            }
            table = shared.wait(table, until - now);
        }
        outcome.done = std::mem::take(&mut table.done);
        outcome
    }

    /// Makes sure that a worker of this generation is there; false when none can be had.
    fn has_worker(&mut self, generation: u64) -> bool {
        if self.started == Some(generation) {
            return true;
        }
        let shared = Arc::clone(&self.shared);
        let worker = thread::Builder::new()
            .name("nvml".into())
            .stack_size(WORKER_STACK)
            .spawn(move || shared.work(generation));
        if worker.is_ok() {
            self.started = Some(generation);
        }
        worker.is_ok()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl Table {
    fn leave_behind(&mut self, busy: Busy, outcome: &mut Outcome) {
        outcome.stuck.push(busy.index);
        self.generation += 1;
        self.busy = None;
    }
}

impl Shared {
    /// A panic while the lock is held leaves plain data behind, which stays usable.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, table: MutexGuard<'a, Table>, most: Duration) -> MutexGuard<'a, Table> {
        self.work.notify_all();
        let waited = self.idle.wait_timeout(table, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn work(&self, generation: u64) {
        while let Some((mut unit, asked)) = self.next(generation) {
            if !unit.is_attached() {
                unit.attach();
                if !self.goes_on(generation, asked.patience.card) {
                    return self.bring_back(unit);
                }
            }
            let looks = unit.look(asked.wants);
            let mut table = self.lock();
            if table.generation != generation {
                drop(table);
                return self.bring_back(unit);
            }
            table.busy = None;
            table.done.push((unit, looks));
            if table.queue.is_empty() {
                self.idle.notify_all();
            }
        }
    }

    /// The next unit, when there is one; `None` when this worker is no longer needed.
    fn next(&self, generation: u64) -> Option<(Unit, Asked)> {
        let mut table = self.lock();
        loop {
            if table.closed || table.generation != generation {
                return None;
            }
            if let Some(asked) = table.asked
                && let Some(unit) = table.queue.pop_front()
            {
                let Patience { attach, card, .. } = asked.patience;
                let most = if unit.is_attached() { card } else { attach };
                table.busy = Some(Busy { index: unit.index(), due: Instant::now() + most });
                return Some((unit, asked));
            }
            table = self.work.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the worker time for its next step, unless it has been left behind meanwhile.
    fn goes_on(&self, generation: u64, most: Duration) -> bool {
        let mut table = self.lock();
        let is_current = table.generation == generation;
        if let Some(busy) = table.busy.as_mut().filter(|_| is_current) {
            busy.due = Instant::now() + most;
        }
        is_current
    }

    fn bring_back(&self, unit: Unit) {
        self.lock().returned.push(unit);
    }
}
