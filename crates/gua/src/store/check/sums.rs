//! The ticks, and that the spans hold what the ticks counted, as far back as there are ticks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::Connection;

use super::super::error::StoreError;
use super::super::{codes, sample_key};
use super::finding::{Finding, Table};
use super::{Check, Known};
use crate::ledger::HOUR;

/// What is counted together: a card in a state during a run.
type StateKey = (i64, i64, i64);

/// A run's ticks, as far as they are kept, and what is to be held against them.
#[derive(Debug, Clone, Copy)]
struct Since {
    /// Earlier than this, ticks or spans are no longer kept.
    from: i64,
    last_at: i64,
    /// Whether its sums can be told. What counts for something else than its length cannot
    /// be parted, so such a run is told only while all of it is kept.
    comparable: bool,
}

/// Milliseconds by the ticks and by the spans.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    ticks: i64,
    spans: i64,
}

pub(super) fn verify(
    database: &Connection,
    known: &Known,
    check: &mut Check,
) -> Result<(), StoreError> {
    let mut since = ticks(database, check)?;
    settle(database, &mut since)?;
    compare_observed(database, known, &since, check)?;
    compare_states(database, known, &since, check)
}

/// Reads the ticks in their order.
fn ticks(database: &Connection, check: &mut Check) -> Result<HashMap<i64, Since>, StoreError> {
    let mut runs = HashMap::<i64, Since>::new();
    let mut ticks = database.prepare("SELECT id, run, at_ms, covers_ms FROM tick ORDER BY id")?;
    let mut rows = ticks.query([])?;
    while let Some(row) = rows.next()? {
        check.ticks += 1;
        let (tick, run, at, covers): (i64, i64, i64, i64) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        if covers < 0 {
            check.found(Finding::TickCovers { tick, millis: covers });
        }
        let first = Since { from: at.saturating_sub(covers), last_at: i64::MIN, comparable: false };
        let since = runs.entry(run).or_insert(first);
        // One that speaks for no time may come at the moment of the last.
        if at < since.last_at || (at == since.last_at && covers > 0) {
            check.found(Finding::TickOrder { run, tick });
        }
        since.last_at = at;
    }
    Ok(runs)
}

/// Finds from where on each run can be compared: where both ticks and spans are kept.
fn settle(database: &Connection, runs: &mut HashMap<i64, Since>) -> Result<(), StoreError> {
    // Parts go before wholes, so the cards' spans may be gone where observed ones are not.
    let mut firsts = database.prepare(
        "SELECT observed.run, min(observed.from_ms), max(observed.counted_ms IS NOT NULL),
                (SELECT min(from_ms) FROM card_span)
             FROM observed GROUP BY observed.run",
    )?;
    let mut rows = firsts.query([])?;
    while let Some(row) = rows.next()? {
        let Some(since) = runs.get_mut(&row.get(0)?) else { continue };
        let (first, is_counted): (i64, bool) = (row.get(1)?, row.get(2)?);
        let first_card: Option<i64> = row.get(3)?;
        if is_counted {
            let hour = |at: i64| at.div_euclid(HOUR);
            since.comparable = hour(since.from) <= hour(first)
                && first_card.is_none_or(|card| hour(card) <= hour(first));
            since.from = i64::MIN;
        } else {
            let whole_hour = first_card.map_or(i64::MIN, hour_of);
            since.from = since.from.max(whole_hour).max(hour_of(first));
            since.comparable = true;
        }
    }
    Ok(())
}

/// The beginning of the hour of a moment.
fn hour_of(at: i64) -> i64 {
    at.saturating_sub(at.rem_euclid(HOUR))
}

/// The part of a time that is compared.
fn part(from: i64, to: i64, since: &Since) -> i64 {
    to.saturating_sub(from.max(since.from)).max(0)
}

/// What a span counts for.
fn counts(
    from: i64,
    length: Option<i64>,
    counted: Option<i64>,
    known: &Known,
    since: &Since,
) -> i64 {
    let to = length.map_or(known.open_end.0, |length| from.saturating_add(length));
    counted.unwrap_or_else(|| part(from, to, since))
}

