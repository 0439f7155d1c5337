//! Polls in, ticks out: what happens to the database or to the clock loses nothing that was polled.
//!
//! It reads no clock and waits for nothing: time comes with the polls.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gua_core::card::CardFacts;
use gua_core::classifier::CardActivity;
use gua_core::poll::{CardPoll, ProcessPoll};
use gua_core::process::ProcessId;
use gua_core::snapshot::{HostNow, SeenProcess};
use gua_core::span::{Gap, Span};
use gua_core::units::UnixMillis;
use gua_core::{Classifier, Clocks, Poll, SessionBuilder, SessionUpdate};
use gua_store::{CardSample, Event, Latest, ProcessEntry, Retention, Run, StoreError, Tick};
use probe::nvml::DriverFacts;

use crate::file::RecordFile;
use crate::latest::{LatestRows, host_now};
use crate::log::Log;
use crate::notices::Notices;
use crate::observer::{RecordedTick, TickObserver};
use crate::pending::PendingRun;
use crate::processes::Processes;
use crate::pruning::Pruning;
use crate::samples::PlotSamples;

/// How time is classified.
pub const RULE: &str = "A card is active during every 5 seconds whose mean utilization reaches the \
                        threshold, from the first to the last busy moment in them.";

/// Runs that are kept while nothing can be stored and the clock is set back again and again.
const MOST_RUNS: usize = 60;

/// What is known of the driver at a poll.
#[derive(Debug, Clone, Copy, Default)]
pub struct DriverNow<'a> {
    /// `None` while it is away.
    pub facts: Option<&'a DriverFacts>,
    /// Calls of the driver so far.
    pub calls: u64,
}

impl DriverNow<'_> {
    pub(crate) fn version(&self) -> Option<&str> {
        Some(self.facts?.version.as_ref().known()?)
    }
}

/// Polls on their way into a database.
#[derive(Debug)]
pub struct Recording {
    file: RecordFile,
    /// Facts of all runs; each has its own begin and driver.
    run: Run,
    retention: Retention,
    classifier: Classifier,
    sessions: SessionBuilder,
    are_sessions_resumed: bool,
    /// Runs that are not stored completely. The last one goes on.
    runs: VecDeque<PendingRun>,
    processes: Processes,
    samples: PlotSamples,
    notices: Notices,
    /// The host and its driver at the newest poll.
    host: HostNow,
    observers: Observers,
    /// What the cards did at the last poll, once the recording ends.
    last_activities: Option<Vec<CardActivity>>,
    /// Pruning of the open database.
    pruning: Option<Pruning>,
    /// Time since boot, without suspend, of the last tick.
    stored_awake: Option<Duration>,
    failure: Option<StorageFailure>,
    log: Log,
}

/// Nothing can be stored.
#[derive(Debug)]
struct StorageFailure {
    /// Wall time of the first tick that failed.
    since: UnixMillis,
    reason: String,
}

struct Observers(Vec<Box<dyn TickObserver>>);

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

impl Recording {
    /// Returns a recording into the database at a path, which is opened, or created, by the first tick.
    #[must_use]
    pub fn new(
        path: PathBuf,
        run: Run,
        retention: Retention,
        observers: Vec<Box<dyn TickObserver>>,
        log: Log,
    ) -> Self {
        Self {
            file: RecordFile::new(path),
            classifier: Classifier::new(run.thresholds),
            sessions: SessionBuilder::new(&run.thresholds),
            are_sessions_resumed: false,
            run,
            retention,
            runs: VecDeque::new(),
            processes: Processes::default(),
            samples: PlotSamples::default(),
            notices: Notices::default(),
            host: HostNow::default(),
            observers: Observers(observers),
            last_activities: None,
            pruning: None,
            stored_awake: None,
            failure: None,
            log,
        }
    }

