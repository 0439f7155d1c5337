//! Looks at the tree at its beat until it is over.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::threads::InUse;

use crate::handles::{Finished, Left, Stopper, wait_for};
use crate::kernel::{self, Reaped};
use crate::measure::Measurement;
use crate::pace::{Cost, Due, Pace};
use crate::questions::Questions;
use crate::usage::Usage;

/// The exit code of a command that somebody else in this process has waited for.
const STATUS_LOST: i32 = 255;

/// A measurement and its beat.
#[derive(Debug)]
pub(crate) struct Follower {
    measurement: Measurement,
    pace: Pace,
    questions: Questions,
    alarms: Alarms,
    /// What is to be done next, once it has begun.
    due: Option<Due>,
    /// The CPU time of the thread that looks, after its last step.
    before: Duration,
    _in_use: InUse,
}

/// What ends the time between two looks early.
#[derive(Debug, Clone)]
pub(crate) struct Alarms {
    main: Arc<OwnedFd>,
    stopper: Stopper,
    rung: Arc<OwnedFd>,
}

/// What woke it up, if not the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Woken {
    /// The main process has ended, or somebody wants an end.
    is_over: bool,
    is_asked: bool,
}

impl Alarms {
    pub(crate) fn new(main: Arc<OwnedFd>, stopper: Stopper, questions: &Questions) -> Self {
        Self { main, stopper, rung: Arc::clone(&questions.rung) }
    }

    pub(crate) fn wait(&self, until: Instant) -> Woken {
        let ready = wait_for(&[&self.main, &self.stopper.0, &self.rung], until);
        Woken { is_over: ready[..2].contains(&true), is_asked: ready[2] }
    }
}

impl Follower {
    pub(crate) fn new(
        measurement: Measurement,
        pace: Pace,
        questions: Questions,
        alarms: Alarms,
    ) -> Self {
        let before = Duration::ZERO;
        let _in_use = InUse::new();
        Self { measurement, pace, questions, alarms, due: None, before, _in_use }
    }

    /// Does what is due; when to come again. `None` when it is over.
    fn step(&mut self, woken: Woken) -> Option<Instant> {
        if woken.is_over {
            return None;
        }
        match self.due {
            None => self.settle(),
            Some(_) if woken.is_asked => {
                self.questions.answer(|| self.measurement.so_far());
                self.before = kernel::own_cpu_time();
            }
            Some(due) => self.look(due),
        }
        let (at, due) = self.pace.next();
        self.due = Some(due);
        Some(at)
    }

    fn settle(&mut self) {
        self.measurement.settle();
        self.before = kernel::own_cpu_time();
    }

    fn look(&mut self, due: Due) {
        let begun = Instant::now();
        let looked = match due {
            Due::Sample => self.measurement.sample(),
            Due::Glance => self.measurement.glance(),
        };
        // Waking up is part of the cost; the maps have a budget of their own.
        let after = kernel::own_cpu_time();
        let cost = after.saturating_sub(self.before + looked.of_maps);
        self.before = after;
        self.pace.done(due, begun, Cost { cpu: cost, is_idle: looked.is_idle }, Instant::now());
    }

    /// Measures until the main process ends or somebody stops it, on the calling thread. The main
    /// process goes on, or somebody else waits for it.
    pub(crate) fn until_stopped(mut self) -> Usage {
        self.follow();
        let mut measurement = self.measurement;
        let end = Instant::now();
        measurement.settle();
        measurement.end(end);
        measurement.finish(end).0
    }

    pub(crate) fn until_waited_for(mut self, pid: u32) -> Finished {
        loop {
            self.follow();
            let end = Instant::now();
            let status = match self.measurement.main_ended(end, || kernel::reap(pid)) {
                Reaped::NotYet => continue,
                Reaped::Ended(status, _) => status,
                Reaped::NotOurs => ExitStatus::from_raw(STATUS_LOST << 8),
            };
            let (usage, living) = self.measurement.finish(end);
            let left = living.iter().filter_map(Left::hold).collect();
            return Finished { status, usage, left };
        }
    }

    /// Looks until the main process has ended.
    fn follow(&mut self) {
        let alarms = self.alarms.clone();
        let mut woken = match self.due {
            None => Woken::default(),
            Some(_) => alarms.wait(self.pace.next().0),
        };
        while let Some(at) = self.step(woken) {
            woken = alarms.wait(at);
        }
    }
}
