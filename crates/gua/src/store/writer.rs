//! Writes what was recorded: one tick, one transaction.

use probe::units::UnixMillis;
use rusqlite::{Connection, params};

use super::allowance::Allowance;
use super::error::StoreError;
use super::lines;
use super::names::Names;
use super::retain::{Retention, Step};
use super::run::{self, Ending, Run};
use super::sample_rows::SampleRows;
use super::span_rows;
use crate::classify::{Holds, Kib, Lines, State};
use crate::ledger::{self, CardEntry, Change, Entry, Event, Holding, Spans};

/// A run being written.
#[derive(Debug)]
pub struct Writer {
    database: Connection,
    run: i64,
    boot: String,
    names: Names,
    open: Open,
    last: UnixMillis,
    /// Whether many ticks share a transaction.
    batch: bool,
    /// The number of the last tick that was written.
    tick: Option<i64>,
    /// Earlier ticks leave their spans only.
    samples_from: UnixMillis,
}

/// The spans that are open.
#[derive(Debug, Default)]
struct Open {
    observed: Spans<(), ()>,
    cards: Spans<i64, State>,
    owners: Spans<(i64, i64), Holds>,
    holders: Spans<i64, Holding>,
    unseen: Spans<i64, Kib>,
}

/// What one tick found, in the numbers of the database.
#[derive(Debug, Default)]
struct Found {
    observed: &'static [((), ())],
    cards: Vec<(i64, State)>,
    owners: Vec<((i64, i64), Holds)>,
    holders: Vec<(i64, Holding)>,
    unseen: Vec<(i64, Kib)>,
}

/// What one tick begins and ends.
#[derive(Debug, Default)]
struct Changes {
    observed: Vec<Change<(), ()>>,
    cards: Vec<Change<i64, State>>,
    owners: Vec<Change<(i64, i64), Holds>>,
    holders: Vec<Change<i64, Holding>>,
    unseen: Vec<Change<i64, Kib>>,
}

