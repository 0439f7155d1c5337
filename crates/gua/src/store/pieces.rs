//! Every card's time in pieces: three tables read side by side, an hour at a time, so that what
//! is remembered does not grow with the window.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::thread;

use probe::units::UnixMillis;
use rusqlite::{Row, Rows, Statement};

use super::ahead::{self, Ahead, Line, Table};
use super::codes;
use super::error::StoreError;
use super::history::{History, parts_that_count};
use crate::classify::{Kib, State};
use crate::ledger::{ByNumber, CardTime, HOUR, HolderPart, Period, Piece};

/// What a card did, and what that counts for where it is not its length.
type CardPart = (State, Option<i64>);

const CARDS: Table<CardPart> = Table {
    query: "SELECT from_ms, length_ms, run, card, state, counted_ms FROM card_span
        WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
    read: card,
};
const HOLDERS: Table<HolderPart> = Table {
    query: "SELECT from_ms, length_ms, run, holder, state, memory_kib FROM holder_span
        WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
    read: holder,
};
const UNSEEN: Table<Kib> = Table {
    query: "SELECT from_ms, length_ms, run, card, memory_kib FROM unseen_span
        WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
    read: unseen_memory,
};

/// What a second reader tells.
type Told = Rc<RefCell<Ahead<CardPart, HolderPart>>>;

impl History {
    /// Every card's time in the window, cut wherever its state, its holders or what they hold
    /// change; hour by hour, and card by card within an hour. Together the pieces count for what
    /// [`History::card_spans`] counts.
    ///
    /// # Errors
    /// When it cannot be read, or what `each` says.
    pub fn pieces(
        &self,
        window: Period,
        each: impl FnMut(&Piece<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let second = if ahead::is_long(window) { self.second.take() } else { None };
        thread::scope(|scope| {
            let ahead = second.and_then(|second| second.read(scope, window, CARDS, HOLDERS));
            self.pieces_with(window, ahead, each)
        })
    }

    fn pieces_with(
        &self,
        window: Period,
        ahead: Option<Told>,
        mut each: impl FnMut(&Piece<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let database = self.connection();
        let mut cards = database.prepare(CARDS.query)?;
        let mut holders = database.prepare(HOLDERS.query)?;
        let mut unseen = database.prepare(UNSEEN.query)?;
        let (cards, holders) = match ahead {
            Some(told) => (
                Lines::Ahead(Rc::clone(&told), |ahead| &mut ahead.cards),
                Lines::Ahead(told, |ahead| &mut ahead.holders),
            ),
            None => {
                (Lines::of(CARDS, &mut cards, window)?, Lines::of(HOLDERS, &mut holders, window)?)
            }
        };
        let mut cards = Cursor::new(self, window, cards);
        let mut holders = Cursor::new(self, window, holders);
        let mut unseen = Cursor::new(self, window, Lines::of(UNSEEN, &mut unseen, window)?);
        let mut hour = Hour { history: self, cards: BTreeMap::new(), card_of: ByNumber::default() };
        while let Some(next) = cards.next_hour()? {
            hour.clear();
            cards.read_to(next, |it| {
                let (state, counted) = it.value;
                let counts = self.counts(it.run, counted, it.whole, it.period);
                hour.card(it.key).cards.push((it.period, state, counts));
            })?;
            let mut found = Ok(());
            holders.read_to(next, |it| match hour.card_of(it.key) {
                Ok(Some(card)) => hour.card(card).holders.push((it.period, it.value)),
                Ok(None) => {}
                Err(error) => found = Err(error),
            })?;
            found?;
            unseen.read_to(next, |it| hour.card(it.key).unseen.push((it.period, it.value)))?;
            hour.cut(&mut each)?;
        }
        Ok(())
    }
}

/// What is known of one hour.
struct Hour<'h> {
    history: &'h History,
    cards: BTreeMap<i64, CardTime>,
    /// Of each holder.
    card_of: ByNumber<i64, Option<i64>>,
}

impl Hour<'_> {
    fn clear(&mut self) {
        self.cards.values_mut().for_each(CardTime::clear);
    }

    fn card(&mut self, card: i64) -> &mut CardTime {
        self.cards.entry(card).or_default()
    }

    /// The card that a holder is on; `None` where nobody knows.
    fn card_of(&mut self, holder: i64) -> Result<Option<i64>, StoreError> {
        if let Some(card) = self.card_of.get(&holder) {
            return Ok(*card);
        }
        self.read_cards_from(holder)?;
        Ok(*self.card_of.entry(holder).or_insert(None))
    }

