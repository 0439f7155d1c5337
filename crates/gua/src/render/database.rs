//! What is said of a database, as lines.

use std::collections::BTreeMap;
use std::io::{self, Write};

use gua_core::units::UnixMillis;
use gua_store::{DueRows, StoreInfo};
use jiff::Timestamp;

use super::words::{self, duration, safe};
use crate::calendar::nearest;
use crate::cli::Zone;
use crate::report::database::{Checked, DatabaseInfo, NewestRun, PrunePlan, PruneResult};
use crate::wrap::hung;

/// Column of the text behind its label.
const LABEL: usize = 15;

/// Key of the rows that are summed up instead of deleted.
const SUMMED: &str = "exact";

/// Writes what is in a database, in at most `width` columns.
///
/// # Errors
/// When the writer fails.
pub fn info(
    out: &mut impl Write,
    info: &DatabaseInfo,
    zone: &Zone,
    width: Option<usize>,
) -> io::Result<()> {
    let mut line =
        |label: &str, text: &str| put(out, &format!("{label:LABEL$}{}", safe(text)), LABEL, width);
    let count = |table| info.store.rows.get(table).copied().unwrap_or(0);
    line("database", &info.store.path)?;
    line("layout", &info.store.schema_version.to_string())?;
    line("size", &size(&info.store))?;
    line("recorder", recorder(info.is_being_recorded))?;
    line("host", &or_none(&info.store.hosts.join(", ")))?;
    let recorded = match info.first {
        Some(_) => format!("{} to {}", moment(info.first, zone), moment(info.last, zone)),
        None => "nothing yet".to_owned(),
    };
    line("recorded", &recorded)?;
    line("runs", &runs(info, count("run"), zone))?;
    line("cards", &info.cards.len().to_string())?;
    line("users", &count("person").to_string())?;
    line("processes", &count("process").to_string())?;
    for kept in &info.store.kept {
        let oldest = Timestamp::from_millisecond(kept.oldest_ms).ok();
        line(kind_word(kept.kind), &format!("since {}", moment(oldest, zone)))?;
    }
    Ok(())
}

/// Writes a line, or more if it does not fit.
fn put(out: &mut impl Write, line: &str, hang: usize, width: Option<usize>) -> io::Result<()> {
    hung(line, hang, width).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn size(store: &StoreInfo) -> String {
    let free = u64::try_from(store.free_bytes).unwrap_or(0);
    let [file, free, log] = [store.file_bytes, free, store.log_bytes].map(words::size);
    format!("{file}, {free} of it free for new rows; log {log}")
}

const fn recorder(is_being_recorded: Option<bool>) -> &'static str {
    match is_being_recorded {
        Some(true) => "writes to it now",
        Some(false) => "none writes to it now",
        None => "unknown",
    }
}

fn runs(info: &DatabaseInfo, count: i64, zone: &Zone) -> String {
    let Some(newest) = &info.newest_run else { return "none".to_owned() };
    format!("{count}; the newest: {}", run(newest, info.is_being_recorded, zone))
}

fn run(run: &NewestRun, is_being_recorded: Option<bool>, zone: &Zone) -> String {
    let every = run.interval_seconds.map_or_else(String::new, |seconds| {
        // `duration` has no fractions of a second.
        if seconds < 10.0 {
            format!(" every {seconds}s")
        } else {
            format!(" every {}", duration(seconds))
        }
    });
    let end = match (&run.ending, is_being_recorded) {
        (Some(ending), _) => {
            format!("to {} ({})", moment(run.ended, zone), ending.replace('_', " "))
        }
        (None, Some(true)) => "still going on".to_owned(),
        (None, _) => "not ended: it was killed, or the machine went down".to_owned(),
    };
    format!("{}{every} since {}, {end}", run.recorder, moment(run.started, zone))
}

/// Writes whether a database is as it must be.
///
/// # Errors
/// When the writer fails.
pub fn checked(out: &mut impl Write, checked: &Checked, width: Option<usize>) -> io::Result<()> {
    let mut line = |text: String| put(out, &text, 0, width);
    let rows = |tables: &[&str]| -> i64 {
        tables.iter().filter_map(|table| checked.rows.get(table)).sum()
    };
    let verified = [
        format!("layout {}", checked.schema_version),
        some(rows(&["run"]), "run"),
        some(rows(&["card_span", "holder_span"]), "fine row"),
        some(rows(&["card_hour", "holder_hour"]), "hour row"),
        some(rows(&["session"]), "session"),
        some(rows(&["sample"]), "sample"),
    ]
    .join(", ");
    if checked.ok {
        return line(format!("ok: {}: {verified}", safe(&checked.path)));
    }
    let found = some(checked.finding_count, "finding");
    line(format!("not ok: {}: {found} in {verified}", safe(&checked.path)))?;
    for finding in &checked.findings {
        let from =
            finding.from.map_or_else(|| "unknown time".to_owned(), |from| format!("{from:.3}"));
        line(format!("{from}: {}", safe(&finding.detail)))?;
    }
    let shown = checked.findings.len();
    if shown < checked.finding_count {
        line(format!("and {} more", checked.finding_count - shown))?;
    }
    Ok(())
}

