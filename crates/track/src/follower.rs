//! Looks at the tree at its beat until it is over.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use crate::handles::{Finished, Left, Stopper, wait_for};
use crate::kernel;
use crate::measure::Measurement;
use crate::pace::{Cost, Due, Pace};
use crate::usage::Usage;

/// A measurement and its beat.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) measurement: Measurement,
    pub(crate) pace: Pace,
    pub(crate) main: Arc<OwnedFd>,
    pub(crate) stopper: Stopper,
}

/// Why it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Stopped,
    MainEnded,
}

impl Follower {
    pub(crate) fn until_stopped(mut self) -> Usage {
        let over = self.follow();
        let end = Instant::now();
        match over {
            Over::Stopped => {
                self.measurement.sample();
            }
            Over::MainEnded => self.measurement.main_left(end),
        }
        self.measurement.finish(end).0
    }

    pub(crate) fn until_waited_for(mut self, pid: u32) -> Finished {
        loop {
            self.follow();
            let end = Instant::now();
            let mut how = None;
            self.measurement.main_ended(end, || {
                let (status, account) = kernel::reap(pid)?;
                how = Some(status);
                Some(account)
            });
            if let Some(status) = how {
                let (usage, living) = self.measurement.finish(end);
                let left = living.iter().filter_map(Left::hold).collect();
                return Finished { status, usage, left };
            }
        }
    }

    /// Looks until there is a reason to end.
    fn follow(&mut self) -> Over {
        let mut before = kernel::own_cpu_time();
        loop {
            let (at, due) = self.pace.next();
            match wait_for(&[&self.main, &self.stopper.0], at)[..] {
                [true, _] => return Over::MainEnded,
                [_, true] => return Over::Stopped,
                _ => {}
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
