//! What is seen made into entries and kept, with what is to be told besides.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use probe::units::UnixMillis;
use probe::{Reading, Why};

use super::log::Log;
use super::pruning::Pruning;
use super::source::Seen;
use crate::classify::Thresholds;
use crate::ledger::{Entry, Event, Kind, Period, Stretch, Timeline, Trouble};
use crate::sampler::{CardTick, Tick};
use crate::store::{self, Database, Ending, Keep, RecorderLock, Run, StoreError, Writer};

/// What could not be told while the database was away is kept up to here.
const MOST_UNTOLD: usize = 1000;

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
    /// As it was begun; a run that follows it differs in its start and driver only.
    run: Run,
    thresholds: Thresholds,
    timeline: Timeline,
    /// When the last tick was, and when the last one was that is stored.
    last: Option<UnixMillis>,
    stored: Option<UnixMillis>,
    driver: Driver,
    ailing: BTreeMap<String, Why>,
    untold: Vec<Event>,
    /// Since when nothing could be stored, and why.
    storage: Option<(UnixMillis, String)>,
    pruning: Pruning,
    /// The end of what was recorded before us.
    recorded_until: Option<UnixMillis>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Driver {
    NotSeen,
    Here(Option<String>),
    Gone,
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
            run,
            thresholds,
            timeline: Timeline::new(interval),
            last: None,
            stored: None,
            driver: Driver::NotSeen,
            ailing: BTreeMap::new(),
            untold: Vec::new(),
            storage: None,
            pruning: Pruning::new(keep),
            recorded_until: None,
        }
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
        let stretch = self.timeline.tick(seen.clocks);
        self.notice_gap(&stretch, log);
        let entry = self.entry(&seen.tick, &stretch, late, log);
        self.last = Some(entry.at);
        match self.store(&entry) {
            Ok(()) => {
                self.recovered(&entry, log);
                Ok(())
            }
            Err(error) => {
                self.failed(entry.at, &error, log);
                Err(error)
            }
        }
    }

    /// Ends the run.
    ///
    /// # Errors
    /// When that could not be stored.
    pub fn end(mut self, ending: Ending) -> Result<(), StoreError> {
        match self.writer.take() {
            Some(writer) => writer.end(ending).map(drop),
            None => Ok(()),
        }
    }

    fn entry(
        &mut self,
        tick: &Tick,
        stretch: &Stretch,
        late: Option<Duration>,
        log: &mut Log,
    ) -> Entry {
        let at = stretch.covers.to;
        self.notice_driver(tick, at, log);
        if tick.driver.is_err() {
            // No card was read. What they did until the driver is back is not known either.
            self.timeline.break_off();
            return Entry { at, covers: Period::none_at(at), late, cards: Vec::new() };
        }
        self.notice_cards(tick, at, log);
        Entry::new(tick, stretch.covers, late, &self.thresholds)
    }

    fn store(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.follow_the_file()?;
        let turned_back = self.stored.is_some_and(|stored| entry.at <= stored);
        let writer = match self.writer.take() {
            Some(writer) if turned_back => {
                let database = writer.end(Ending::ClockSetBack)?;
                self.begin_at(database, entry.at)?
            }
            Some(writer) => writer,
            None => self.begin_at(store::open_to_write(&self.place.path)?, entry.at)?,
        };
        let events = self.events_to_tell(entry);
        let writer = self.writer.insert(writer);
        writer.record(entry, &events)?;
        self.untold.clear();
        self.stored = Some(entry.at);
        // The tick is stored already; what is too old can go the next time.
        let _ = self.pruning.step(writer, entry.at, self.recorded_until);
        Ok(())
    }

    fn begin_at(&mut self, database: Database, started: UnixMillis) -> Result<Writer, StoreError> {
        self.recorded_until = store::last_moment(&database)?;
        let driver = match &self.driver {
            Driver::Here(version) => version.clone(),
            Driver::NotSeen | Driver::Gone => None,
        };
        Writer::begin(database, &Run { started, driver, ..self.run.clone() })
    }

    /// A database that was moved away or deleted goes on elsewhere; at its path another one
    /// begins.
    fn follow_the_file(&mut self) -> Result<(), StoreError> {
        if self.place.lock.is_on(&self.place.path) {
            return Ok(());
        }
        // Where the old one cannot be written to either, its last ticks are lost with it.
        let _ = self.writer.take().map(Writer::end_elsewhere);
        let path = self.place.path.clone();
        if matches!(store::identify(&path), store::Identity::Missing) {
            store::create(&path)?;
        }
        self.place.lock = RecorderLock::take(&path)?;
        Ok(())
    }

    /// What happened since something was last stored, the time without a database included.
    fn events_to_tell(&self, entry: &Entry) -> Vec<Event> {
        let mut events = self.untold.clone();
        if let Some((since, why)) = &self.storage {
            events.push(Event {
                at: *since,
                until: Some(entry.covers.from),
                kind: Kind::Gap(Trouble::Storage),
                detail: why.clone(),
            });
        }
        events
    }

    fn notice_gap(&mut self, stretch: &Stretch, log: &mut Log) {
        let (Some(trouble), Some(last)) = (stretch.gap, self.last) else { return };
        let missing = Period::new(last, stretch.covers.from);
        let detail = match trouble {
            Trouble::ClockSet => {
                let seconds = stretch.covers.to.0.saturating_sub(last.0) / 1000;
                format!("the clock was set; since the last tick it moved by {seconds} s")
            }
            Trouble::Suspended => format!("the machine slept for {:.0} s", missing.seconds()),
            Trouble::Late | Trouble::DriverGone | Trouble::Storage => {
                format!("the tick came too late, {:.0} s are missing", missing.seconds())
            }
        };
        let until = Some(missing.to).filter(|until| *until > last);
        self.tell(Event { at: last, until, kind: Kind::Gap(trouble), detail }, log);
    }

    fn notice_driver(&mut self, tick: &Tick, at: UnixMillis, log: &mut Log) {
        let (now, told) = match &tick.driver {
            Ok(driver) => {
                let version = driver.version.clone().known();
                let words = version.clone().unwrap_or_else(|| "of an unknown version".into());
                (Driver::Here(version), (Kind::Driver, format!("the driver is {words}")))
            }
            Err(error) => (Driver::Gone, (Kind::Gap(Trouble::DriverGone), error.to_string())),
        };
        if now == self.driver {
            return;
        }
        let (kind, detail) = told;
        // Since the last tick at which it was there nothing is known.
        let since = if now == Driver::Gone { self.last.unwrap_or(at) } else { at };
        if self.driver != Driver::NotSeen {
            self.tell(Event { at: since, until: None, kind, detail }, log);
        }
        self.driver = now;
    }

    /// Cards that fell ill, and those that are well again.
    fn notice_cards(&mut self, tick: &Tick, at: UnixMillis, log: &mut Log) {
        let ailing: BTreeMap<String, Why> = tick
            .cards
            .iter()
            .filter_map(|card| Some((name(card), card.vitals.trouble()?)))
            .collect();
        if ailing == self.ailing {
            return;
        }
        let before = std::mem::replace(&mut self.ailing, ailing);
        let ill = self.ailing.iter().filter(|(card, why)| before.get(*card) != Some(*why));
        let ill = ill.map(|(card, why)| format!("{card}: {why}"));
        let well = before.keys().filter(|card| !self.ailing.contains_key(*card));
        let told: Vec<_> = ill.chain(well.map(|card| format!("{card} is well again"))).collect();
        for detail in told {
            self.tell(Event { at, until: None, kind: Kind::Card, detail }, log);
        }
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

fn name(card: &CardTick) -> String {
    let index = card.facts.index;
    match &card.facts.uuid {
        Reading::Known(uuid) => format!("card {index} ({uuid})"),
        Reading::Unknown(_) => format!("card {index}"),
    }
}
