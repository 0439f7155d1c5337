//! Spans of cards and holders, read ahead by a second reader on a thread of its own: over a long
//! window SQLite takes as long to tell of them as it takes to count them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::Scope;

use probe::threads;
use rusqlite::{Connection, Row, Rows};

use super::error::StoreError;
use super::{SCHEMA_VERSION, database};
use crate::ledger::{HOUR, Period};

/// A window from this length on is worth a thread.
const LONG: i64 = 48 * HOUR;

/// How many spans of cards are handed over at once, with those of holders that began by then, and
/// how many such batches may wait.
const BATCH: usize = 1024;
const WAITING: usize = 4;

/// A row as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<T> {
    pub from: i64,
    /// `None` while it is open.
    pub length: Option<i64>,
    pub run: i64,
    pub key: i64,
    pub value: T,
}

/// A table of spans in the order of time: each row begins with the time, the length and the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<T> {
    pub query: &'static str,
    /// Whom the rest of a row is about, and what it says.
    pub read: fn(&Row<'_>) -> rusqlite::Result<(i64, T)>,
}

impl<T> Table<T> {
    pub fn next(&self, rows: &mut Rows<'_>) -> rusqlite::Result<Option<Line<T>>> {
        let Some(row) = rows.next()? else { return Ok(None) };
        let (key, value) = (self.read)(row)?;
        Ok(Some(Line { from: row.get(0)?, length: row.get(1)?, run: row.get(2)?, key, value }))
    }
}

/// Whether a window is worth a second reader.
pub(super) const fn is_long(window: Period) -> bool {
    window.millis() >= LONG
}

/// No span is longer than an hour, so none that began earlier reaches into a window.
pub(super) const fn bounds(window: Period) -> (i64, i64) {
    (window.from.0.saturating_sub(HOUR), window.to.0)
}

/// A second reader of a database, before the first one has begun.
#[derive(Debug)]
pub(super) struct Beginning {
    database: Connection,
    version: i64,
}

/// A second reader that sees what the first one sees.
#[derive(Debug)]
pub(super) struct SecondReader(Connection);

impl Beginning {
    /// `None` where it can do without: of an older layout, or in trouble that the first reader
    /// is going to tell.
    pub fn of(path: &Path) -> Option<Self> {
        let database = database::open_read_only(path).ok()?;
        let layout: u32 =
            database.pragma_query_value(None, "user_version", |row| row.get(0)).ok()?;
        let version = version(&database).ok()?;
        (layout == SCHEMA_VERSION).then_some(Self { database, version })
    }

    /// Begins as well, once the first one has. `None` where somebody has written since: the two
    /// may not see the same then.
    pub fn join(self) -> Option<SecondReader> {
        self.database.execute_batch("BEGIN").ok()?;
        let is_same = version(&self.database).ok()? == self.version;
        is_same.then_some(SecondReader(self.database))
    }
}

/// Another one whenever anybody else has written.
fn version(database: &Connection) -> rusqlite::Result<i64> {
    database.pragma_query_value(None, "data_version", |row| row.get(0))
}

/// Lines of both tables that begin at about the same time.
#[derive(Debug)]
struct Batch<C, H> {
    cards: Vec<Line<C>>,
    holders: Vec<Line<H>>,
}

type Told<C, H> = rusqlite::Result<Batch<C, H>>;

impl SecondReader {
    /// Reads on a thread; `None` where none can be had.
    pub fn read<'scope, C: Send + 'scope, H: Send + 'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        window: Period,
        cards: Table<C>,
        holders: Table<H>,
    ) -> Option<Rc<RefCell<Ahead<C, H>>>> {
        let (tell, batches) = mpsc::sync_channel(WAITING);
        let work = move || {
            if let Err(error) = self.tell(window, &cards, &holders, &tell) {
                // Where nobody listens any more, nobody needs to know.
                let _ = tell.send(Err(error));
            }
        };
        threads::named("ahead").spawn_scoped(scope, work).ok()?;
        let ahead = Ahead { batches, cards: VecDeque::new(), holders: VecDeque::new() };
        Some(Rc::new(RefCell::new(ahead)))
    }

    fn tell<C, H>(
        &self,
        window: Period,
        cards: &Table<C>,
        holders: &Table<H>,
        tell: &SyncSender<Told<C, H>>,
    ) -> rusqlite::Result<()> {
        let mut of_cards = self.0.prepare(cards.query)?;
        let mut of_holders = self.0.prepare(holders.query)?;
        let mut of_cards = of_cards.query(bounds(window))?;
        let mut of_holders = of_holders.query(bounds(window))?;
        let mut next = holders.next(&mut of_holders)?;
        loop {
            let mut batch = Batch { cards: Vec::with_capacity(BATCH), holders: Vec::new() };
            while batch.cards.len() < BATCH
                && let Some(line) = cards.next(&mut of_cards)?
            {
                batch.cards.push(line);
            }
            let is_last = batch.cards.len() < BATCH;
            // After the last card nothing counts, but the rows are there.
            let until = batch.cards.last().filter(|_| !is_last).map_or(i64::MAX, |line| line.from);
            while let Some(line) = next.take_if(|line| line.from <= until) {
                batch.holders.push(line);
                next = holders.next(&mut of_holders)?;
            }
            if tell.send(Ok(batch)).is_err() || is_last {
                return Ok(());
            }
        }
    }
}

