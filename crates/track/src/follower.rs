//! Looks at the tree at its beat until it is over.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Instant;

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
    pub(crate) measurement: Measurement,
    pub(crate) pace: Pace,
    pub(crate) main: Arc<OwnedFd>,
    pub(crate) stopper: Stopper,
    pub(crate) questions: Questions,
}

impl Follower {
    pub(crate) fn until_stopped(mut self) -> Usage {
        self.follow();
        let end = Instant::now();
        self.measurement.end(end);
        self.measurement.finish(end).0
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

    /// Looks until the main process has ended, or somebody wants an end.
    fn follow(&mut self) {
        let mut before = kernel::own_cpu_time();
        loop {
            let (at, due) = self.pace.next();
            let ready = wait_for(&[&self.main, &self.stopper.0, &self.questions.rung], at);
            if ready[..2].contains(&true) {
                return;
            }
            if ready[2] {
                self.questions.answer(|| self.measurement.so_far());
                before = kernel::own_cpu_time();
                continue;
            }
            let begun = Instant::now();
            let looked = match due {
                Due::Sample => self.measurement.sample(),
                Due::Glance => self.measurement.glance(),
            };
            // Waking up is part of the cost; the maps have a budget of their own.
            let after = kernel::own_cpu_time();
            let cost = after.saturating_sub(before + looked.of_maps);
            before = after;
            self.pace.done(due, begun, Cost { cpu: cost, is_idle: looked.is_idle }, Instant::now());
        }
    }
}
