//! What is seen kept in a database, with what is to be told besides.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use probe::units::UnixMillis;

use super::attendant::{Attendant, Kept};
use super::log::Log;
use super::observer::Observer;
use super::pruning::Pruning;
use super::source::Seen;
use super::witness::Witness;
use crate::classify::{Lines, Thresholds};
use crate::ledger::{Entry, Event, Kind, Period, Trouble};
use crate::metrics::Observed;
use crate::store::{self, Database, Ending, Keep, RecorderLock, Run, StoreError, Writer};

/// What could not be told while the database was away is kept up to here.
const MOST_UNTOLD: usize = 1000;

/// How often to look whether the database is still where it was.
const LOOK_AT_FILE: Duration = Duration::from_secs(10);

/// A database that is ours to write.
#[derive(Debug)]
pub struct Place {
    pub path: PathBuf,
    pub lock: RecorderLock,
}

/// Ticks on their way into a database.
#[derive(Debug)]
pub struct Recording {
    // Before the place, whose lock must be given back last.
    writer: Option<Writer>,
    place: Place,
    looked_at_file: Option<Instant>,
    /// As it was begun; a run that follows it differs in its start and driver only.
    run: Run,
    observer: Observer,
    lines: Lines,
    /// When the last tick was that is stored.
    stored: Option<UnixMillis>,
    untold: Vec<Event>,
    /// Since when nothing could be stored, and why.
    storage: Option<(UnixMillis, String)>,
    keep: Keep,
    /// Pruning of the open database.
    pruning: Option<Pruning>,
    attendant: Option<Box<dyn Attendant>>,
    witness: Option<Box<dyn Witness>>,
}

impl Recording {
    /// Begins with the first tick.
    #[must_use]
    pub fn new(
        place: Place,
        run: Run,
        interval: Duration,
        thresholds: Thresholds,
        keep: Keep,
    ) -> Self {
        Self {
            writer: None,
            place,
            looked_at_file: None,
            run,
            lines: Lines::from(&thresholds),
            observer: Observer::new(interval, thresholds),
            stored: None,
            untold: Vec::new(),
            storage: None,
            keep,
            pruning: None,
            attendant: None,
            witness: None,
        }
    }

    /// Lets somebody make something of every tick that is stored.
    #[must_use]
    pub fn attended_by(mut self, attendant: Box<dyn Attendant>) -> Self {
        self.attendant = Some(attendant);
        self
    }

    /// Somebody hears of every tick that is stored.
    #[must_use]
    pub fn with_witness(mut self, witness: Option<Box<dyn Witness>>) -> Self {
        self.witness = witness;
        self
    }

    /// Keeps one tick. What fails is logged, and told in the history once that goes again.
    ///
    /// # Errors
    /// When this tick could not be stored; the next may be.
    pub fn record(
        &mut self,
        seen: &Seen,
        late: Option<Duration>,
        log: &mut Log,
    ) -> Result<(), StoreError> {
        let (entry, events) = self.observer.see(&seen.tick, seen.clocks, late);
        for event in &events {
            self.tell(event.clone(), log);
        }
        let was_away = self.storage_gap(&entry);
        match self.store(&entry, log) {
            Ok(()) => {
                self.recovered(&entry, log);
                self.attend(seen, &entry, log);
                let events: Vec<_> = events.into_iter().chain(was_away).collect();
                if let Some(words) = self.tell_the_witness(&entry, &events, seen.took) {
                    log.say(&words);
                }
                self.prune(&entry, log);
                Ok(())
            }
            Err(error) => {
                self.failed(entry.at, &error, log);
                Err(error)
            }
        }
    }

    fn attend(&mut self, seen: &Seen, entry: &Entry, log: &mut Log) {
        if let (Some(attendant), Some(writer)) = (&mut self.attendant, &mut self.writer) {
            let run = writer.run();
            attendant.attend(seen, entry, Kept { database: writer.database(), run }, log);
        }
    }

    /// Ends the run.
    ///
    /// # Errors
    /// When that could not be stored.
    pub fn end(mut self, ending: Ending, log: &mut Log) -> Result<(), StoreError> {
        if let (Some(attendant), Some(writer)) = (&mut self.attendant, &mut self.writer) {
            let run = writer.run();
            attendant.close(Kept { database: writer.database(), run }, log);
        }
        if let Some(pruning) = &mut self.pruning {
            pruning.log_deleted(log);
        }
        match self.writer.take() {
            Some(writer) => writer.end(ending).map(drop),
            None => Ok(()),
        }
    }