fn compare_observed(
    database: &Connection,
    known: &Known,
    runs: &HashMap<i64, Since>,
    check: &mut Check,
) -> Result<(), StoreError> {
    let mut sums = BTreeMap::<i64, Sums>::new();
    let mut ticks = database.prepare("SELECT run, at_ms, covers_ms FROM tick")?;
    let mut rows = ticks.query([])?;
    while let Some(row) = rows.next()? {
        let (run, at, covers): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if let Some(since) = runs.get(&run) {
            let sum = sums.entry(run).or_default();
            sum.ticks = sum.ticks.saturating_add(part(at.saturating_sub(covers), at, since));
        }
    }
    let mut spans = database.prepare("SELECT run, from_ms, length_ms, counted_ms FROM observed")?;
    let mut rows = spans.query([])?;
    while let Some(row) = rows.next()? {
        let run = row.get(0)?;
        if let Some(since) = runs.get(&run) {
            let sum = sums.entry(run).or_default();
            let counts = counts(row.get(1)?, row.get(2)?, row.get(3)?, known, since);
            sum.spans = sum.spans.saturating_add(counts);
        }
    }
    for (run, Sums { ticks, spans }) in sums {
        if ticks != spans && runs.get(&run).is_some_and(|since| since.comparable) {
            check.found(Finding::ObservedSum { run, ticks_millis: ticks, spans_millis: spans });
        }
    }
    Ok(())
}

fn compare_states(
    database: &Connection,
    known: &Known,
    runs: &HashMap<i64, Since>,
    check: &mut Check,
) -> Result<(), StoreError> {
    let mut sums = HashMap::<StateKey, Sums>::new();
    count_samples(database, runs, &mut sums, check)?;
    let mut spans = database
        .prepare("SELECT run, card, state, from_ms, length_ms, counted_ms FROM card_span")?;
    let mut rows = spans.query([])?;
    while let Some(row) = rows.next()? {
        let run = row.get(0)?;
        if let Some(since) = runs.get(&run) {
            let sum = sums.entry((run, row.get(1)?, row.get(2)?)).or_default();
            let counts = counts(row.get(3)?, row.get(4)?, row.get(5)?, known, since);
            sum.spans = sum.spans.saturating_add(counts);
        }
    }
    for ((run, card, code), Sums { ticks, spans }) in sums.into_iter().collect::<BTreeMap<_, _>>() {
        if ticks != spans && runs.get(&run).is_some_and(|since| since.comparable) {
            let (samples_millis, spans_millis) = (ticks, spans);
            check.found(Finding::StateSum { run, card, code, samples_millis, spans_millis });
        }
    }
    Ok(())
}

fn count_samples(
    database: &Connection,
    runs: &HashMap<i64, Since>,
    sums: &mut HashMap<StateKey, Sums>,
    check: &mut Check,
) -> Result<(), StoreError> {
    let mut unknown = BTreeSet::new();
    // Both are kept in the order of ticks, so this reads each of them once.
    let mut samples = database.prepare(&format!(
        "SELECT run, card, state, at_ms, covers_ms FROM tick CROSS JOIN sample WHERE {}",
        sample_key::is_of("tick.id", database)?
    ))?;
    let mut rows = samples.query([])?;
    while let Some(row) = rows.next()? {
        check.samples += 1;
        let (run, card, code): StateKey = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (at, covers): (i64, i64) = (row.get(3)?, row.get(4)?);
        if !codes::is_known(code) {
            unknown.insert(code);
        }
        if let Some(since) = runs.get(&run) {
            let sum = sums.entry((run, card, code)).or_default();
            sum.ticks = sum.ticks.saturating_add(part(at.saturating_sub(covers), at, since));
        }
    }
    for code in unknown {
        check.found(Finding::UnknownState { table: Table::Sample, code });
    }
    Ok(())
}
