//! Plays a machine into a database, through the same hands that a real tick goes through.

use std::time::Duration;

use probe::units::UnixMillis;

use super::cycle::Cycle;
use super::lab::Lab;
use super::play::{Play, Shift};
use super::{DemoError, Machine, Plan};
use crate::classify::Thresholds;
use crate::ledger::{Clocks, Period};
use crate::recorder::{self, Observer};
use crate::sampler::{Pretend, Tick};
use crate::store::{Database, Keep, Run, StoreError, Writer};

/// Ticks of one transaction.
const BATCH: usize = 10_000;

/// Makes the history that is planned, in an empty database.
///
/// # Errors
/// When it cannot be written.
pub fn make(database: Database, plan: &Plan) -> Result<Database, DemoError> {
    Ok(match plan.machine {
        Machine::Cycle => Taking::new(Cycle::new(plan)?, *plan).all(database)?,
        Machine::Lab => Taking::new(Lab::new()?, *plan).all(database)?,
    })
}

#[derive(Debug)]
struct Taking<P> {
    play: P,
    plan: Plan,
    /// What is played now, and up to when.
    now: Option<(Pretend, UnixMillis)>,
}

impl<P: Play> Taking<P> {
    const fn new(play: P, plan: Plan) -> Self {
        Self { play, plan, now: None }
    }

    fn all(mut self, mut database: Database) -> Result<Database, StoreError> {
        for shift in self.play.shifts(self.plan.period()) {
            database = self.shift(database, &shift)?;
        }
        Ok(database)
    }

    /// Records one run.
    fn shift(&mut self, database: Database, shift: &Shift) -> Result<Database, StoreError> {
        let mut ticks = self.ticks(shift.period).peekable();
        let Some(first) = ticks.peek() else { return Ok(database) };
        let run = self.run(*first);
        let mut writer = Writer::begin(database, &run)?.with_samples_from(self.samples_from());
        let mut observer = Observer::new(self.plan.interval, Thresholds::default());
        for (count, at) in ticks.filter(|at| !is_asleep(shift, *at)).enumerate() {
            if count % BATCH == 0 {
                writer.commit_batch()?;
                writer.begin_batch()?;
            }
            let tick = self.tick(at);
            let (entry, events) = observer.see(&tick, clocks(shift, at), None);
            writer.record(&entry, &events)?;
        }
        writer.end(match shift.ending {
            super::play::Ending::Stopped => crate::store::Ending::Stopped,
            super::play::Ending::Crashed => crate::store::Ending::Crashed,
            super::play::Ending::Complete => crate::store::Ending::Complete,
        })
    }

    /// The ticks of a time, on the grid of the whole.
    fn ticks(&self, period: Period) -> impl Iterator<Item = UnixMillis> + use<P> {
        let interval = self.plan.interval_millis().max(1);
        let start = self.plan.period().from.0;
        let first = (period.from.0 - start).div_euclid(interval)
            + i64::from((period.from.0 - start).rem_euclid(interval) > 0);
        let last = (period.to.0 - start).div_euclid(interval);
        (first..=last).map(move |count| UnixMillis(start + count * interval))
    }

    fn tick(&mut self, at: UnixMillis) -> Tick {
        let over = self.plan.interval;
        if let Some((pretend, _)) = self.now.as_mut().filter(|(_, until)| at <= *until) {
            return pretend.tick(at, over);
        }
        let scene = self.play.scene(at);
        let mut pretend = Pretend::new(scene.scenario, scene.origin);
        let tick = pretend.tick(at, over);
        self.now = Some((pretend, scene.until));
        tick
    }

    fn run(&self, started: UnixMillis) -> Run {
        let scenario = self.play.scene(started).scenario;
        Run {
            host: scenario.host_name,
            boot: "pretend".to_owned(),
            driver: Some(scenario.driver.version),
            recorder: recorder::name(),
            interval_millis: Some(self.plan.interval_millis()),
            started,
        }
    }

    /// A recorder would have taken out earlier ones by the end.
    fn samples_from(&self) -> UnixMillis {
        let kept = i64::try_from(Keep::default().samples.as_millis()).unwrap_or(i64::MAX);
        UnixMillis(self.plan.end.0.saturating_sub(kept))
    }
}

fn is_asleep(shift: &Shift, at: UnixMillis) -> bool {
    shift.asleep.iter().any(|sleep| sleep.from < at && at < sleep.to)
}

/// What the clocks of a host show that was booted in 1970.
fn clocks(shift: &Shift, at: UnixMillis) -> Clocks {
    let slept: i64 = shift.asleep.iter().map(|sleep| slept(*sleep, at)).sum();
    Clocks {
        wall: at,
        since_boot: Duration::from_millis(at.0.max(0).unsigned_abs()),
        awake: Duration::from_millis((at.0 - slept).max(0).unsigned_abs()),
    }
}

fn slept(sleep: Period, at: UnixMillis) -> i64 {
    Period::new(sleep.from, sleep.to.min(at)).millis()
}