    /// Adds a poll. The first one covers no time.
    pub fn add_poll(&mut self, poll: Poll, driver: DriverNow<'_>) {
        let events = self.notices.add(&poll, driver.version());
        self.host = host_now(&self.run.host, &poll, driver);
        self.classifier.add(&poll);
        self.processes.add(&poll);
        self.samples.add(&poll);
        self.observers.0.iter_mut().for_each(|observer| observer.polled(&poll));
        self.take_classified();
        match self.runs.back_mut() {
            Some(run) if poll.clocks.wall > run.newest.clocks.wall => run.add_poll(poll, driver),
            // Its time is recorded again: that is another run.
            Some(run) => {
                run.end();
                self.runs.push_back(PendingRun::new(poll, driver));
            }
            None => self.runs.push_back(PendingRun::new(poll, driver)),
        }
        let Some(run) = self.runs.back_mut() else { return };
        run.set_until(self.classifier.final_until());
        for event in events {
            self.log.write(&event.detail);
            run.add_event(event);
        }
    }

    /// Tells the observers how long a poll took.
    pub fn add_poll_time(&mut self, time: Duration) {
        self.observers.0.iter_mut().for_each(|observer| observer.poll_took(time));
    }

    /// Adds process samples that were read between two polls.
    pub fn add_samples(&mut self, samples: &ProcessPoll) {
        self.classifier.add_process_samples(samples);
        self.observers.0.iter_mut().for_each(|observer| observer.sampled(samples));
    }

    /// Returns the cards whose process samples are needed every second.
    #[must_use]
    pub fn several_workers(&self) -> Vec<Arc<CardFacts>> {
        let cards = self.newest_cards().map(|card| &card.card);
        cards.filter(|card| self.classifier.has_several_workers(card)).cloned().collect()
    }

    /// Returns true if a process held a card at the newest poll.
    #[must_use]
    pub fn has_holders(&self) -> bool {
        self.newest_cards().any(|card| !card.processes.is_empty())
    }

    fn newest_cards(&self) -> impl Iterator<Item = &CardPoll> {
        self.runs.back().into_iter().flat_map(|run| &run.newest.cards).flatten()
    }

    /// Returns the holders of the newest poll that have to be read from the host.
    #[must_use]
    pub fn unread_processes(&self) -> Vec<ProcessId> {
        let newest = self.runs.back().map(|run| run.newest.clocks.since_boot);
        newest.map_or_else(Vec::new, |newest| self.processes.incomplete(newest))
    }

    /// Sets what the host says of a holder.
    pub fn set_process(&mut self, id: ProcessId, process: SeenProcess) {
        self.processes.set(id, process);
    }

    pub const fn log(&mut self) -> &mut Log {
        &mut self.log
    }

    /// Stores what is final. What cannot be stored is kept for the next tick.
    pub fn tick(&mut self) -> Result<(), StoreError> {
        if self.runs.is_empty() {
            return Ok(());
        }
        match self.store_runs() {
            Ok(recorded_ms) => {
                self.prune(recorded_ms);
                Ok(())
            }
            Err(error) => {
                self.keep_for_later(&error);
                Err(error)
            }
        }
    }

    /// Classifies what is not final yet, stores everything and ends the run with a word for the reason.
    pub fn end(mut self, ending: &str) -> Result<(), StoreError> {
        self.last_activities = Some(self.classifier.now());
        self.classifier.finish();
        self.take_classified();
        if let Some(run) = self.runs.back_mut() {
            run.set_until(self.classifier.final_until());
        }
        let stored = self.tick();
        if let Some(writer) = self.file.begun() {
            for observer in &mut self.observers.0 {
                observer.close(writer, &mut self.log);
            }
        }
        if let Some(pruning) = &mut self.pruning {
            pruning.log_deleted(&mut self.log);
        }
        stored.and(self.file.end_run(ending))
    }

    /// Moves what the classifier has handed out to the run that it belongs to.
    fn take_classified(&mut self) {
        let Some(run) = self.runs.back_mut() else { return };
        for line in run.take_classified(&mut self.classifier) {
            self.log.write(&line);
        }
    }