    /// Prunes old rows. A failure is logged only: the tick is stored, and a later one tries again.
    fn prune(&mut self, entry: &Entry, log: &mut Log) {
        if let (Some(pruning), Some(writer)) = (&mut self.pruning, &mut self.writer)
            && let Err(error) = pruning.step(writer, entry, log)
        {
            log.say(&format!("cannot prune: {error}"));
        }
    }

    fn store(&mut self, entry: &Entry, log: &mut Log) -> Result<(), StoreError> {
        self.follow_the_file()?;
        let turned_back = self.stored.is_some_and(|stored| entry.at <= stored);
        let writer = match self.writer.take() {
            Some(writer) if turned_back => {
                let database = writer.end(Ending::ClockSetBack)?;
                self.begin_at(database, entry.at, log)?
            }
            Some(writer) => writer,
            None => self.begin_at(store::open_to_write(&self.place.path)?, entry.at, log)?,
        };
        let events = self.events_to_tell(entry);
        let writer = self.writer.insert(writer);
        writer.record(entry, &events)?;
        self.untold.clear();
        self.stored = Some(entry.at);
        Ok(())
    }

    fn begin_at(
        &mut self,
        database: Database,
        started: UnixMillis,
        log: &mut Log,
    ) -> Result<Writer, StoreError> {
        if let Some(mut before) = self.pruning.take() {
            before.log_deleted(log);
        }
        self.pruning = Some(Pruning::begin(self.keep, &database, started, log)?);
        let driver = self.observer.driver_version().map(str::to_owned);
        let writer = Writer::begin(database, &Run { started, driver, ..self.run.clone() })?;
        writer.judged_by(self.lines, started)?;
        Ok(writer)
    }

    /// A database that was moved away or deleted goes on elsewhere; at its path another one
    /// begins.
    fn follow_the_file(&mut self) -> Result<(), StoreError> {
        if self.looked_at_file.is_some_and(|at| at.elapsed() < LOOK_AT_FILE) {
            return Ok(());
        }
        if self.place.lock.is_on(&self.place.path) {
            self.looked_at_file = Some(Instant::now());
            return Ok(());
        }
        // Where the old one cannot be written to either, its last ticks are lost with it.
        let _ = self.writer.take().map(Writer::end_elsewhere);
        let path = self.place.path.clone();
        if matches!(store::identify(&path), store::Identity::Missing) {
            store::create(&path)?;
        }
        let lock = RecorderLock::take(&path)?;
        store::bring_forward(&path, &lock)?;
        self.place.lock = lock;
        Ok(())
    }

    /// What happened since something was last stored, the time without a database included.
    fn events_to_tell(&self, entry: &Entry) -> Vec<Event> {
        self.untold.iter().cloned().chain(self.storage_gap(entry)).collect()
    }

    /// The time without a database, where it was away until this tick.
    fn storage_gap(&self, entry: &Entry) -> Option<Event> {
        let (since, why) = self.storage.as_ref()?;
        Some(Event {
            at: *since,
            until: Some(entry.covers.from),
            kind: Kind::Gap(Trouble::Storage),
            detail: why.clone(),
        })
    }

    fn tell_the_witness(
        &mut self,
        entry: &Entry,
        events: &[Event],
        took: Duration,
    ) -> Option<String> {
        let tick = self.writer.as_ref()?.newest_tick()?;
        let observed = Observed { entry, events, took: Some(took) };
        self.witness.as_mut()?.stored(tick, observed, self.observer.driver_version())
    }

    fn tell(&mut self, event: Event, log: &mut Log) {
        log.say(&event.detail);
        if self.untold.len() < MOST_UNTOLD {
            self.untold.push(event);
        }
    }

    fn failed(&mut self, at: UnixMillis, error: &StoreError, log: &mut Log) {
        let why = error.to_string();
        if self.storage.as_ref().is_none_or(|(_, before)| *before != why) {
            log.say(&format!("cannot store: {why}; trying again at every tick"));
        }
        let since = self.storage.as_ref().map(|(since, _)| *since);
        self.storage = Some((since.or(self.stored).unwrap_or(at), why));
    }

    fn recovered(&mut self, entry: &Entry, log: &mut Log) {
        if let Some((since, _)) = self.storage.take() {
            let missing = Period::new(since, entry.covers.from).seconds();
            log.say(&format!("storing again; {missing:.0} s are missing"));
        }
    }
}
