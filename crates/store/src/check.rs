//! Verifies what rows promise: spans of a card do not overlap, times add up to lengths and to what runs
//! recorded, shares to the card's time, and hour rows to the fine rows of their hour; what rows name
//! exists, and sessions of a holder lie within runs and do not overlap. Ticks of the Python gua count as a
//! whole, so the times of imported rows may differ from their lengths.

mod coverage;
mod references;

use std::collections::{BTreeMap, HashMap};

use gua_core::Period;
use gua_core::period::HOUR;
use rusqlite::Connection;

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::rows::{CardRow, CardTimes, HolderRow, HolderTimes, QUARTER_HOUR};
use crate::sums::{Bounds, Sums, oldest_hour};
use crate::tables::{self, Age};

use coverage::Coverage;

/// Findings after which a check stops.
const MOST_FINDINGS: usize = 100;

/// A promise that rows do not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Begin of the row.
    pub from_ms: i64,
    /// A sentence.
    pub detail: String,
}

impl Database {
    /// Verifies all rows. A sound database has no findings.
    pub fn check(&self) -> Result<Vec<Finding>, StoreError> {
        let check = || -> Result<Vec<Finding>, Problem> {
            let transaction = self.connection.unchecked_transaction()?;
            let answer: String =
                transaction.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            if answer != "ok" {
                return Err(Problem::Damaged(answer));
            }
            Check::new(&transaction)?.run()
        };
        self.result(check())
    }
}

struct Check<'a> {
    db: &'a Connection,
    bounds: Bounds,
    coverage: Coverage,
    card_of: HashMap<i64, i64>,
    /// Newest row by card.
    last: HashMap<i64, Period>,
    findings: Vec<Finding>,
}

/// Rows of one card with one begin: one for known time and one per reason.
#[derive(Default)]
struct Group {
    cards: Vec<CardRow>,
    holders: Vec<HolderRow>,
}