    /// Returns the recorded time, in milliseconds.
    fn store_runs(&mut self) -> Result<i64, StoreError> {
        self.follow_file();
        self.open_file()?;
        let mut recorded_ms = 0;
        while self.runs.len() > 1 {
            recorded_ms += self.store_first_run()?;
            self.runs.pop_front();
            self.sessions = SessionBuilder::new(&self.run.thresholds);
            self.file.end_run("clock_set_back")?;
        }
        Ok(recorded_ms + self.store_first_run()?)
    }

    /// Leaves a file that was moved. The run goes on in another one.
    fn follow_file(&mut self) {
        let Some(now) = self.runs.back().map(|run| run.newest.clocks.since_boot) else { return };
        let Some(run) = self.runs.front_mut() else { return };
        if self.file.leave_if_moved(now, &mut self.log) {
            run.begin_again();
            // Sums up to the move stay in the file that was left.
            self.sessions = SessionBuilder::new(&self.run.thresholds);
            self.pruning = None;
        }
    }

    fn open_file(&mut self) -> Result<(), StoreError> {
        let Some(run) = self.runs.front().filter(|_| !self.file.is_open()) else { return Ok(()) };
        let database = self.file.open(run.newest.clocks.since_boot)?;
        if !self.are_sessions_resumed && !self.run.boot.is_empty() {
            let sessions = database.open_sessions(&self.run.boot)?;
            // Those that end later were recorded before the clock was set back.
            let started = run.started;
            let earlier = sessions.into_iter().filter(|session| session.period.to <= started);
            self.sessions.resume(earlier);
        }
        self.are_sessions_resumed = true;
        let recorded = database.last_tick()?;
        self.pruning = Some(Pruning::new(self.retention, recorded));
        self.observers.0.iter_mut().try_for_each(|observer| observer.opened(database))
    }

    /// Stores the first of the runs in one transaction. Returns the recorded time, in milliseconds.
    fn store_first_run(&mut self) -> Result<i64, StoreError> {
        let Some(run) = self.runs.front() else { return Ok(0) };
        let mut sessions = self.sessions.clone();
        let contents = self.contents(run, &mut sessions);
        let tick = contents.tick(run);
        let recorded_tick = RecordedTick {
            tick: &tick,
            poll: &run.newest,
            processes: self.processes.all(),
            thresholds: self.run.thresholds,
        };
        let facts = &self.run;
        let run_facts =
            || Run { started: run.started, driver: run.driver.clone(), ..facts.clone() };
        let observers = &mut self.observers.0;
        let writer = self.file.writer(run_facts)?;
        writer.tick_with(&tick, |transaction| {
            observers.iter_mut().try_for_each(|it| it.write(&recorded_tick, transaction))
        })?;
        for observer in observers {
            observer.stored(&recorded_tick, writer, &mut self.log);
        }
        self.sessions = sessions;
        self.tick_was_stored();
        Ok(contents.recorded_ms)
    }

    /// Returns what a tick stores of a run, and adds its spans to the sessions.
    fn contents(&self, run: &PendingRun, sessions: &mut SessionBuilder) -> TickContents {
        let mut processes: Vec<ProcessEntry> = self.processes.all().values().cloned().collect();
        processes.sort_by_key(|entry| entry.id);
        let awake = run.newest.clocks.awake;
        let recorded = awake.saturating_sub(self.stored_awake.unwrap_or(awake));
        run.closed.iter().for_each(|span| sessions.add(span));
        let mut contents = TickContents {
            processes,
            gaps: run.all_gaps(),
            events: run.events.clone(),
            recorded_ms: i64::try_from(recorded.as_millis()).unwrap_or(i64::MAX),
            ..TickContents::default()
        };
        if run.is_over {
            return TickContents { sessions: sessions.finish(), ..contents };
        }
        contents.events.extend(self.failure.as_ref().map(|it| it.event(run.newest.clocks)));
        let open = self.classifier.open_spans().filter_map(|span| span.since(run.started));
        let open: Vec<Span> = open.collect();
        TickContents {
            sessions: sessions.take_updates(&open, run.until),
            open,
            open_gap: self.classifier.open_gap(),
            samples: self.samples.samples(),
            latest: Some(self.latest(&run.newest)),
            ..contents
        }
    }

