//! Cuts rows out of time that a run records again after the clock was set back.

use std::collections::BTreeMap;

use gua_core::Period;
use gua_core::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::codes;
use crate::error::Problem;
use crate::rows::{CardRow, CardTimes, HolderRow, HolderTimes};
use crate::tables::{self, Age};
use crate::usage::union;

/// Fine rows with one begin: the card's for known time and for each reason, and its holders'.
#[derive(Debug, Default)]
struct Group {
    cards: Vec<CardRow>,
    holders: Vec<HolderRow>,
}

/// Cuts the fine rows of a card and its holders out of a period.
pub(crate) fn cut_card(db: &Connection, card: i64, out: Period) -> Result<(), Problem> {
    for group in overlapping(db, card, out)?.values() {
        group.cards.iter().try_for_each(|row| tables::delete_card_row(db, row))?;
        group.holders.iter().try_for_each(|row| tables::delete_holder_row(db, row))?;
        let Some(first) = group.cards.first() else { continue };
        for part in first.period.without(&[out]) {
            let rest = group.part(first.period, part);
            rest.cards.iter().try_for_each(|row| tables::write_card_row(db, Age::Fine, row))?;
            rest.holders.iter().try_for_each(|row| tables::write_holder_row(db, Age::Fine, row))?;
        }
    }
    Ok(())
}

/// Reads the fine rows of a card and its holders that overlap a period, by their begin.
fn overlapping(db: &Connection, card: i64, out: Period) -> Result<BTreeMap<i64, Group>, Problem> {
    let range = Age::Fine.range(out);
    let mut groups: BTreeMap<i64, Group> = BTreeMap::new();
    tables::each_card_row(db, Age::Fine, range, |row| {
        if row.card == card && !row.period.overlap(&out).is_empty() {
            groups.entry(row.period.from.0).or_default().cards.push(row);
        }
        Ok(())
    })?;
    let mut card_of = db.prepare_cached("SELECT card FROM holder WHERE id = ?1")?;
    tables::each_holder_row(db, Age::Fine, range, |row| {
        if let Some(group) = groups.get_mut(&row.period.from.0) {
            let its_card: Option<i64> =
                card_of.query_row([row.holder], |row| row.get(0)).optional()?;
            if its_card == Some(card) {
                group.holders.push(row);
            }
        }
        Ok(())
    })?;
    Ok(groups)
}

impl Group {
    /// Returns the rows of a part of their period. Shares that add up to the card's time do so in it.
    fn part(&self, whole: Period, part: Period) -> Self {
        let [part_ms, whole_ms] = [part.millis(), whole.millis()];
        let scale = |value| rounded_portion(value, part_ms, whole_ms);
        let mut rest = Self::default();
        let (mut before, mut after) = (CardTimes::default(), CardTimes::default());
        for row in &self.cards {
            let times = scale_card(&row.times, part_ms, whole_ms);
            before.add(&row.times);
            after.add(&times);
            rest.cards.push(CardRow { period: part, times, ..*row });
        }
        for row in &self.holders {
            let times = HolderTimes::from_values(row.times.values().map(scale));
            rest.holders.push(HolderRow { period: part, times, ..*row });
        }
        let total = |before_ms: i64, after_ms: i64, shares: i64| {
            if shares == before_ms { after_ms } else { scale(shares) }
        };
        rest.scale_shares(
            self,
            |row| vec![&mut row.active_share_ms],
            |shares| total(before.active_ms, after.active_ms, shares),
        );
        rest.scale_shares(
            self,
            |row| vec![&mut row.low_use_share_ms, &mut row.unused_share_ms],
            |shares| total(before.idle_held_ms, after.idle_held_ms, shares),
        );
        rest.scale_shares(
            self,
            |row| vec![&mut row.unknown_share_ms],
            |shares| total(before.unknown_ms, after.unknown_ms, shares),
        );
        rest
    }

    /// Sets shares in proportion to those of `whole`, so that they add up to what `total` makes of
    /// their sum: each sum of the first shares is rounded.
    fn scale_shares(
        &mut self,
        whole: &Self,
        columns: impl Fn(&mut HolderTimes) -> Vec<&mut i64>,
        total: impl Fn(i64) -> i64,
    ) {
        let shares: Vec<i64> = whole
            .holders
            .iter()
            .flat_map(|row| {
                columns(&mut row.times.clone()).into_iter().map(|it| *it).collect::<Vec<_>>()
            })
            .collect();
        let sum = shares.iter().fold(0_i64, |sum, share| sum.saturating_add(*share));
        let total = total(sum);
        let (mut done, mut set) = (0_i64, 0_i64);
        let places = self.holders.iter_mut().flat_map(|row| columns(&mut row.times));
        for (place, share) in places.zip(shares) {
            done = done.saturating_add(share);
            let until = if sum == 0 { 0 } else { rounded_portion(total, done, sum) };
            *place = until - std::mem::replace(&mut set, until);
        }
    }
}