impl Writer {
    /// Begins a run, after ending what a killed recorder left open.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(mut database: Connection, run: &Run) -> Result<Self, StoreError> {
        let transaction = immediate(&mut database)?;
        run::settle(&transaction)?;
        let id = run::begin(&transaction, run)?;
        transaction.commit()?;
        Ok(Self {
            database,
            run: id,
            boot: run.boot.clone(),
            names: Names::default(),
            open: Open::default(),
            last: run.started,
            batch: false,
            tick: None,
            samples_from: UnixMillis(i64::MIN),
        })
    }

    /// Writes one tick and what happened meanwhile, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written. It may be tried again; the time until then is a gap.
    pub fn record(&mut self, entry: &Entry, events: &[Event]) -> Result<(), StoreError> {
        self.begin_transaction()?;
        let written = self.write(entry, events).and_then(|written| {
            self.commit()?;
            Ok(written)
        });
        match written {
            Ok((found, changes)) => {
                self.open.apply(&changes, &found, entry.covers.to);
                self.last = entry.at;
                if entry.covers.begins_an_hour() {
                    self.names.forget_the_gone();
                }
                Ok(())
            }
            Err(error) => {
                self.undo();
                Err(error)
            }
        }
    }

    /// The number of the last tick that was written; `None` where it left its spans only.
    #[must_use]
    pub const fn newest_tick(&self) -> Option<i64> {
        self.tick
    }

    /// Writes down that something happened.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&self, event: &Event) -> Result<(), StoreError> {
        self.database
            .prepare_cached(
                "INSERT INTO event (run, at_ms, until_ms, kind, detail)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                self.run,
                event.at.0,
                event.until.map(|until| until.0),
                event.kind.slug(),
                event.detail
            ])?;
        Ok(())
    }

    /// Writes down by which lines this run is judged.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn judged_by(&self, lines: Lines, started: UnixMillis) -> Result<(), StoreError> {
        lines::write(&self.database, self.run, started, lines)
    }

    /// Ends the run and gives the database back.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(mut self, ending: Ending) -> Result<Connection, StoreError> {
        self.commit_batch()?;
        let mut changes = Changes::default();
        self.open.end_all(&mut changes);
        self.begin_transaction()?;
        self.write_changes(&changes)?;
        run::end(&self.database, self.run, self.last, ending)?;
        self.commit()?;
        Ok(self.database)
    }

    /// Ends the run in a file that is no longer at its path. SQLite does not write the log
    /// into such a file by itself, and what is in it would be lost.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end_elsewhere(self) -> Result<(), StoreError> {
        let database = self.end(Ending::Stopped)?;
        Ok(database.pragma_update(None, "wal_checkpoint", "TRUNCATE")?)
    }

    /// As a recorder that is killed leaves it.
    #[cfg(test)]
    #[must_use]
    pub fn killed(self) -> Connection {
        self.database
    }

    /// Deletes about `most_rows` rows that are too old, as [`Retention::step`].
    ///
    /// # Errors
    /// When it cannot be written. It may be tried again.
    pub fn retain(
        &mut self,
        retention: &mut Retention,
        now: UnixMillis,
        allowance: Option<&mut Allowance>,
        most_rows: usize,
    ) -> Result<Step, StoreError> {
        let step = retention.step(&mut self.database, now, allowance, most_rows)?;
        if step.swept {
            self.names.forget();
        }
        Ok(step)
    }

    /// From here on ticks share a transaction, until [`Self::commit_batch`].
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin_batch(&mut self) -> Result<(), StoreError> {
        self.begin_transaction()?;
        self.batch = true;
        Ok(())
    }

    /// Makes what was written since [`Self::begin_batch`] stay.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn commit_batch(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.batch) {
            self.commit()?;
        }
        Ok(())
    }

    /// Ticks before this moment leave their spans only, as if they had been recorded and
    /// become too old since. Such a run must be ended by [`Self::end`]: how far it came is
    /// not to be told from its ticks.
    #[must_use]
    pub const fn with_samples_from(mut self, moment: UnixMillis) -> Self {
        self.samples_from = moment;
        self
    }

    /// The number of the run.
    #[must_use]
    pub const fn run(&self) -> i64 {
        self.run
    }

    #[must_use]
    pub const fn database(&mut self) -> &mut Connection {
        &mut self.database
    }

    fn begin_transaction(&self) -> Result<(), StoreError> {
        if !self.batch {
            self.database.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        }
        Ok(())
    }

    fn commit(&self) -> Result<(), StoreError> {
        if !self.batch {
            self.database.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(())
    }

    /// Numbers that were given out in a transaction that failed are no longer theirs.
    fn undo(&mut self) {
        self.names.forget();
        if !self.database.is_autocommit() {
            // Where even this fails, SQLite has undone it by itself.
            let _ = self.database.execute_batch("ROLLBACK");
        }
    }

    fn write(&mut self, entry: &Entry, events: &[Event]) -> Result<(Found, Changes), StoreError> {
        for event in events {
            self.note(event)?;
        }
        let is_kept = entry.at >= self.samples_from;
        let tick = is_kept.then(|| self.write_tick(entry)).transpose()?;
        self.tick = tick;
        let mut found = Found::over(entry);
        let mut samples = SampleRows::with_capacity(entry.cards.len());
        for card in &entry.cards {
            let id = self.find(card, &mut found)?;
            if let Some(tick) = tick {
                samples.add(tick, id, card)?;
            }
        }
        samples.write(&self.database)?;
        let changes = self.open.changes(entry, &found);
        self.write_changes(&changes)?;
        Ok((found, changes))
    }

    fn write_tick(&self, entry: &Entry) -> Result<i64, StoreError> {
        let late = entry.late.map(|late| i64::try_from(late.as_millis()).unwrap_or(i64::MAX));
        self.database
            .prepare_cached(
                "INSERT INTO tick (run, at_ms, covers_ms, late_ms) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![self.run, entry.at.0, entry.covers.millis(), late])?;
        Ok(self.database.last_insert_rowid())
    }

    /// The numbers of a card and of everybody on it; gives that of the card.
    fn find(&mut self, entry: &CardEntry, found: &mut Found) -> Result<i64, StoreError> {
        let card = self.names.card(&self.database, entry)?;
        found.cards.push((card, entry.state));
        let crew = self.names.crew(&self.database, &self.boot, card, &entry.crew)?;
        found.owners.extend_from_slice(&crew.owners);
        let open = &self.open;
        found.holders.extend(
            crew.holders.iter().map(|(id, holding)| {
                (*id, holding.settled(open.holders.state_of(id), entry.state))
            }),
        );
        found.unseen.extend(entry.unseen.map(|is| {
            let was = open.unseen.state_of(&card).unwrap_or(is);
            (card, ledger::settled(was, is, entry.state))
        }));
        Ok(card)
    }

    fn write_changes(&self, changes: &Changes) -> Result<(), StoreError> {
        let Self { database, run, .. } = self;
        span_rows::observed(database, *run, &changes.observed)?;
        span_rows::cards(database, *run, &changes.cards)?;
        span_rows::owners(database, *run, &changes.owners)?;
        span_rows::holders(database, *run, &changes.holders)?;
        span_rows::unseen(database, *run, &changes.unseen)
    }
}

impl Found {
    /// With what the time that a tick covers says by itself, and room for the rest.
    fn over(entry: &Entry) -> Self {
        let crews = || entry.cards.iter().map(|card| &card.crew);
        Self {
            observed: if entry.covers.is_empty() { &[] } else { &[((), ())] },
            cards: Vec::with_capacity(entry.cards.len()),
            owners: Vec::with_capacity(crews().map(|crew| crew.owners.len()).sum()),
            holders: Vec::with_capacity(crews().map(|crew| crew.holders.len()).sum()),
            // Rare.
            unseen: Vec::new(),
        }
    }
}

impl Open {
    fn changes(&self, entry: &Entry, found: &Found) -> Changes {
        let mut changes = Changes::default();
        self.observed.changes(entry.covers, found.observed, &mut changes.observed);
        self.cards.changes(entry.covers, &found.cards, &mut changes.cards);
        self.owners.changes(entry.covers, &found.owners, &mut changes.owners);
        self.holders.changes(entry.covers, &found.holders, &mut changes.holders);
        self.unseen.changes(entry.covers, &found.unseen, &mut changes.unseen);
        changes
    }

    fn end_all(&self, changes: &mut Changes) {
        self.observed.end_all(&mut changes.observed);
        self.cards.end_all(&mut changes.cards);
        self.owners.end_all(&mut changes.owners);
        self.holders.end_all(&mut changes.holders);
        self.unseen.end_all(&mut changes.unseen);
    }

    fn apply(&mut self, changes: &Changes, found: &Found, until: UnixMillis) {
        self.observed.apply(&changes.observed, found.observed, until);
        self.cards.apply(&changes.cards, &found.cards, until);
        self.owners.apply(&changes.owners, &found.owners, until);
        self.holders.apply(&changes.holders, &found.holders, until);
        self.unseen.apply(&changes.unseen, &found.unseen, until);
    }
}

/// A transaction that takes the right to write at once: one that only finds out later that
/// it cannot have it would have to begin anew.
pub(super) fn immediate(
    database: &mut Connection,
) -> Result<rusqlite::Transaction<'_>, StoreError> {
    Ok(database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?)
}
