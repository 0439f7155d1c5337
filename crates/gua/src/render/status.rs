//! `gua status` as text.

use std::io::{self, Write};
use std::time::Duration;

use gua_query::status::{RecorderState, Status};

use super::paint::{Ink, Paint};
use super::words::{self, safe};
use crate::cli::Zone;
use crate::wrap::hung;

/// Column of the text of a line, after its label.
const TEXT_AT: usize = 13;

/// What to show it on.
#[derive(Debug, Clone)]
pub struct View {
    pub paint: Paint,
    /// Columns; `None` where lines may be as long as they like.
    pub width: Option<usize>,
    pub zone: Zone,
}

/// Writes a status: the state first, then the rest.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, status: &Status, view: &View) -> io::Result<()> {
    let View { paint, width, zone } = view;
    let width = *width;
    let (ink, words) = headline(status);
    // The name is not painted.
    let mut name = "gua: ";
    for line in hung(&words, 0, width.map(|width| width.saturating_sub(name.len()).max(1))) {
        writeln!(out, "{name}{}", paint.text(ink, &line))?;
        name = "     ";
    }
    for (label, text) in details(status, zone) {
        let line = format!("  {label:<11}{}", safe(&text));
        hung(&line, TEXT_AT, width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

fn headline(status: &Status) -> (Ink, String) {
    let pid = status.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    match status.state {
        RecorderState::Recording => (Ink::Good, format!("recording{pid}")),
        RecorderState::Stalled => (Ink::Bad, format!("running{pid}, but no longer recording")),
        RecorderState::NotRunning => (Ink::Strong, "not recording".to_owned()),
        RecorderState::Unsure => {
            (Ink::Notice, format!("maybe recording{pid}: its files cannot be read"))
        }
    }
}

/// Returns label and text of each line.
fn details(status: &Status, zone: &Zone) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    let mut add = |label, text: Option<String>| details.extend(text.map(|text| (label, text)));
    add("since", since(status, zone));
    add("last tick", last_tick(status, zone));
    add("final to", status.record.final_until.map(|at| zone.second(at)));
    add("polls", polls(status));
    add("observed", observed(status));
    if let Some(database) = &status.database {
        let size = database.size_bytes.map(words::size);
        let parts: Vec<_> = database.path.clone().into_iter().chain(size).collect();
        add("database", Some(parts.join(", ")));
    }
    let trouble = status.record.last_trouble.as_ref();
    add("trouble", trouble.map(|it| format!("{}: {}", zone.second(it.time), it.detail)));
    add("log", status.last_log_line.clone());
    add("log", status.log_doubt.clone());
    add("history", status.doubt.as_ref().map(|why| format!("cannot be read: {why}")));
    details
}

fn since(status: &Status, zone: &Zone) -> Option<String> {
    let seconds = status.record.interval_seconds;
    let every = seconds.map(|seconds| {
        let interval = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        format!(", every {}", words::interval(interval))
    });
    Some(zone.second(status.since?) + &every.unwrap_or_default())
}

fn last_tick(status: &Status, zone: &Zone) -> Option<String> {
    let (at, age) = (status.record.last_tick?, status.last_tick_age_seconds?);
    let cards = match status.record.cards {
        None | Some(0) => String::new(),
        Some(1) => ", 1 card".to_owned(),
        Some(cards) => format!(", {cards} cards"),
    };
    Some(format!("{} ago ({}){cards}", words::duration(age), zone.second(at)))
}

/// Polls of the newest run, and calls of the driver.
fn polls(status: &Status) -> Option<String> {
    let (polls, calls) = (status.record.polls?, status.record.driver_calls?);
    let [polls, calls] = [polls, calls].map(|it| words::count(it.unsigned_abs()));
    Some(format!("{polls}, {calls} driver calls"))
}

/// Observed part of the run and of the last hour.
fn observed(status: &Status) -> Option<String> {
    let part =
        |part: Option<f64>, of: &str| part.map(|part| format!("{:.1} % of the {of}", 100.0 * part));
    let run = part(status.record.coverage, "run");
    let hour = part(status.record.last_hour_coverage, "last hour");
    let parts: Vec<_> = run.into_iter().chain(hour).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
