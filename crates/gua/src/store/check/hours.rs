//! The spans, one hour after the other: none reaches over a full hour, so an hour's spans
//! can be judged among themselves.

use std::collections::{BTreeSet, HashMap};

use probe::units::UnixMillis;
use rusqlite::Connection;

use super::super::codes;
use super::super::error::StoreError;
use super::finding::{Finding, SpanId, Table};
use super::{Check, Known};
use crate::ledger::{HOUR, Period, next_hour};

/// A span in its hour.
#[derive(Debug, Clone, Copy)]
struct Span {
    id: SpanId,
    /// The card that it is about; 0 for observed time.
    card: i64,
    /// Tells the owners of a card apart; 0 where there is one thing a card.
    part: i64,
    period: Period,
}

/// Times by card and run, in order and without overlaps. Observed time is that of card 0.
type Cover = HashMap<(i64, i64), Vec<Period>>;

const TABLES: [(Table, &str); 5] = [
    (
        Table::Observed,
        "SELECT from_ms, length_ms, run, 0, 0, 0, 0 FROM observed
             WHERE from_ms >= ?1 AND from_ms < ?2",
    ),
    (
        Table::CardSpan,
        "SELECT from_ms, length_ms, run, state, card, card, 0 FROM card_span
             WHERE from_ms >= ?1 AND from_ms < ?2",
    ),
    (
        Table::OwnerSpan,
        "SELECT from_ms, length_ms, run, state, card, card, identity FROM owner_span
             WHERE from_ms >= ?1 AND from_ms < ?2",
    ),
    (
        Table::HolderSpan,
        "SELECT from_ms, length_ms, run, state, holder, ifnull(holder.card, 0), holder
             FROM holder_span LEFT JOIN holder ON holder.id = holder_span.holder
             WHERE from_ms >= ?1 AND from_ms < ?2",
    ),
    (
        Table::UnseenSpan,
        "SELECT from_ms, length_ms, run, 0, card, card, 0 FROM unseen_span
             WHERE from_ms >= ?1 AND from_ms < ?2",
    ),
];

/// Verifies all spans.
pub(super) fn verify(
    database: &Connection,
    known: &Known,
    check: &mut Check,
) -> Result<(), StoreError> {
    let mut codes = BTreeSet::new();
    let mut from = i64::MIN;
    while let Some(first) = next_span(database, from)? {
        let hour = Period::new(
            UnixMillis(first.saturating_sub(first.rem_euclid(HOUR))),
            next_hour(UnixMillis(first)),
        );
        verify_hour(database, known, hour, &mut codes, check)?;
        from = hour.to.0;
        // Beyond the end of time there is no next hour.
        if from == i64::MAX {
            break;
        }
    }
    for (table, code) in codes {
        check.found(Finding::UnknownState { table, code });
    }
    Ok(())
}

fn next_span(database: &Connection, from: i64) -> Result<Option<i64>, StoreError> {
    let mut next = database.prepare_cached(
        "SELECT min(first) FROM (
             SELECT min(from_ms) AS first FROM observed WHERE from_ms >= ?1
             UNION ALL SELECT min(from_ms) FROM card_span WHERE from_ms >= ?1
             UNION ALL SELECT min(from_ms) FROM owner_span WHERE from_ms >= ?1
             UNION ALL SELECT min(from_ms) FROM holder_span WHERE from_ms >= ?1
             UNION ALL SELECT min(from_ms) FROM unseen_span WHERE from_ms >= ?1)",
    )?;
    Ok(next.query_row([from], |row| row.get(0))?)
}

fn verify_hour(
    database: &Connection,
    known: &Known,
    hour: Period,
    codes: &mut BTreeSet<(Table, i64)>,
    check: &mut Check,
) -> Result<(), StoreError> {
    let mut observed = Cover::new();
    let mut cards = Cover::new();
    for (table, query) in TABLES {
        let spans = read(database, known, (table, query), hour, codes, check)?;
        match table {
            Table::Observed => observed = cover(&spans),
            Table::CardSpan => {
                find_uncovered(&spans, |span| observed.get(&(0, span.id.run)), check);
                cards = cover(&spans);
            }
            Table::OwnerSpan | Table::HolderSpan | Table::UnseenSpan | Table::Sample => {
                find_uncovered(&spans, |span| cards.get(&(span.card, span.id.run)), check);
            }
        }
        find_overlaps(spans, known, check);
    }
    Ok(())
}

/// The spans of an hour that are fit to be held against others.
fn read(
    database: &Connection,
    known: &Known,
    (table, query): (Table, &str),
    hour: Period,
    codes: &mut BTreeSet<(Table, i64)>,
    check: &mut Check,
) -> Result<Vec<Span>, StoreError> {
    let mut query = database.prepare_cached(query)?;
    let mut rows = query.query((hour.from.0, hour.to.0))?;
    let mut spans = Vec::new();
    while let Some(row) = rows.next()? {
        check.spans += 1;
        let from = UnixMillis(row.get(0)?);
        let length: Option<i64> = row.get(1)?;
        let id = SpanId { table, from, id: row.get(4)?, run: row.get(2)? };
        let code = row.get(3)?;
        let is_known = match table {
            Table::OwnerSpan | Table::HolderSpan => codes::is_known_part(code),
            _ => codes::is_known(code),
        };
        if !is_known {
            codes.insert((table, code));
        }
        if length.is_none() && Some(id.run) != known.open_run {
            check.found(Finding::Open(id));
            continue;
        }
        let to = length.map_or(known.open_end, |length| UnixMillis(from.0.saturating_add(length)));
        if to <= from || to > hour.to {
            let millis = to.0.saturating_sub(from.0);
            check.found(Finding::Length { span: id, millis });
            continue;
        }
        spans.push(Span {
            id,
            card: row.get(5)?,
            part: row.get(6)?,
            period: Period::new(from, to),
        });
    }
    Ok(spans)
}

fn cover(spans: &[Span]) -> Cover {
    let mut cover = Cover::new();
    for span in spans {
        cover.entry((span.card, span.id.run)).or_default().push(span.period);
    }
    for periods in cover.values_mut() {
        periods.sort_unstable();
        // Those that touch or overlap become one.
        periods.dedup_by(|later, earlier| {
            let touches = later.from <= earlier.to;
            if touches {
                earlier.to = earlier.to.max(later.to);
            }
            touches
        });
    }
    cover
}

fn find_uncovered<'a>(
    spans: &[Span],
    whole: impl Fn(&Span) -> Option<&'a Vec<Period>>,
    check: &mut Check,
) {
    for span in spans {
        let whole = whole(span).map_or(&[][..], Vec::as_slice);
        if !span.period.without(whole).is_empty() {
            check.found(Finding::Uncovered(span.id));
        }
    }
}

fn find_overlaps(mut spans: Vec<Span>, known: &Known, check: &mut Check) {
    spans.sort_unstable_by_key(|span| (span.card, span.part, span.period, span.id.run));
    // Those of one key that have not ended yet where the next one begins.
    let mut open: Vec<Span> = Vec::new();
    for span in spans {
        open.retain(|other| {
            (other.card, other.part) == (span.card, span.part) && other.period.to > span.period.from
        });
        for other in &open {
            if other.id.run == span.id.run {
                let other_from = other.id.from;
                check.found(Finding::Overlap { span: span.id, other_from });
            } else if !known.goes_back(other.id.run.max(span.id.run)) {
                check.found(Finding::OverlapOfRuns { span: span.id, other_run: other.id.run });
            }
        }
        open.push(span);
    }
}
