//! Finds rows that name something that does not exist, hour rows without fine rows, and sessions that
//! cannot be.

use gua_core::Period;
use gua_core::units::UnixMillis;
use rusqlite::Connection;

use super::{Finding, coverage::Coverage};
use crate::error::Problem;
use crate::sums::Bounds;

/// References that the schema does not declare, as rows come and go in bulk: table, time, column and what
/// it names.
const REFERENCES: [(&str, &str, &str, &str); 8] = [
    ("card_span", "from_ms", "card", "card"),
    ("card_hour", "from_ms", "card", "card"),
    ("holder_span", "from_ms", "holder", "holder"),
    ("holder_hour", "from_ms", "holder", "holder"),
    ("session", "from_ms", "holder", "holder"),
    ("sign_span", "from_ms", "process", "process"),
    ("sample", "at_ms", "card", "card"),
    ("latest", "at_ms", "card", "card"),
];

/// Finds rows that name something that does not exist. A finding per table and id.
pub(super) fn find_dangling(db: &Connection) -> Result<Vec<Finding>, Problem> {
    let mut findings = Vec::new();
    for (table, at, column, parent) in REFERENCES {
        let sql = format!(
            "SELECT min({at}), {column}, count(*) FROM {table}
                 WHERE {column} NOT IN (SELECT id FROM {parent}) GROUP BY {column} LIMIT 10"
        );
        let mut query = db.prepare(&sql)?;
        let found = query.query_map([], |row| {
            let (from_ms, id, rows): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let rows = if rows == 1 { "a row".to_owned() } else { format!("{rows} rows") };
            let detail = format!("{rows} of {table} name {parent} {id}, which does not exist");
            Ok(Finding { from_ms, detail })
        })?;
        findings.extend(found.collect::<Result<Vec<_>, _>>()?);
    }
    let mut declared = db.prepare("PRAGMA foreign_key_check")?;
    let found = declared.query_map([], |row| {
        let (table, id, parent): (String, Option<i64>, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let id = id.map_or_else(String::new, |id| format!(" {id}"));
        let detail = format!("{table}{id} names a row of {parent} that does not exist");
        Ok(Finding { from_ms: 0, detail })
    })?;
    findings.extend(found.take(10).collect::<Result<Vec<_>, _>>()?);
    Ok(findings)
}

/// Finds hour rows where there are no fine rows, and those of hours that are not complete.
pub(super) fn find_hours_alone(db: &Connection, bounds: &Bounds) -> Result<Vec<Finding>, Problem> {
    let mut findings = Vec::new();
    for (hours, fine) in [("card_hour", "card_span"), ("holder_hour", "holder_span")] {
        let sql = format!(
            "SELECT DISTINCT from_ms, from_ms >= ?2 FROM {hours} AS hour WHERE from_ms >= ?1
                 AND (from_ms >= ?2 OR NOT EXISTS (SELECT 1 FROM {fine}
                     WHERE from_ms >= hour.from_ms AND from_ms < hour.from_ms + 3600000)) LIMIT 10"
        );
        let mut query = db.prepare(&sql)?;
        let found = query.query_map((bounds.fine_from, bounds.hours_until), |row| {
            let why = if row.get(1)? { "is not complete yet" } else { "has no fine rows" };
            Ok(Finding {
                from_ms: row.get(0)?,
                detail: format!("{hours} has rows of an hour that {why}"),
            })
        })?;
        findings.extend(found.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(findings)
}

/// A session as a row.
struct SessionRow {
    from_ms: i64,
    holder: i64,
    to_ms: Option<i64>,
    doubt_ms: i64,
    unused_share_ms: i64,
}

/// Finds sessions that overlap, do not begin and end within runs, or have more time than they last.
/// Runs before `hours_from` may have been deleted.
pub(super) fn find_sessions(
    db: &Connection,
    hours_from: i64,
    coverage: &Coverage,
) -> Result<Vec<Finding>, Problem> {
    let mut query = db.prepare(
        "SELECT from_ms, holder, to_ms, doubt_ms, unused_share_ms FROM session
             ORDER BY holder, from_ms",
    )?;
    let mut rows = query.query([])?;
    let mut findings = Vec::new();
    let mut last: Option<(i64, i64)> = None;
    while let Some(row) = rows.next()? {
        let session = SessionRow {
            from_ms: row.get(0)?,
            holder: row.get(1)?,
            to_ms: row.get(2)?,
            doubt_ms: row.get(3)?,
            unused_share_ms: row.get(4)?,
        };
        let overlaps =
            last.is_some_and(|(holder, to)| holder == session.holder && to > session.from_ms);
        let mut find = |is_wrong: bool, what: &str| {
            if is_wrong {
                let detail = format!("a session of holder {} {what}", session.holder);
                findings.push(Finding { from_ms: session.from_ms, detail });
            }
        };
        find(overlaps, "begins before the one before it ends");
        let is_outside = |at: i64| at >= hours_from && !coverage.is_in_run(at);
        find(is_outside(session.from_ms), "begins outside of all runs");
        if let Some(to) = session.to_ms {
            let length = to.saturating_sub(session.from_ms);
            find(length <= 0, "ends before it begins");
            find(is_outside(to), "ends outside of all runs");
            let most = length.saturating_sub(session.doubt_ms);
            find(most < 0 || session.doubt_ms < 0, "has more doubt than it lasts");
            let period = Period::new(UnixMillis(session.from_ms), UnixMillis(to));
            let is_larger = session.unused_share_ms > length;
            find(
                is_larger && !coverage.overlaps_import(period),
                "has a larger share than it lasts",
            );
        }
        last = Some((session.holder, session.to_ms.unwrap_or(i64::MAX)));
    }
    Ok(findings)
}