/// Returns what runs before one observed of a period, in order: their time without gaps.
pub(crate) fn observed_before(
    db: &Connection,
    run: i64,
    period: Period,
) -> Result<Vec<Period>, Problem> {
    let periods = |select: &str, values: &[i64]| -> Result<Vec<Period>, Problem> {
        let mut query = db.prepare_cached(select)?;
        let rows = query.query_map(params_from_iter(values), |row| {
            Ok(Period::new(UnixMillis(row.get(0)?), UnixMillis(row.get(1)?)).overlap(&period))
        })?;
        Ok(union(rows.collect::<Result<_, _>>()?))
    };
    let runs = "SELECT started_ms, until_ms FROM run
                    WHERE started_ms < ?2 AND until_ms > ?1 AND id < ?3";
    let gaps = "SELECT from_ms, to_ms FROM gap WHERE from_ms < ?2 AND to_ms > ?1";
    let gaps = periods(gaps, &[period.from.0, period.to.0])?;
    let runs = periods(runs, &[period.from.0, period.to.0, run])?;
    Ok(runs.into_iter().flat_map(|run| run.without(&gaps)).collect())
}

/// Cuts gaps out of a period.
pub(crate) fn cut_gaps(db: &Connection, out: Period) -> Result<(), Problem> {
    let mut query = db.prepare_cached(
        "SELECT from_ms, to_ms, reason FROM gap WHERE from_ms < ?2 AND to_ms > ?1",
    )?;
    let gaps = query.query_map((out.from.0, out.to.0), |row| {
        let period = Period::new(UnixMillis(row.get(0)?), UnixMillis(row.get(1)?));
        Ok((period, row.get::<_, i64>(2)?))
    })?;
    let gaps: Vec<_> = gaps.collect::<Result<_, _>>()?;
    for (period, reason) in gaps {
        db.execute("DELETE FROM gap WHERE from_ms = ?1", [period.from.0])?;
        for rest in period.without(&[out]) {
            db.execute(
                "INSERT OR REPLACE INTO gap VALUES (?1, ?2, ?3)",
                (rest.from.0, rest.to.0, reason),
            )?;
        }
    }
    Ok(())
}

/// Ends gaps of a clock that was ahead where a run begins. From there on, the gap has no reason: what ended the
/// new run says why nothing follows it.
pub(crate) fn end_clock_gaps(db: &Connection, at: i64) -> Result<(), Problem> {
    let values = (at, codes::CLOCK_SET, codes::NO_RECORDER);
    db.execute(
        "INSERT OR REPLACE INTO gap SELECT max(from_ms, ?1), to_ms, ?3 FROM gap
             WHERE to_ms > ?1 AND reason = ?2",
        values,
    )?;
    db.execute(
        "UPDATE gap SET to_ms = ?1 WHERE to_ms > ?1 AND reason = ?2",
        (at, codes::CLOCK_SET),
    )?;
    Ok(())
}

/// Returns a part of a row. Times that add up to the length of the row do so in its part.
fn scale_card(times: &CardTimes, part: i64, whole: i64) -> CardTimes {
    let mut scaled =
        CardTimes::from_values(times.values().map(|value| rounded_portion(value, part, whole)));
    if times.observed_ms() == whole {
        let missing = part - scaled.observed_ms();
        let CardTimes { active_ms, idle_held_ms, free_ms, unknown_ms, .. } = &mut scaled;
        let longest = [active_ms, idle_held_ms, free_ms, unknown_ms].into_iter().max();
        if let Some(longest) = longest {
            *longest += missing;
        }
    }
    scaled
}

/// Returns `amount` × `part` ÷ `whole`, rounded: what is cut at every tick must not shrink by that.
fn rounded_portion(amount: i64, part: i64, whole: i64) -> i64 {
    let whole = i128::from(whole.max(1));
    let portion = (i128::from(amount) * i128::from(part) + whole / 2).div_euclid(whole);
    i64::try_from(portion).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn part_of_a_sum_adds_up_to_its_length(
            active in 0_i64..30_000, idle in 0_i64..30_000, free in 1_i64..30_000, part in 1_i64..30_000,
        ) {
            let times = CardTimes {
                active_ms: active, idle_held_ms: idle, free_ms: free, ..CardTimes::default()
            };
            let whole = times.observed_ms();
            prop_assume!(part < whole);
            prop_assert_eq!(scale_card(&times, part, whole).observed_ms(), part);
        }
    }
}
