//! Rows of a window in order of time, for rules that are tried on history.

use std::collections::BTreeMap;

use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_core::{Period, Reason};
use rusqlite::Connection;

use crate::codes;
use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::rows::{CardTimes, HALF_MINUTE, HolderRow, HolderTimes, QUARTER_HOUR};
use crate::sums::{Bounds, hour_of, oldest_hour};
use crate::tables::{self, Age};

/// How exactly a row says when something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// One span.
    Exact,
    /// Sum of the spans of a half minute.
    HalfMinute,
    QuarterHour,
    Hour,
}

impl Precision {
    /// Returns by how much a time may be off, in milliseconds.
    #[must_use]
    pub const fn millis(self) -> i64 {
        match self {
            Self::Exact => 0,
            Self::HalfMinute => HALF_MINUTE,
            Self::QuarterHour => QUARTER_HOUR,
            Self::Hour => HOUR,
        }
    }
}

/// A card over a stretch of time, with its holders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayCard {
    /// Row id of the card.
    pub card: i64,
    pub period: Period,
    pub precision: Precision,
    pub times: CardTimes,
    /// Reason of its unknown time; one of them if there are several.
    pub reason: Option<Reason>,
    pub holders: Vec<ReplayHolder>,
}

/// A holder over the period of its card's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayHolder {
    /// Row id of the holder.
    pub holder: i64,
    pub times: HolderTimes,
}

impl Database {
    /// Calls `each` with the rows that overlap a window, in order of time and an hour at a time. The first
    /// and the last ones may reach beyond it.
    pub fn replay(
        &self,
        window: Period,
        each: impl FnMut(Vec<ReplayCard>),
    ) -> Result<(), StoreError> {
        let read = || -> Result<(), Problem> {
            // One transaction, so that a tick in between is not seen in part.
            let transaction = self.connection.unchecked_transaction()?;
            read(&transaction, window, each)
        };
        self.result(read())
    }
}

fn read(
    db: &Connection,
    window: Period,
    mut each: impl FnMut(Vec<ReplayCard>),
) -> Result<(), Problem> {
    let bounds = Bounds::read(db)?;
    let fine_from = UnixMillis(bounds.fine_from);
    let parts = [
        (Age::Hours, Period { to: fine_from.min(window.to), ..window }),
        (Age::Fine, Period { from: fine_from.max(window.from), ..window }),
    ];
    for (age, part) in parts {
        let [mut begin, to] = age.range(part);
        while let Some(hour) = oldest_hour(db, age.card_table(), "from_ms", begin)? {
            let range = [begin.max(hour), (hour + HOUR).min(to)];
            if range[0] >= to {
                break;
            }
            let cards = read_hour(db, age, &bounds, range, window)?;
            if !cards.is_empty() {
                each(cards);
            }
            begin = hour_of(range[0]) + HOUR;
        }
    }
    Ok(())
}

fn read_hour(
    db: &Connection,
    age: Age,
    bounds: &Bounds,
    range: [i64; 2],
    window: Period,
) -> Result<Vec<ReplayCard>, Problem> {
    let mut cards: BTreeMap<(UnixMillis, i64), ReplayCard> = BTreeMap::new();
    tables::each_card_row(db, age, range, |row| {
        if row.period.overlap(&window).is_empty() {
            return Ok(());
        }
        let card = cards.entry((row.period.from, row.card)).or_insert_with(|| ReplayCard {
            card: row.card,
            period: row.period,
            precision: Precision::Exact,
            times: CardTimes::default(),
            reason: None,
            holders: Vec::new(),
        });
        card.times.add(&row.times);
        if row.reason != codes::KNOWN {
            card.reason = Some(codes::reason(row.reason));
        }
        Ok(())
    })?;
    let mut card_of = db.prepare_cached("SELECT card FROM holder WHERE id = ?1")?;
    let mut cards_of: BTreeMap<i64, i64> = BTreeMap::new();
    tables::each_holder_row(db, age, range, |HolderRow { period, holder, times, .. }| {
        let card = match cards_of.get(&holder) {
            Some(card) => *card,
            None => {
                let card: i64 = card_of.query_row([holder], |row| row.get(0))?;
                cards_of.insert(holder, card);
                card
            }
        };
        if let Some(card) = cards.get_mut(&(period.from, card)) {
            card.holders.push(ReplayHolder { holder, times });
        }
        Ok(())
    })?;
    let mut cards: Vec<_> = cards.into_values().collect();
    for card in &mut cards {
        card.precision = precision(age, bounds, card);
    }
    Ok(cards)
}

fn precision(age: Age, bounds: &Bounds, card: &ReplayCard) -> Precision {
    if age == Age::Hours {
        return Precision::Hour;
    }
    if card.period.from.0 < bounds.quarters_until {
        return Precision::QuarterHour;
    }
    let length = card.period.millis();
    let CardTimes { active_ms, idle_held_ms, free_ms, unknown_ms, .. } = card.times;
    let is_one = |parts: &[i64]| parts.contains(&length);
    let is_exact = is_one(&[active_ms, idle_held_ms, free_ms, unknown_ms])
        && card.holders.iter().all(|ReplayHolder { times, .. }| {
            is_one(&[times.working_ms, times.idle_ms, times.unknown_ms])
        });
    if is_exact { Precision::Exact } else { Precision::HalfMinute }
}