    fn latest(&self, poll: &Poll) -> Vec<Latest> {
        let activities = self.last_activities.clone().unwrap_or_else(|| self.classifier.now());
        let thresholds = &self.run.thresholds;
        LatestRows { poll, samples: &self.samples, processes: &self.processes, thresholds }
            .rows(&self.host, &activities)
    }

    /// Advances what is in memory after COMMIT.
    fn tick_was_stored(&mut self) {
        let Some(run) = self.runs.front_mut() else { return };
        let clocks = run.newest.clocks;
        self.stored_awake = Some(clocks.awake);
        if !run.is_over {
            if let Some(failure) = self.failure.take() {
                self.log.write(&failure.recovery(run.lost_ms()));
            }
            self.samples.restart();
            self.processes.forget_before(clocks.since_boot);
        }
        run.stored();
    }

    /// Prunes old rows. A failure is only logged: the tick is stored, and a later one tries again.
    fn prune(&mut self, recorded_ms: i64) {
        let (Some(pruning), Some(writer)) = (&mut self.pruning, self.file.begun()) else { return };
        let Some(now) = self.runs.back().map(|run| run.newest.clocks.wall) else { return };
        if let Err(error) = pruning.step(writer, now, recorded_ms, &mut self.log) {
            self.log.write(&format!("cannot prune: {error}"));
        }
    }

    /// Keeps what could not be stored, as far as it is not too old.
    fn keep_for_later(&mut self, error: &StoreError) {
        let reason = error.problem.to_string();
        let before = self.failure.take();
        if before.as_ref().is_none_or(|before| before.reason != reason) {
            self.log.write(&format!("cannot store: {reason}; trying again at each tick"));
        }
        let now = self.runs.back().map_or(UnixMillis(0), |run| run.newest.clocks.wall);
        let since = before.map_or(now, |before| before.since);
        self.failure = Some(StorageFailure { since, reason });
        for (place, run) in self.runs.iter_mut().enumerate() {
            let dropped = run.drop_old();
            if place == 0 {
                dropped.iter().for_each(|span| self.sessions.add(span));
            }
        }
        while self.runs.len() > MOST_RUNS {
            // Nothing of the second one is stored.
            self.runs.remove(1);
        }
    }
}

/// What a tick stores of a run besides its spans that have ended.
#[derive(Debug, Default)]
struct TickContents {
    recorded_ms: i64,
    open: Vec<Span>,
    gaps: Vec<Gap>,
    open_gap: Option<Gap>,
    processes: Vec<ProcessEntry>,
    sessions: Vec<SessionUpdate>,
    latest: Option<Vec<Latest>>,
    samples: Vec<CardSample>,
    events: Vec<Event>,
}

impl TickContents {
    fn tick<'a>(&'a self, run: &'a PendingRun) -> Tick<'a> {
        Tick {
            recorded_ms: self.recorded_ms,
            closed: &run.closed,
            open: &self.open,
            gaps: &self.gaps,
            open_gap: self.open_gap,
            processes: &self.processes,
            sessions: &self.sessions,
            latest: self.latest.as_deref(),
            samples: &self.samples,
            events: &self.events,
            polls: run.polls,
            calls: run.calls(),
            ..Tick::new(run.newest.clocks.wall, run.until)
        }
    }
}

impl StorageFailure {
    /// Returns the event that says so once something can be stored again.
    fn event(&self, now: Clocks) -> Event {
        Event {
            at: self.since,
            until: Some(now.wall),
            kind: "storage".to_owned(),
            detail: self.reason.clone(),
        }
    }

    fn recovery(&self, lost_ms: i64) -> String {
        match lost_ms / 1000 {
            0 => "storing again; nothing is missing".to_owned(),
            seconds => format!("storing again; {seconds} s are missing"),
        }
    }
}
