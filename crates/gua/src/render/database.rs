//! What is told of a database, as lines.

use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::words::{duration, safe};
use crate::report::database::{Checked, Info, Pruned, Run};
use crate::wrap::hung;

/// Where the text begins, after its label.
const LABEL: usize = 10;

/// Writes what is in a database, in so many columns where there is an end to them.
///
/// # Errors
/// When the writer fails.
pub fn info(
    out: &mut impl Write,
    info: &Info,
    zone: &TimeZone,
    width: Option<usize>,
) -> io::Result<()> {
    let moment = |at: Option<Timestamp>| moment(at, zone);
    let mut line =
        |label: &str, text: &str| put(out, &format!("{label:LABEL$}{}", safe(text)), LABEL, width);
    line("database", &info.path)?;
    line("layout", &info.layout.to_string())?;
    line("size", &size(info))?;
    line("recorder", recorder(info.is_being_recorded))?;
    line("host", &or_none(&info.hosts.join(", ")))?;
    let recorded = match info.first {
        Some(_) => format!("{} to {}", moment(info.first), moment(info.last)),
        None => "nothing yet".to_owned(),
    };
    line("recorded", &recorded)?;
    line("runs", &runs(info, zone))?;
    line("cards", &info.cards.len().to_string())?;
    line("users", &info.identities.len().to_string())?;
    line("samples", &kept(info, &["sample"], info.samples_kept_from, zone))?;
    let spans = ["card_span", "owner_span", "holder_span", "unseen_span", "observed"];
    line("spans", &kept(info, &spans, info.spans_kept_from, zone))
}

/// Writes a line, or more where it does not fit.
fn put(out: &mut impl Write, line: &str, hang: usize, width: Option<usize>) -> io::Result<()> {
    hung(line, hang, width).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn size(info: &Info) -> String {
    format!(
        "{}, of which {} to be used again; log {}",
        bytes(info.file_bytes),
        bytes(info.free_bytes),
        bytes(info.log_bytes)
    )
}

const fn recorder(is_being_recorded: Option<bool>) -> &'static str {
    match is_being_recorded {
        Some(true) => "writes to it now",
        Some(false) => "none writes to it now",
        None => "cannot be told",
    }
}

fn runs(info: &Info, zone: &TimeZone) -> String {
    let Some(newest) = &info.newest_run else { return "none".to_owned() };
    format!("{}; the newest: {}", info.run_count, run(newest, info.is_being_recorded, zone))
}

fn run(run: &Run, is_being_recorded: Option<bool>, zone: &TimeZone) -> String {
    let every = run.interval_seconds.map_or_else(String::new, |seconds| {
        // Below a second the usual words would say nothing.
        if seconds < 10.0 {
            format!(" every {seconds}s")
        } else {
            format!(" every {}", duration(seconds))
        }
    });
    let end = match (run.ended, is_being_recorded) {
        (Some(ended), _) => {
            let ending = run
                .ending
                .map_or_else(String::new, |ending| format!(" ({})", ending.replace('_', " ")));
            format!("to {}{ending}", moment(Some(ended), zone))
        }
        (None, Some(true)) => "still going on".to_owned(),
        (None, _) => "never ended: killed, or the machine went down".to_owned(),
    };
    format!("{}{every} since {}, {end}", run.recorder, moment(run.started, zone))
}

fn kept(info: &Info, tables: &[&str], from: Option<Timestamp>, zone: &TimeZone) -> String {
    let count: u64 = tables.iter().filter_map(|table| info.rows.get(table)).sum();
    match from {
        Some(_) => format!("{count}, kept from {}", moment(from, zone)),
        None => "none".to_owned(),
    }
}

/// Writes whether a database is as it must be.
///
/// # Errors
/// When the writer fails.
pub fn checked(out: &mut impl Write, checked: &Checked, width: Option<usize>) -> io::Result<()> {
    let mut line = |text: String| put(out, &text, 0, width);
    let verified = [
        format!("layout {}", checked.layout),
        some(checked.run_count, "run"),
        some(checked.span_count, "span"),
        some(checked.tick_count, "tick"),
        some(checked.sample_count, "sample"),
    ]
    .join(", ");
    if checked.ok {
        return line(format!("ok: {}: {verified}", safe(&checked.path)));
    }
    let found = some(checked.finding_count, "finding");
    line(format!("not ok: {}: {found} in {verified}", safe(&checked.path)))?;
    for finding in &checked.findings {
        line(format!("{}: {}", finding.kind, safe(&finding.detail)))?;
    }
    let shown = checked.findings.len() as u64;
    if shown < checked.finding_count {
        line(format!("and {} more", checked.finding_count - shown))?;
    }
    Ok(())
}

/// Writes how many rows were deleted from a database.
///
/// # Errors
/// When the writer fails.
pub fn pruned(out: &mut impl Write, pruned: &Pruned, width: Option<usize>) -> io::Result<()> {
    let mut line = |text: String| put(out, &text, 0, width);
    line(format!(
        "{}: {} deleted; {} before, {} now",
        safe(&pruned.path),
        some(pruned.deleted_rows as u64, "row"),
        bytes(pruned.before_bytes),
        bytes(pruned.after_bytes)
    ))?;
    if pruned.deleted_rows > 0 {
        line(format!("Rows: {}.", pruned.deleted_rows_by_table))?;
    }
    if let Some(kept) = &pruned.older_kept {
        line(format!("It had an older layout; as it was before, it is kept as {}.", safe(kept)))?;
    }
    if pruned.names_left {
        line("A recorder writes to it; names of the past are left for it to take out.".to_owned())?;
    }
    Ok(())
}

fn some(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

fn moment(at: Option<Timestamp>, zone: &TimeZone) -> String {
    match at {
        Some(at) => at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string(),
        None => "an unknown time".to_owned(),
    }
}

/// Bytes in the largest unit that leaves something before the point.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn bytes(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let large = units.into_iter().find(|(unit, _)| bytes >= *unit);
    large.map_or_else(
        || format!("{bytes} B"),
        |(unit, name)| format!("{:.1} {name}", bytes as f64 / unit as f64),
    )
}
