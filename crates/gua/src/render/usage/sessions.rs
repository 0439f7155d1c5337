//! Who held a card without working, how long, and what to type about it.

use gua_query::usage::{Session, Usage};
use jiff::tz::TimeZone;

use super::figures::{length, percent};
use super::label::shortened;
use super::page::{INDENT, Page};
use crate::render::identity;
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell, Column, Line, fit, put_row, shorten, total};
use crate::render::words::memory;

/// Sessions of one standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Open,
    /// On when the window or the record ended.
    Unclear,
    Ended,
}

impl Standing {
    pub(super) const ALL: [Self; 3] = [Self::Open, Self::Unclear, Self::Ended];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Open => "now, longest first",
            Self::Unclear => "on at the end, longest first",
            Self::Ended => "ended, longest first",
        }
    }

    const fn of(session: &Session) -> Self {
        match session.open {
            Some(true) => Self::Open,
            None => Self::Unclear,
            Some(false) => Self::Ended,
        }
    }
}

/// The sessions of one standing that are shown, and how many more there are.
pub(super) fn shown(usage: &Usage, standing: Standing, most: usize) -> (Vec<&Session>, usize) {
    let all = usage.sessions.iter().filter(|session| Standing::of(session) == standing);
    let all: Vec<_> = all.collect();
    let left_out = if standing == Standing::Ended { usage.sessions_left_out } else { 0 };
    let more = all.len().saturating_sub(most) + left_out;
    (all.into_iter().take(most).collect(), more)
}

pub(super) const HEADS: [&str; 7] = ["idle", "who", "card", "memory", "what", "pid", "when"];
const ALIGNS: [Align; 7] =
    [Align::Right, Align::Left, Align::Right, Align::Right, Align::Left, Align::Right, Align::Left];
const WHO: usize = 1;
const MEMORY: usize = 3;
const WHAT: usize = 4;
const PID: usize = 5;
const WHEN: usize = 6;
/// Less of a name does not tell it from others.
const SHORTEST: usize = 8;
/// Commands stand a little further in than what they are about.
const COMMANDS_AT: usize = INDENT + 2;

pub(super) fn section(page: &mut Page<'_>, usage: &Usage) {
    if usage.sessions.is_empty() || page.view.sessions == 0 {
        return;
    }
    page.heading("Holding sessions");
    if let Some(host) = elsewhere(usage, page.view.is_here) {
        page.text(INDENT, &host, Ink::Quiet);
    }
    for standing in Standing::ALL {
        let (sessions, more) = shown(usage, standing, page.view.sessions);
        if sessions.is_empty() {
            continue;
        }
        page.text(INDENT, standing.title(), Ink::Quiet);
        table(page, &sessions, usage);
        if more > 0 {
            page.text(INDENT, &and_more(more), Ink::Quiet);
        }
    }
}

pub(super) fn and_more(more: usize) -> String {
    format!("and {more} more; --sessions all shows them")
}

/// Where the commands are to be typed, when that is not here.
pub(super) fn elsewhere(usage: &Usage, is_here: bool) -> Option<String> {
    let is_any = usage.sessions.iter().any(Session::is_open);
    let host = usage.host.as_ref().filter(|_| is_any && !is_here)?;
    Some(format!("commands are for {}", shortened(&host.name, 64)))
}

fn table(page: &mut Page<'_>, sessions: &[&Session], usage: &Usage) {
    let tz = page.view.tz.clone();
    let heads = HEADS.map(|head| Cell::new(head, Ink::Quiet)).to_vec();
    let rows: Vec<_> = sessions.iter().map(|session| cells(session, usage, &tz)).collect();
    let rows: Vec<_> = rows.into_iter().map(|row| row.map(Cell::plain).to_vec()).collect();
    let all = || std::iter::once(&heads).chain(&rows);
    let mut columns = fit(&ALIGNS, all().map(Vec::as_slice));
    if usage.person.is_some()
        && let Some(who) = columns.get_mut(WHO)
    {
        who.width = 0;
    }
    squeeze(&mut columns, page.view.width.saturating_sub(INDENT));
    put(page, &heads, &columns);
    for (row, session) in rows.iter().zip(sessions) {
        put(page, row, &columns);
        if let Some(commands) = commands(session) {
            page.text(COMMANDS_AT, &commands, Ink::Strong);
        }
    }
}

/// What it is and when it was is cut first; how long, whose and where stay.
fn squeeze(columns: &mut [Column], most: usize) {
    shorten(columns, WHAT, SHORTEST, most);
    for dispensable in [WHEN, PID, MEMORY] {
        if total(columns) <= most {
            return;
        }
        if let Some(column) = columns.get_mut(dispensable) {
            column.width = 0;
        }
    }
    shorten(columns, WHO, SHORTEST, most);
    shorten(columns, WHAT, 0, most);
    shorten(columns, WHO, 1, most);
}

