//! Ticks of a card that become one row: equal ones that follow each other, or all of a quarter hour or of an
//! hour.

use gua_core::State;
use gua_core::period::HOUR;
use rusqlite::Connection;

use crate::error::Problem;
use crate::rows::{SpanRows, read_period};
use crate::sums::Sums;
use crate::tables::{self, Age};

/// Place in the record that a tick belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub age: Age,
    /// Begin of the quarter hour or the hour.
    pub begin: i64,
    /// True if only equal ticks become one row.
    pub is_exact: bool,
}

/// A row that later ticks may add to.
#[derive(Debug)]
pub(super) struct OpenRow {
    pub place: Place,
    pub state: State,
    pub rows: SpanRows,
}

impl OpenRow {
    /// Returns true if both can be one row.
    pub fn includes(&self, next: &Self) -> bool {
        let (first, last) = (&self.rows, &next.rows);
        let is_known = |id: i64| first.holders.iter().any(|row| row.holder == id);
        let is_equal = || {
            first.card.period.to == last.card.period.from
                && self.state == next.state
                && first.holders.len() == last.holders.len()
                && last.holders.iter().all(|row| is_known(row.holder))
        };
        self.place == next.place
            && first.card.reason == last.card.reason
            && (!self.place.is_exact || is_equal())
    }

    /// Writes the rows of the card and its holders.
    pub fn write(mut self, db: &Connection) -> Result<(), Problem> {
        if self.place.age == Age::Hours {
            self.add_stored_hour(db)?;
        }
        tables::write_card_row(db, self.place.age, &self.rows.card)?;
        let mut holders = self.rows.holders.iter();
        holders.try_for_each(|row| tables::write_holder_row(db, self.place.age, row))
    }

    /// Adds the rows that the hour has already.
    fn add_stored_hour(&mut self, db: &Connection) -> Result<(), Problem> {
        let begin = self.place.begin;
        let stored = Sums::read(db, Age::Hours, [begin, begin + 1], HOUR)?;
        let card = &mut self.rows.card;
        card.period = read_period(begin, HOUR);
        if let Some(times) = stored.cards.get(&(begin, card.card, card.reason)) {
            card.times.add(times);
        }
        for row in &mut self.rows.holders {
            row.period = card.period;
            if let Some((times, peak_mib)) = stored.holders.get(&(begin, row.holder)) {
                row.times.add(times);
                row.peak_mib = row.peak_mib.max(*peak_mib);
            }
            db.prepare_cached("UPDATE holder SET until_ms = max(until_ms, ?2) WHERE id = ?1")?
                .execute((row.holder, begin + HOUR))?;
        }
        Ok(())
    }
}