/// What comes from the second reader, each table in its order.
#[derive(Debug)]
pub(super) struct Ahead<C, H> {
    batches: Receiver<Told<C, H>>,
    pub cards: VecDeque<Line<C>>,
    pub holders: VecDeque<Line<H>>,
}

impl<C, H> Ahead<C, H> {
    /// The next line of one of the tables.
    pub fn next<T>(
        &mut self,
        table: fn(&mut Self) -> &mut VecDeque<Line<T>>,
    ) -> Result<Option<Line<T>>, StoreError> {
        loop {
            if let Some(line) = table(self).pop_front() {
                return Ok(Some(line));
            }
            // It closes after the last one.
            let Ok(batch) = self.batches.recv() else { return Ok(None) };
            let Batch { cards, holders } = batch?;
            put(&mut self.cards, cards);
            put(&mut self.holders, holders);
        }
    }
}

fn put<T>(lines: &mut VecDeque<Line<T>>, more: Vec<Line<T>>) {
    if lines.is_empty() {
        *lines = more.into();
    } else {
        lines.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{History, create, open_to_write};
    use super::*;
    use probe::units::UnixMillis;

    const HOURS: i64 = 72;

    /// A history of three days: a card that is held by somebody, and for half of each hour by
    /// somebody else as well.
    fn history(folder: &Path) -> PathBuf {
        let path = folder.join("gua.db");
        create(&path).unwrap();
        let database = open_to_write(&path).unwrap();
        database
            .execute_batch(
                "INSERT INTO host VALUES (1, 'lab');
                 INSERT INTO run (id, host, boot, recorder, started_ms, ended_ms)
                     VALUES (1, 1, '', 'gua 1', 0, 259200000);
                 INSERT INTO card (id, uuid, number) VALUES (1, 'GPU-1', 0);
                 INSERT INTO identity (id, user) VALUES (1, 'ann');
                 INSERT INTO process (id, boot, pid, start_ticks, identity)
                     VALUES (1, '', 5, 7, 1), (2, '', 6, 8, 1);
                 INSERT INTO holder VALUES (1, 1, 1, 1), (2, 2, 1, 1);",
            )
            .unwrap();
        for hour in (0..HOURS).map(|hour| hour * HOUR) {
            let mut span = database
                .prepare_cached("INSERT INTO card_span VALUES (?1, 1, 1, 1, 3600000, NULL)")
                .unwrap();
            span.execute([hour]).unwrap();
            let mut span = database
                .prepare_cached("INSERT INTO holder_span VALUES (?1, ?2, 1, 204, ?3, NULL, 7000)")
                .unwrap();
            span.execute((hour, 1, HOUR)).unwrap();
            span.execute((hour + HOUR / 4, 2, HOUR / 2)).unwrap();
        }
        path
    }

    fn window(hours: i64) -> Period {
        Period::new(UnixMillis(HOUR / 2), UnixMillis(hours * HOUR))
    }

    fn told(history: &History, window: Period) -> Vec<String> {
        let mut told = Vec::new();
        let tell = |piece: &crate::ledger::Piece<'_>| {
            told.push(format!("{piece:?}"));
            Ok(())
        };
        history.pieces(window, tell).unwrap();
        told
    }

    #[test]
    fn two_readers_tell_what_one_tells() {
        let folder = tempfile::tempdir().unwrap();
        let path = history(folder.path());
        let alone = History::open(&path).unwrap();
        let both = History::open_for(&path, window(HOURS)).unwrap();
        assert!(both.second.borrow().is_some());
        let expected = told(&alone, window(HOURS));
        assert_eq!(expected.len(), 3 * 72 - 1);
        assert_eq!(told(&both, window(HOURS)), expected);
        assert!(both.second.borrow().is_none(), "it was asked");
        assert_eq!(told(&both, window(HOURS)), expected, "once more, alone");
    }

    #[test]
    fn a_short_window_has_one_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = history(folder.path());
        assert!(History::open_for(&path, window(9)).unwrap().second.borrow().is_none());
    }

    #[test]
    fn a_reader_that_sees_something_else_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = history(folder.path());
        let beginning = Beginning::of(&path).unwrap();
        let writer = open_to_write(&path).unwrap();
        writer.execute_batch("DELETE FROM holder_span WHERE from_ms < 3600000").unwrap();
        assert!(beginning.join().is_none());
        assert!(Beginning::of(&path).unwrap().join().is_some(), "nobody writes any more");
    }

    #[test]
    fn who_stops_listening_ends_the_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = history(folder.path());
        let both = History::open_for(&path, window(HOURS)).unwrap();
        let stopped = both.pieces(window(HOURS), |_| Err(StoreError::Locked));
        assert!(matches!(stopped, Err(StoreError::Locked)));
    }
}
