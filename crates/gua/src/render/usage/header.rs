//! What the report is about, how much of it was observed, and what to do when nothing was.

use std::collections::BTreeMap;

use super::View;
use super::figures::{length, moment, percent, stretch};
use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::words::{safe, width};
use crate::report::usage::{Gap, JudgedBy, Reason, Usage};

pub(in crate::render) fn header(page: &mut Page<'_>, usage: &Usage) {
    let (name, window) = (name(usage), window(usage, &page.view.tz));
    let one_line = format!("{name}   {window}");
    if width(&one_line) <= page.view.width {
        page.lines.push(one_line);
    } else {
        page.text(0, &name, Ink::Plain);
        page.text(0, &window, Ink::Plain);
    }
    if let Some(missing) = missing(usage) {
        page.text(0, &missing, Ink::Quiet);
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

/// The window and how much of it was observed.
pub(in crate::render) fn window(usage: &Usage, tz: &jiff::tz::TimeZone) -> String {
    let window = &usage.window;
    let times = stretch(window.from, window.to, tz, &window.tz);
    let observed = percent(window.coverage);
    let told: Vec<_> = usage.gaps.iter().filter(|gap| is_told(gap)).collect();
    let missing: f64 = told.iter().map(|gap| seconds(gap)).sum();
    let gaps = match told.len() {
        0 => String::new(),
        1 => format!(" (1 gap, {})", length(missing)),
        many => format!(" ({many} gaps, {})", length(missing)),
    };
    format!("{times}, {}, {observed} observed{gaps}", length(window.seconds))
}

/// Why time is missing, longest first.
pub(in crate::render) fn missing(usage: &Usage) -> Option<String> {
    let mut by_reason: BTreeMap<&str, (f64, Reason)> = BTreeMap::new();
    for gap in usage.gaps.iter().filter(|gap| is_told(gap)) {
        by_reason.entry(gap.reason.slug()).or_insert((0.0, gap.reason)).0 += seconds(gap);
    }
    let mut reasons: Vec<_> = by_reason.into_values().collect();
    reasons.sort_by(|a, b| b.0.total_cmp(&a.0));
    let told: Vec<_> = reasons
        .iter()
        .map(|(seconds, reason)| format!("{} {}", length(*seconds), words(*reason)))
        .collect();
    (!told.is_empty()).then(|| format!("not observed: {}", told.join(", ")))
}

/// What the next tick will speak for is not missing.
fn is_told(gap: &Gap) -> bool {
    gap.reason != Reason::NotYet
}

fn seconds(gap: &Gap) -> f64 {
    gap.to.duration_since(gap.from).as_secs_f64()
}

pub(super) fn words(reason: Reason) -> &'static str {
    use crate::ledger::Trouble;
    use crate::store::Ending;
    match reason {
        Reason::Trouble(Trouble::Suspended) => "the machine slept",
        Reason::Trouble(Trouble::ClockSet) => "the clock was set",
        Reason::Trouble(Trouble::Late) => "the recorder was late",
        Reason::Trouble(Trouble::DriverGone) => "the driver was away",
        Reason::Trouble(Trouble::Storage) => "the history could not be written",
        Reason::Ended(Ending::Stopped) => "the recorder was stopped",
        Reason::Ended(Ending::Crashed) => "the recorder was killed",
        Reason::Ended(Ending::ClockSetBack) => "the clock was set back",
        Reason::Ended(Ending::Failed) => "the recorder failed",
        Reason::Ended(Ending::Complete) | Reason::NotRecorded => "nobody recorded",
        Reason::NotKept => "no longer kept",
        Reason::Stalled => "the recorder stores nothing",
        Reason::NotYet => "not yet",
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
    let judged = usage.judged_again.is_some() && usage.window.observed_seconds > 0.0;
    match data {
        _ if judged => {
            "No samples are kept of this window, so its cards cannot be judged by other \
                        lines than those it was recorded by."
                .to_owned()
        }
        Some((from, to)) => format!(
            "Nothing was recorded in this window. There is data from {from} to {to} {zone}."
        ),
        None if usage.gaps.iter().any(|gap| gap.reason == Reason::NotKept) => {
            "What was recorded is no longer kept.".to_owned()
        }
        None => "Nothing is recorded yet.".to_owned(),
    }
}

/// What tells of a time by the lines that it was recorded by.
fn by_its_own_lines(command: &str, recorded: &JudgedBy) -> String {
    let window = format!("{command} --from {} --until {}", recorded.from, recorded.to);
    match (recorded.active_percent, recorded.held_mb) {
        (Some(active), Some(held)) => {
            format!("{window} --active-percent {active} --held-mb {held}")
        }
        _ => window,
    }
}

pub(in crate::render) fn next_step(usage: &Usage, view: &View) -> String {
    let command = &view.command;
    let window = &usage.window;
    let Some(data) = &usage.data else {
        return "`gua daemon` starts recording; `gua demo` shows a report without a GPU."
            .to_owned();
    };
    if let Some(recorded) = usage.accounts_judged_by.as_ref().and_then(|it| it.lines.last()) {
        return by_its_own_lines(command, recorded);
    }
    if window.observed_seconds > 0.0 {
        return format!("{command} --from {} --until {}", window.from, window.to);
    }
    let seconds_ago = view.now.as_second() - data.to.as_second();
    if seconds_ago < 0 {
        return format!("{command} --from {} --until {}", data.from, data.to);
    }
    // As far back as to the last day of what there is.
    format!("{command} --since {}d", seconds_ago / 86_400 + 2)
}
