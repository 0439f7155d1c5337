//! `gua status` as text.

use std::io::{self, Write};

use super::paint::{Ink, Paint};
use super::words::{self, safe};
use crate::report::status::{Recorder, Status};
use crate::wrap::hung;

/// Where the text of a line begins, after its label.
const TEXT_AT: usize = 13;

/// Writes it: the answer first, then what it rests on.
///
/// # Errors
/// When the writer fails.
pub fn write(
    out: &mut impl Write,
    status: &Status,
    paint: Paint,
    width: Option<usize>,
) -> io::Result<()> {
    let (ink, words) = headline(status);
    // The name is not painted.
    let mut name = "gua: ";
    for line in hung(&words, 0, width.map(|width| width.saturating_sub(name.len()).max(1))) {
        writeln!(out, "{name}{}", paint.text(ink, &line))?;
        name = "     ";
    }
    for (label, text) in details(status) {
        let line = format!("  {label:<11}{}", safe(&text));
        hung(&line, TEXT_AT, width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

fn headline(status: &Status) -> (Ink, String) {
    let pid = status.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    match status.state {
        Recorder::Recording => (Ink::Good, format!("recording{pid}")),
        Recorder::Stalled => (Ink::Bad, format!("running{pid}, but no longer recording")),
        Recorder::NotRunning => (Ink::Strong, "not recording".to_owned()),
        Recorder::Unsure => (Ink::Notice, format!("maybe recording{pid}: it may not be looked at")),
    }
}

fn details(status: &Status) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(since) = status.since {
        let every = status.interval_seconds.map(|seconds| {
            words::interval(std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default())
        });
        let every = every.map(|every| format!(", every {every}")).unwrap_or_default();
        details.push(("since", format!("{}{every}", moment(since))));
    }
    if let (Some(at), Some(age)) = (status.last_tick, status.last_tick_age_seconds) {
        let cards = match status.cards {
            None | Some(0) => String::new(),
            Some(1) => ", 1 card".to_owned(),
            Some(cards) => format!(", {cards} cards"),
        };
        details
            .push(("last tick", format!("{} ago ({}){cards}", words::duration(age), moment(at))));
    }
    if let Some(coverage) = status.last_hour_coverage {
        details.push(("last hour", format!("{:.1} % observed", coverage * 100.0)));
    }
    if let Some(database) = &status.database {
        let size = database.size_bytes.map(words::size);
        let told: Vec<_> = database.path.clone().into_iter().chain(size).collect();
        details.push(("database", told.join(", ")));
    }
    if let Some(trouble) = &status.last_trouble {
        details.push(("trouble", format!("{}: {}", moment(trouble.time), trouble.detail)));
    }
    if let Some(line) = &status.last_log_line {
        details.push(("log", line.clone()));
    }
    if let Some(doubt) = &status.log_doubt {
        details.push(("log", format!("not read: {doubt}")));
    }
    if let Some(doubt) = &status.doubt {
        details.push(("history", format!("not read: {doubt}")));
    }
    details
}

fn moment(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