/// Writes which rows would be deleted from a database.
///
/// # Errors
/// When the writer fails.
pub fn plan(out: &mut impl Write, plan: &PrunePlan, width: Option<usize>) -> io::Result<()> {
    let mut line = |text: String| put(out, &text, 0, width);
    let path = safe(&plan.path);
    match plan.due.is_empty() {
        true => line(format!("{path}: no row is too old"))?,
        false => line(format!("{path}: this would {}.", due(&plan.due)))?,
    }
    [much_warning(plan), clock_warning(plan)].into_iter().flatten().try_for_each(line)
}

/// Returns a sentence if much would be deleted.
#[must_use]
pub fn much_warning(plan: &PrunePlan) -> Option<String> {
    plan.is_much.then(|| "It is more than two days of history.".to_owned())
}

/// Returns a sentence if the clock may be wrong.
#[must_use]
pub fn clock_warning(plan: &PrunePlan) -> Option<String> {
    let days = plan.clock_days_ahead?;
    let now = plan.now;
    Some(format!("The clock ({now:.0}) is {days} days ahead of the newest record: is it right?"))
}

/// Returns the words for a kind of rows.
fn kind_word(kind: &str) -> &str {
    match kind {
        "quarters" => "quarter hours",
        "exact" => "exact spans",
        "policy_log" => "policy log",
        kind => kind,
    }
}

/// Returns which rows are due, by table, behind "this would".
#[must_use]
pub fn due(due: &BTreeMap<&'static str, DueRows>) -> String {
    let of =
        |is_summed: bool| due.iter().filter(move |(table, _)| (**table == SUMMED) == is_summed);
    let deleted: Vec<_> =
        of(false).map(|(table, due)| format!("{table} {}", number(due.rows))).collect();
    let range = |due: &DueRows| {
        let [from, to] = [due.oldest_ms, due.newest_ms].map(|at| nearest(UnixMillis(at)));
        format!("from {from:.0} to {to:.0}")
    };
    let oldest = of(false).map(|(_, due)| due.oldest_ms).min();
    let newest = of(false).map(|(_, due)| due.newest_ms).max();
    let mut parts = Vec::new();
    if let (Some(oldest_ms), Some(newest_ms)) = (oldest, newest) {
        let range = range(&DueRows { rows: 0, oldest_ms, newest_ms });
        parts.push(format!("delete rows {range} ({})", deleted.join(", ")));
    }
    parts.extend(of(true).map(|(_, due)| {
        format!("sum up {} {} as quarter hours", some(due.rows, "exact row"), range(due))
    }));
    parts.join(" and ")
}

/// Writes how many rows were deleted from a database.
///
/// # Errors
/// When the writer fails.
pub fn pruned(out: &mut impl Write, pruned: &PruneResult, width: Option<usize>) -> io::Result<()> {
    let mut line = |text: String| put(out, &text, 0, width);
    line(format!(
        "{}: {} deleted; {} before, {} now",
        safe(&pruned.path),
        some(pruned.deleted_rows, "row"),
        words::size(pruned.before_bytes),
        words::size(pruned.after_bytes)
    ))?;
    if pruned.deleted_rows > 0 {
        let rows = pruned.deleted_rows_by_table.iter();
        let rows: Vec<_> = rows.map(|(table, rows)| format!("{table} {}", number(*rows))).collect();
        let summed = pruned.deleted_rows_by_table.contains_key(SUMMED);
        let note = if summed { " (exact: fewer by summing up)" } else { "" };
        line(format!("Rows: {}{note}.", rows.join(", ")))?;
    }
    if pruned.are_names_left {
        line("A recorder writes to the database: it deletes the unused names itself.".to_owned())?;
    }
    Ok(())
}

fn some(count: impl TryInto<i64>, word: &str) -> String {
    let count = count.try_into().unwrap_or(i64::MAX);
    format!("{} {word}{}", number(count), if count == 1 { "" } else { "s" })
}

fn number(count: impl TryInto<i64>) -> String {
    words::count(count.try_into().unwrap_or(i64::MAX).unsigned_abs())
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

fn moment(at: Option<Timestamp>, zone: &Zone) -> String {
    match at {
        Some(at) => zone.second(at),
        None => "an unknown time".to_owned(),
    }
}