fn put(page: &mut Page<'_>, row: &[Cell], columns: &[Column]) {
    let (most, paint) = (page.view.width, page.view.paint);
    let mut line = Line::default();
    put_row(&mut line, INDENT, row, columns, most, paint);
    page.lines.push(line.text);
}

/// One session in cells, below [`HEADS`].
pub(super) fn cells(session: &Session, usage: &Usage, tz: &TimeZone) -> [String; 7] {
    [
        idle(session),
        who(session),
        place(session),
        session.peak_memory_bytes.map_or_else(|| "?".to_owned(), memory),
        what(session),
        session.pid.to_string(),
        when(session, usage, tz),
    ]
}

/// Formats how long it was idle in the window, marked where it was longer or may have been.
pub(super) fn idle(session: &Session) -> String {
    let is_all = session.from_seen && (session.to_seen || session.is_open());
    let mark = if is_all { "" } else { "≥" };
    format!("{mark}{}", length(session.idle_seconds))
}

pub(super) fn who(session: &Session) -> String {
    match (&session.user, session.uid) {
        (Some(user), _) => shortened(user, 200),
        (None, Some(uid)) => format!("uid {uid}"),
        (None, None) => identity::UNATTRIBUTED.to_owned(),
    }
}

pub(super) fn place(session: &Session) -> String {
    let Some(index) = session.card_index else { return "?".to_owned() };
    session.card_slot.map_or_else(|| index.to_string(), |slot| format!("{index}:{slot}"))
}

/// What it runs.
pub(super) fn program(session: &Session) -> String {
    let brief = session.identity.as_ref().map(identity::brief).filter(|brief| !brief.is_empty());
    let program = || session.program.as_deref().map(|program| shortened(program, 200));
    let what = brief.map(|brief| shortened(&brief, 200)).or_else(program);
    what.unwrap_or_else(|| "not known".to_owned())
}

/// Formats what a holder runs, and what is special about how it holds the card.
pub(super) fn what(session: &Session) -> String {
    let mut what = program(session);
    if session.bare_context == Some(true) {
        what.push_str(" (bare CUDA context)");
    }
    if session.is_beside_work() {
        what.push_str(" (beside others)");
    }
    what
}

/// Since when, or from when to when; the year only where it is another one than the report's,
/// the day once, seconds where minutes are few.
fn when(session: &Session, usage: &Usage, tz: &TimeZone) -> String {
    let [from, to, end] =
        [session.from, session.to, usage.window.to].map(|at| at.to_zoned(tz.clone()));
    let day = if from.year() == end.year() { "%-d %b " } else { "%-d %b %Y " };
    let clock = if session.idle_seconds < 600.0 { "%H:%M:%S" } else { "%H:%M" };
    let shown = from.strftime(&format!("{day}{clock}")).to_string();
    if session.is_open() {
        let before = if session.from_seen { "" } else { "before " };
        return format!("since {before}{shown}");
    }
    let day = if from.date() == to.date() { "" } else { day };
    format!("{shown} → {}", to.strftime(&format!("{day}{clock}")))
}

/// What to type to ask, and to end it.
pub(super) fn commands(session: &Session) -> Option<String> {
    match (&session.ask, &session.end) {
        (Some(ask), Some(end)) => Some(format!("→ ask: `{ask}`, end: `{end}`")),
        (None, Some(end)) => Some(format!("→ end: `{end}`")),
        (Some(ask), None) => Some(format!("→ ask: `{ask}`")),
        (None, None) => None,
    }
}

/// Formats how few sessions make up how much of the idle-held time, and returns them.
pub(super) fn format_largest(usage: &Usage) -> Option<(String, Vec<&Session>)> {
    let found = usage.verdict.as_ref()?.largest_sessions.as_ref()?;
    let sessions = found.sessions.iter().filter_map(|place| usage.sessions.get(*place));
    let named: Vec<_> = sessions.collect();
    let count = match named.len() {
        0 => return None,
        1 => "One session makes".to_owned(),
        2 => "Two sessions make".to_owned(),
        3 => "Three sessions make".to_owned(),
        many => format!("{many} sessions make"),
    };
    Some((format!("{count} up {} of it:", percent(Some(found.idle_held_share))), named))
}

/// One of them: who, what, where, how long, and whom to ask.
pub(super) fn format_session(session: &Session) -> [String; 5] {
    let still = if session.is_open() { ", still on" } else { "" };
    [
        who(session),
        what(session),
        format!("card {}", place(session)),
        format!("{}{still}", idle(session)),
        session.ask.as_deref().map(|ask| format!("→ {ask}")).unwrap_or_default(),
    ]
}

pub(super) fn largest(page: &mut Page<'_>, usage: &Usage) {
    let Some((head, named)) = format_largest(usage) else { return };
    page.text(INDENT, &head, Ink::Plain);
    let rows: Vec<_> = named
        .into_iter()
        .map(|session| format_session(session).map(Cell::plain).to_vec())
        .collect();
    page.table(&[Align::Left; 5], &rows, 1);
}