impl<'a> Check<'a> {
    fn new(db: &'a Connection) -> Result<Self, Problem> {
        let bounds = Bounds::read(db)?;
        let mut query = db.prepare("SELECT id, card FROM holder")?;
        let card_of = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self {
            db,
            bounds,
            coverage: Coverage::read(db)?,
            card_of: card_of.collect::<Result<_, _>>()?,
            last: HashMap::new(),
            findings: Vec::new(),
        })
    }

    fn run(mut self) -> Result<Vec<Finding>, Problem> {
        let mut next = self.next_hour(i64::MIN)?;
        while let Some(hour) = next.filter(|_| self.findings.len() < MOST_FINDINGS) {
            let range = [hour, hour.saturating_add(HOUR)];
            let age = if hour < self.bounds.fine_from { Age::Hours } else { Age::Fine };
            for group in self.groups(age, range)?.values() {
                self.check_group(age, group);
            }
            if age == Age::Fine && hour < self.bounds.hours_until {
                self.check_hour(range)?;
            }
            next = self.next_hour(range[1])?;
        }
        let hours_from = self.bounds.hours_from;
        self.findings.extend(references::find_dangling(self.db)?);
        self.findings.extend(references::find_hours_alone(self.db, &self.bounds)?);
        self.findings.extend(references::find_sessions(self.db, hours_from, &self.coverage)?);
        self.findings.sort_by_key(|finding| finding.from_ms);
        Ok(self.findings)
    }

    /// Returns the next hour with rows: hour rows while there are no fine ones.
    fn next_hour(&self, from: i64) -> Result<Option<i64>, Problem> {
        let fine_from = self.bounds.fine_from;
        let hour = oldest_hour(self.db, Age::Hours.card_table(), "from_ms", from)?;
        match hour.filter(|hour| *hour < fine_from) {
            Some(hour) => Ok(Some(hour)),
            None => oldest_hour(self.db, Age::Fine.card_table(), "from_ms", from.max(fine_from)),
        }
    }

    /// Reads the rows of an hour by begin and card.
    fn groups(
        &mut self,
        age: Age,
        range: [i64; 2],
    ) -> Result<BTreeMap<(i64, i64), Group>, Problem> {
        let mut groups: BTreeMap<(i64, i64), Group> = BTreeMap::new();
        tables::each_card_row(self.db, age, range, |row| {
            groups.entry((row.period.from.0, row.card)).or_default().cards.push(row);
            Ok(())
        })?;
        let card_of = &self.card_of;
        tables::each_holder_row(self.db, age, range, |row| {
            // Without a card it is found by what it names.
            if let Some(card) = card_of.get(&row.holder) {
                groups.entry((row.period.from.0, *card)).or_default().holders.push(row);
            }
            Ok(())
        })?;
        Ok(groups)
    }

    fn check_group(&mut self, age: Age, group: &Group) {
        let Some(first) = group.cards.first().copied() else {
            if let Some(row) = group.holders.first() {
                let detail = format!("holder {} has a row and its card has none", row.holder);
                self.find(row.period.from.0, detail);
            }
            return;
        };
        let from = first.period.from.0;
        let last = self.last.insert(first.card, first.period);
        if last.is_some_and(|last| last.to > first.period.from) {
            self.find(from, format!("two rows of card {} overlap", first.card));
        }
        self.check_place(age, &first, &group.cards);
        let mut times = CardTimes::default();
        group.cards.iter().for_each(|row| times.add(&row.times));
        let observed =
            times.values()[..4].iter().fold(0_i64, |sum, value| sum.saturating_add(*value));
        let is_imported = self.coverage.overlaps_import(first.period);
        let length = if is_imported { observed } else { first.period.millis() };
        // Fine rows are exact until they are summed up, unless a later run cut its time out of them.
        let is_exact =
            from >= self.bounds.quarters_until && !self.coverage.is_recorded_again(first.period);
        if observed > length || (is_exact && observed != length) {
            let detail =
                format!("times of card {} add up to {observed} of {length} ms", first.card);
            self.find(from, detail);
        }
        if !is_imported {
            self.check_coverage(&first, observed);
        }
        let is_negative = group.cards.iter().flat_map(|row| row.times.values()).any(|it| it < 0)
            || group.holders.iter().flat_map(|row| row.times.values()).any(|it| it < 0);
        if is_negative {
            self.find(from, format!("a figure of card {} or its holders is negative", first.card));
        }
        self.check_holders(&first, (&times, length), &group.holders);
    }

    /// Verifies begin and length: no fine row crosses a quarter hour, and an hour row has a whole hour.
    fn check_place(&mut self, age: Age, first: &CardRow, rows: &[CardRow]) {
        let Period { from, to } = first.period;
        let longest = if age == Age::Hours { HOUR } else { QUARTER_HOUR };
        let place = |at: i64| at.div_euclid(longest);
        let is_cut = place(from.0) == place(to.0.saturating_sub(1));
        let is_whole = from.0 % HOUR == 0 && first.period.millis() == HOUR;
        let is_same = rows.iter().all(|row| row.period == first.period);
        if !is_cut || (age == Age::Hours && !is_whole) || !is_same {
            let detail = format!("a row of card {} has a wrong begin or length", first.card);
            self.find(from.0, detail);
        }
    }

    /// Compares a row with runs and gaps. Imported ticks count as a whole, beyond their run too.
    fn check_coverage(&mut self, row: &CardRow, observed: i64) {
        let from = row.period.from.0;
        if let Some(detail) = self.coverage.check_observed(row.period, observed) {
            self.find(from, format!("a row of card {} {detail}", row.card));
        }
        if let Some((from, detail)) = self.coverage.check_before(row.card, row.period) {
            self.find(from, detail);
        }
    }

    /// `length` is the time of the card if it was observed throughout.
    fn check_holders(
        &mut self,
        card: &CardRow,
        (times, length): (&CardTimes, i64),
        holders: &[HolderRow],
    ) {
        let from = card.period.from.0;
        let sum = |share: fn(&HolderRow) -> i64| {
            holders.iter().fold(0_i64, |sum, row| sum.saturating_add(share(row)))
        };
        let shares = [
            ("active", times.active_ms, sum(|row| row.times.active_share_ms)),
            (
                "idle-held",
                times.idle_held_ms,
                sum(|row| row.times.low_use_share_ms.saturating_add(row.times.unused_share_ms)),
            ),
            ("unknown", times.unknown_ms, sum(|row| row.times.unknown_share_ms)),
        ];
        // A card may be active before a holder is listed: only one that was there all the time has all of it.
        let is_held_throughout = holders.iter().any(|row| present_ms(row) >= length);
        for (state, whole, shares) in shares {
            let is_shared = is_held_throughout && whole == length && state != "unknown";
            if shares > whole || (is_shared && shares < whole) {
                let card = card.card;
                let detail = format!("{state} shares of card {card} are {shares} of {whole} ms");
                self.find(from, detail);
            }
        }
        for row in holders {
            if row.period != card.period {
                let detail =
                    format!("a row of holder {} has another length than its card's", row.holder);
                self.find(from, detail);
            }
            // Each time of a row that was cut is rounded.
            if present_ms(row) > length + 2 {
                let detail = format!("times of holder {} are more than its card's", row.holder);
                self.find(from, detail);
            }
        }
    }

    fn check_hour(&mut self, range: [i64; 2]) -> Result<(), Problem> {
        let fine = Sums::read(self.db, Age::Fine, range, HOUR)?;
        let hours = Sums::read(self.db, Age::Hours, range, HOUR)?;
        if fine != hours {
            self.find(range[0], "rows of the hour are not the sum of its fine rows".to_owned());
        }
        Ok(())
    }

    fn find(&mut self, from_ms: i64, detail: String) {
        self.findings.push(Finding { from_ms, detail });
    }
}

/// Returns the time for which a holder was there.
fn present_ms(row: &HolderRow) -> i64 {
    let HolderTimes { working_ms, idle_ms, unknown_ms, .. } = row.times;
    working_ms.saturating_add(idle_ms).saturating_add(unknown_ms)
}
