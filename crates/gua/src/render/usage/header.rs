//! What the report is about, how much of it was observed, and what to do when nothing was.

use std::collections::BTreeMap;

use gua_core::span::GapReason;
use gua_query::usage::{GapCause, Usage};

use super::View;
use super::figures::{length, moment, percent, stretch};
use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::words::{safe, width};

pub(in crate::render) fn header(page: &mut Page<'_>, usage: &Usage) {
    let (name, window) = (name(usage), window(usage, &page.view.tz));
    let one_line = format!("{name}   {window}");
    if width(&one_line) <= page.view.width {
        page.lines.push(one_line);
    } else {
        page.text(0, &name, Ink::Plain);
        page.text(0, &window, Ink::Plain);
    }
    for line in [end(usage, &page.view.tz), missing(usage)].into_iter().flatten() {
        page.text(0, &line, Ink::Quiet);
    }
}

/// The program and the host.
pub(in crate::render) fn name(usage: &Usage) -> String {
    let Some(host) = &usage.host else { return "gua".to_owned() };
    let driver = host
        .driver_version
        .as_deref()
        .map_or_else(String::new, |driver| format!(" (driver {})", safe(driver)));
    format!("gua — {}{driver}", safe(&host.name))
}

/// When the window begins and ends.
pub(in crate::render) fn dates(usage: &Usage, tz: &jiff::tz::TimeZone) -> String {
    let window = &usage.window;
    let to = if window.to <= window.from { window.requested_to } else { window.to };
    stretch(window.from, to, tz, &window.tz)
}

/// The window and how much of it was observed.
pub(in crate::render) fn window(usage: &Usage, tz: &jiff::tz::TimeZone) -> String {
    let (window, times) = (&usage.window, dates(usage, tz));
    if window.to <= window.from {
        return format!("{times}, nothing observed");
    }
    let observed = percent(window.coverage);
    let missing: f64 = usage.gaps.iter().map(|gap| gap.seconds).sum();
    let gaps = match usage.gaps.len() {
        0 => String::new(),
        1 => format!(" (1 gap, {})", length(missing)),
        many => format!(" ({many} gaps, {})", length(missing)),
    };
    format!("{times}, {}, {observed} observed{gaps}", length(window.seconds))
}

/// Where the window ends, if that is before the end that was asked for.
pub(in crate::render) fn end(usage: &Usage, tz: &jiff::tz::TimeZone) -> Option<String> {
    let window = &usage.window;
    (window.from < window.to && window.to < window.requested_to).then(|| {
        let end = window.to.to_zoned(tz.clone());
        format!("ends at {}, up to where the record is final", end.strftime("%H:%M:%S"))
    })
}

/// Why time is missing, longest first.
pub(in crate::render) fn missing(usage: &Usage) -> Option<String> {
    let mut by_reason: BTreeMap<&str, (f64, GapCause)> = BTreeMap::new();
    for gap in &usage.gaps {
        by_reason.entry(gap.reason.slug()).or_insert((0.0, gap.reason)).0 += gap.seconds;
    }
    let mut reasons: Vec<_> = by_reason.into_values().collect();
    reasons.sort_by(|a, b| b.0.total_cmp(&a.0));
    let told: Vec<_> = reasons
        .iter()
        .map(|(seconds, reason)| format!("{} {}", length(*seconds), words(*reason)))
        .collect();
    (!told.is_empty()).then(|| format!("not observed: {}", told.join(", ")))
}

pub(super) fn words(reason: GapCause) -> &'static str {
    match reason {
        GapCause::Recorded(GapReason::Suspended) => "the machine was suspended",
        GapCause::Recorded(GapReason::ClockSet) => "the clock was set",
        GapCause::Recorded(GapReason::Late) => "the recorder was late",
        GapCause::Recorded(GapReason::Driver(_)) => "the driver was away",
        GapCause::Recorded(GapReason::Storage) => "the history could not be written",
        GapCause::Stopped => "the recorder was stopped",
        GapCause::Crashed => "the recorder was killed",
        GapCause::ClockSetBack => "the clock was set back",
        GapCause::Failed => "the recorder failed",
        GapCause::NotRecorded => "no recorder ran",
        GapCause::NotKept => "no longer kept",
        GapCause::Stalled => "the recorder stores nothing",
    }
}

/// What data there is, where the window has none.
pub(in crate::render) fn nothing(page: &mut Page<'_>, usage: &Usage) {
    page.lines.push(String::new());
    page.text(0, &nothing_here(usage, &page.view.tz), Ink::Strong);
    page.text(INDENT, &format!("→ {}", next_step(usage, page.view)), Ink::Plain);
}

pub(in crate::render) fn nothing_here(usage: &Usage, tz: &jiff::tz::TimeZone) -> String {
    let zone = &usage.window.tz;
    let data = usage.data.as_ref().map(|data| (moment(data.from, tz), moment(data.to, tz)));
    match data {
        Some((from, to)) => format!(
            "Nothing was recorded in this window. There is data from {from} to {to} {zone}."
        ),
        None if usage.gaps.iter().any(|gap| gap.reason == GapCause::NotKept) => {
            "What was recorded is no longer kept.".to_owned()
        }
        None => "Nothing is recorded yet.".to_owned(),
    }
}

pub(in crate::render) fn next_step(usage: &Usage, view: &View) -> String {
    let command = &view.command;
    let Some(data) = &usage.data else {
        return "`gua daemon` starts recording; `gua demo` shows a report without a GPU."
            .to_owned();
    };
    let seconds_ago = view.now.as_second() - data.to.as_second();
    if seconds_ago < 0 {
        return format!("{command} --from {} --until {}", data.from, data.to);
    }
    // As far back as to the last day of what there is.
    format!("{command} --since {}d", seconds_ago / 86_400 + 2)
}
