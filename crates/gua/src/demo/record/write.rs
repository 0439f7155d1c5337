//! Writes a history into a database, as a recorder would have left it.

use std::collections::HashMap;
use std::time::Duration;

use gua_core::process::ProcessId;
use gua_core::session::SessionBuilder;
use gua_core::units::UnixMillis;
use gua_core::{Clocks, Period, Poll, Thresholds};
use gua_fleet::{Host, OwnerLabels, Totals};
use gua_recorder::{Log, RECORDER, RULE, RecordedTick, TickObserver};
use gua_store::{Database, ProcessEntry, Retention, Run, StoreError, Tick, Writer};

use super::latest::latest;
use super::part::{Part, processes};
use crate::demo::cycle::Cycle;
use crate::demo::lab::Lab;
use crate::demo::play::{Play, Shift};
use crate::demo::{DemoError, Machine, Plan};
use crate::simulated::Unit;

/// Boot of the simulated host, which was booted in 1970.
pub const BOOT: &str = "simulated";

const DAY: i64 = 86_400_000;

/// Writes the history that is planned into an empty database.
///
/// # Errors
/// When the database cannot be written.
pub fn write(database: Database, plan: &Plan) -> Result<Database, DemoError> {
    write_with(database, plan, Retention::default())
}

/// Writes a history whose last run goes on, for a view of the machine now.
///
/// # Errors
/// When the database cannot be written.
pub fn write_unended(database: Database, plan: &Plan) -> Result<Database, DemoError> {
    write_run_by_run(database, plan, Retention::default(), false)
}

/// Writes a history of which rows are kept for other times.
pub(super) fn write_with(
    database: Database,
    plan: &Plan,
    retention: Retention,
) -> Result<Database, DemoError> {
    write_run_by_run(database, plan, retention, true)
}

fn write_run_by_run(
    database: Database,
    plan: &Plan,
    retention: Retention,
    is_ended: bool,
) -> Result<Database, DemoError> {
    match plan.machine {
        Machine::Cycle => {
            History::new(Cycle::new(plan)?, *plan, retention, is_ended).write(database)
        }
        Machine::Lab => History::new(Lab::new()?, *plan, retention, is_ended).write(database),
    }
}

struct History<P> {
    play: P,
    plan: Plan,
    retention: Retention,
    thresholds: Thresholds,
    /// False if the last run goes on.
    is_ended: bool,
}

impl<P: Play> History<P> {
    fn new(play: P, plan: Plan, retention: Retention, is_ended: bool) -> Self {
        Self { play, plan, retention, thresholds: Thresholds::default(), is_ended }
    }

    fn write(&self, mut database: Database) -> Result<Database, DemoError> {
        for shift in self.play.shifts(self.plan.period()) {
            database = self.write_run(database, &shift)?;
        }
        Ok(database)
    }

    fn write_run(&self, database: Database, shift: &Shift) -> Result<Database, StoreError> {
        let mut sessions = SessionBuilder::new(&self.thresholds);
        sessions.resume(database.open_sessions(BOOT)?);
        let run = self.run(shift.period.from);
        let mut totals = totals(&run);
        totals.opened(&database)?;
        let mut recording = RunWriter {
            history: self,
            shift,
            units: Unit::all(&self.play.scene(shift.period.from).scenario),
            writer: Writer::begin(database, run)?,
            sessions,
            totals,
            processes: HashMap::new(),
        };
        let mut from = shift.period.from;
        while from < shift.period.to {
            from = recording.write_tick(from)?;
        }
        let goes_on = !self.is_ended && shift.period.to == self.plan.end;
        match shift.ending.word().filter(|_| !goes_on) {
            Some(ending) => recording.writer.end(ending),
            None => Ok(recording.writer.into_database()),
        }
    }

    fn run(&self, started: UnixMillis) -> Run {
        let scenario = self.play.scene(started).scenario;
        Run {
            host: scenario.host_name,
            boot: BOOT.to_owned(),
            driver: Some(scenario.driver.version),
            recorder: RECORDER.to_owned(),
            rule: RULE.to_owned(),
            thresholds: self.thresholds,
            interval_ms: i64::try_from(self.plan.interval.as_millis()).ok(),
            started,
        }
    }
}

/// A run while it is written.
struct RunWriter<'a, P> {
    history: &'a History<P>,
    shift: &'a Shift,
    units: Vec<Unit>,
    writer: Writer,
    sessions: SessionBuilder,
    totals: Totals,
    /// Processes of all ticks so far.
    processes: HashMap<ProcessId, ProcessEntry>,
}

impl<P: Play> RunWriter<'_, P> {
    /// Writes a tick that begins at a time. Returns its end: at most that of the day, since more would be
    /// a leap of the clock. The last tick of a run has what was last seen.
    fn write_tick(&mut self, from: UnixMillis) -> Result<UnixMillis, StoreError> {
        let Self { history: History { play, plan, retention, thresholds, .. }, shift, .. } = *self;
        let scene = play.scene(from);
        let day_end = UnixMillis((from.0.div_euclid(DAY) + 1) * DAY);
        let scene_end = UnixMillis(scene.until.0.saturating_add(1));
        let to = shift.period.to.min(day_end).min(scene_end);
        let time = Period::new(from, to);
        let samples_from = UnixMillis(plan.end.0.saturating_sub(retention.samples_ms));
        let part = Part::new(&scene, &self.units, shift, time, samples_from, thresholds);
        let is_first = from == shift.period.from;
        let begin = if is_first { UnixMillis(i64::MIN / 1000) } else { from };
        let processes = processes(&scene, begin, time);
        self.processes.extend(processes.iter().map(|process| (process.id, process.clone())));
        part.spans.iter().for_each(|span| self.sessions.add(span));
        let asleep: i64 = shift.asleep.iter().map(|sleep| sleep.overlap(&time).millis()).sum();
        let latest = (to == shift.period.to).then(|| latest(&scene, &self.units, to, *thresholds));
        let tick = Tick {
            recorded_ms: time.millis() - asleep,
            closed: &part.spans,
            gaps: &part.gaps,
            processes: &processes,
            sessions: &self.sessions.take_updates(&[], to),
            latest: latest.as_deref(),
            ..Tick::new(to, to)
        };
        let recorded = RecordedTick {
            tick: &tick,
            poll: &no_poll(to),
            processes: &self.processes,
            thresholds: *thresholds,
        };
        let totals = &mut self.totals;
        self.writer.tick_with(&tick, |transaction| {
            totals.write(&recorded, transaction)?;
            let mut samples = part.samples.iter();
            samples.try_for_each(|(at, sample)| transaction.write_sample(*at, sample))
        })?;
        self.totals.stored(&recorded, &mut self.writer, &mut Log::to_nothing());
        self.writer.prune(retention, usize::MAX)?;
        Ok(to)
    }
}

/// Returns the counters of a run, as a recorder would count them.
fn totals(run: &Run) -> Totals {
    let host = Host {
        name: run.host.clone(),
        driver_version: run.driver.clone(),
        interval_ms: run.interval_ms,
    };
    Totals::new(host, OwnerLabels::default())
}

/// Returns a poll that read no card: there are no polls here.
const fn no_poll(at: UnixMillis) -> Poll {
    let clocks = Clocks { wall: at, since_boot: Duration::ZERO, awake: Duration::ZERO };
    Poll { clocks, cards: Ok(Vec::new()), exits: Vec::new() }
}
