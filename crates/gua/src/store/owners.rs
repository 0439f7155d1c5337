//! What everybody who held a card did: what they held, joined with what the card did.
//!
//! Both lie within full hours and come in the order of time, so one hour of the cards is all
//! that has to be remembered.

use std::collections::HashMap;

use probe::units::UnixMillis;
use rusqlite::{Row, Rows};

use super::codes;
use super::error::StoreError;
use super::history::{History, OwnerKey, Span};
use crate::classify::State;
use crate::ledger::{HOUR, Part, Period};

/// The states of the cards in one hour.
struct CardHour<'rows> {
    history: &'rows History,
    rows: Rows<'rows>,
    /// The first row of a later hour, where one was read.
    ahead: Option<CardSpan>,
    hour: i64,
    /// By card and run.
    spans: HashMap<(i64, i64), Vec<(Period, State)>>,
}

#[derive(Debug, Clone, Copy)]
struct CardSpan {
    card: i64,
    run: i64,
    period: Period,
    state: State,
}

impl History {
    /// The states of everybody who held a card in the window, in the order of time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn owner_spans(
        &self,
        window: Period,
        each: impl FnMut(Span<OwnerKey>),
    ) -> Result<(), StoreError> {
        self.joined(
            "SELECT from_ms, length_ms, counted_ms, run, state, card, identity FROM owner_span
                 WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
            window,
            |row| Ok(OwnerKey { card: row.get(5)?, identity: row.get(6)? }),
            each,
        )
    }

    /// What somebody held, joined with what the card did. The query gives the columns that
    /// [`History::spans`] needs, then the state and the card.
    fn joined<K: Copy>(
        &self,
        held: &str,
        window: Period,
        key: impl Fn(&Row<'_>) -> rusqlite::Result<K>,
        mut each: impl FnMut(Span<K>),
    ) -> Result<(), StoreError> {
        let mut query = self.connection().prepare(
            "SELECT from_ms, length_ms, card, run, state FROM card_span
                 WHERE from_ms >= ?1 AND from_ms < ?2 ORDER BY from_ms",
        )?;
        let rows = query.query((window.from.0.saturating_sub(HOUR), window.to.0))?;
        let mut cards = CardHour::new(self, rows);
        self.spans(
            held,
            window,
            |row| Ok((Held::of(row, key(row)?)?, State::Active)),
            |span| {
                let Span { period, counts, .. } = span;
                let Held { key, card, run, part } = span.key;
                match part {
                    Part::Judged(state) => each(Span { key, period, state, counts }),
                    Part::Holds(..) => {
                        for (whole, card) in cards.at(card, run, period)? {
                            let period = whole.overlap(&period);
                            let (state, counts) = (part.state(*card), period.millis());
                            if counts > 0 {
                                each(Span { key, period, state, counts });
                            }
                        }
                    }
                }
                Ok(())
            },
        )
    }
}

/// A row of somebody on a card, besides its time.
#[derive(Debug, Clone, Copy)]
struct Held<K> {
    key: K,
    card: i64,
    run: i64,
    part: Part,
}

impl<K> Held<K> {
    fn of(row: &Row<'_>, key: K) -> rusqlite::Result<Self> {
        Ok(Self { key, card: row.get(5)?, run: row.get(3)?, part: codes::part(row.get(4)?) })
    }
}

impl<'rows> CardHour<'rows> {
    fn new(history: &'rows History, rows: Rows<'rows>) -> Self {
        Self { history, rows, ahead: None, hour: i64::MIN, spans: HashMap::new() }
    }

    /// What a card did around a time within one hour, by one run.
    fn at(&mut self, card: i64, run: i64, time: Period) -> Result<&[(Period, State)], StoreError> {
        let hour = hour_of(time.from);
        if hour > self.hour {
            self.go_on_to(hour)?;
        }
        Ok(self.spans.get(&(card, run)).map_or(&[], Vec::as_slice))
    }

    fn go_on_to(&mut self, hour: i64) -> Result<(), StoreError> {
        self.hour = hour;
        self.spans.values_mut().for_each(Vec::clear);
        loop {
            let next = match self.ahead.take() {
                Some(span) => Some(span),
                None => self.read()?,
            };
            let Some(span) = next else { return Ok(()) };
            let of_span = hour_of(span.period.from);
            if of_span > hour {
                self.ahead = Some(span);
                return Ok(());
            }
            if of_span == hour {
                let spans = self.spans.entry((span.card, span.run)).or_default();
                spans.push((span.period, span.state));
            }
        }
    }

    fn read(&mut self) -> Result<Option<CardSpan>, StoreError> {
        let Some(row) = self.rows.next()? else { return Ok(None) };
        let from: i64 = row.get(0)?;
        let to = self.history.end_of(from, row.get(1)?)?;
        Ok(Some(CardSpan {
            card: row.get(2)?,
            run: row.get(3)?,
            period: Period::new(UnixMillis(from), to),
            state: codes::state(row.get(4)?),
        }))
    }
}

const fn hour_of(at: UnixMillis) -> i64 {
    at.0.div_euclid(HOUR)
}