    /// Who comes later has a larger number, and will be asked for: many at once take little longer.
    fn read_cards_from(&mut self, holder: i64) -> Result<(), StoreError> {
        let mut find = self
            .history
            .connection()
            .prepare_cached("SELECT id, card FROM holder WHERE id >= ?1 ORDER BY id LIMIT 32")?;
        let mut rows = find.query([holder])?;
        while let Some(row) = rows.next()? {
            self.card_of.insert(row.get(0)?, row.get(1)?);
        }
        Ok(())
    }

    fn cut(
        &mut self,
        each: &mut impl FnMut(&Piece<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.cards.iter_mut().try_for_each(|(card, time)| time.cut(*card, &mut *each))
    }
}

/// The spans of one table, in the order of time.
struct Cursor<'rows, T> {
    history: &'rows History,
    window: Period,
    lines: Lines<'rows, T>,
    /// The first of a later hour, where one was read.
    ahead: Option<Placed<T>>,
}

/// Where its rows come from.
enum Lines<'rows, T> {
    Rows(Rows<'rows>, Table<T>),
    Ahead(Told, fn(&mut Ahead<CardPart, HolderPart>) -> &mut VecDeque<Line<T>>),
}

impl<'rows, T> Lines<'rows, T> {
    fn of(
        table: Table<T>,
        query: &'rows mut Statement<'_>,
        window: Period,
    ) -> Result<Self, StoreError> {
        Ok(Self::Rows(query.query(ahead::bounds(window))?, table))
    }

    fn next(&mut self) -> Result<Option<Line<T>>, StoreError> {
        match self {
            Self::Rows(rows, table) => Ok(table.next(rows)?),
            Self::Ahead(told, table) => told.borrow_mut().next(*table),
        }
    }
}

/// A row and the time that it is about.
struct Placed<T> {
    whole: Period,
    line: Line<T>,
}

/// A part of a span that lies in the window and counts.
struct Found<T> {
    key: i64,
    run: i64,
    whole: Period,
    period: Period,
    value: T,
}

impl<'rows, T: Copy> Cursor<'rows, T> {
    const fn new(history: &'rows History, window: Period, lines: Lines<'rows, T>) -> Self {
        Self { history, window, lines, ahead: None }
    }

    /// The hour of the next span that has a part in the window.
    fn next_hour(&mut self) -> Result<Option<i64>, StoreError> {
        self.ahead = self.next()?;
        Ok(self.ahead.as_ref().map(|placed| hour_of(placed.whole.from)))
    }

    /// Everything up to the end of an hour; what is of an earlier one is passed over.
    fn read_to(&mut self, hour: i64, mut each: impl FnMut(Found<T>)) -> Result<(), StoreError> {
        let begin = hour.saturating_mul(HOUR);
        while let Some(placed) = self.next()? {
            let from = placed.whole.from.0;
            if from >= begin.saturating_add(HOUR) {
                self.ahead = Some(placed);
                break;
            }
            if from >= begin {
                self.parts(&placed, &mut each);
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Placed<T>>, StoreError> {
        match self.ahead.take() {
            Some(placed) => Ok(Some(placed)),
            None => self.read(),
        }
    }

    fn parts(&self, placed: &Placed<T>, each: &mut impl FnMut(Found<T>)) {
        let Placed { whole, line: Line { run, key, value, .. } } = *placed;
        let mut tell = |period: Period| each(Found { key, run, whole, period, value });
        let part = whole.overlap(&self.window);
        if self.history.newer.is_empty() {
            tell(part);
        } else {
            parts_that_count(&self.history.newer, run, part).into_iter().for_each(tell);
        }
    }

    /// The next one that has a part in the window.
    fn read(&mut self) -> Result<Option<Placed<T>>, StoreError> {
        while let Some(line) = self.lines.next()? {
            let end = self.history.end_of(line.from, line.length)?;
            let whole = Period::new(UnixMillis(line.from), end);
            if !whole.overlap(&self.window).is_empty() {
                return Ok(Some(Placed { whole, line }));
            }
        }
        Ok(None)
    }
}

/// Only cards are counted.
fn card(row: &Row<'_>) -> rusqlite::Result<(i64, CardPart)> {
    Ok((row.get(3)?, (codes::state(row.get(4)?), row.get(5)?)))
}

fn holder(row: &Row<'_>) -> rusqlite::Result<(i64, HolderPart)> {
    let (holder, part) = (row.get(3)?, codes::part(row.get(4)?));
    Ok((holder, HolderPart { holder, part, memory: row.get::<_, Option<i64>>(5)?.and_then(kib) }))
}

fn unseen_memory(row: &Row<'_>) -> rusqlite::Result<(i64, Kib)> {
    Ok((row.get(3)?, kib(row.get(4)?).unwrap_or(Kib(0))))
}

fn kib(memory: i64) -> Option<Kib> {
    u64::try_from(memory).ok().map(Kib)
}

const fn hour_of(at: UnixMillis) -> i64 {
    at.0.div_euclid(HOUR)
}
