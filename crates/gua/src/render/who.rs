//! `gua who` as text: a row a holder, longest idle first.

use gua_core::State;
use gua_query::snapshot::{HistoryState, HolderNow, IdleDoubt, IdleNow};
use gua_query::who::{WhoAnswer, WhoFilter, WhoHolder, WhoRow, WhoUnlisted};
use jiff::Timestamp;

use super::paint::{Ink, Paint};
use super::stat::{self, fold};
use super::table::{self, Align, Cell, Column, Line};
use super::words::{self, duration, memory_or_unknown, safe};
use crate::cli::Zone;
use crate::wrap::hung;

/// What to show it on.
#[derive(Debug, Clone)]
pub struct View {
    pub paint: Paint,
    /// Columns; `None` where it is nobody's screen.
    pub width: Option<usize>,
    pub zone: Zone,
}

/// The width of what is nobody's screen: room for usual names, and none for a path of 4 kB.
const WIDTH_IN_A_PIPE: usize = 160;

impl View {
    fn most(&self) -> usize {
        self.width.unwrap_or(WIDTH_IN_A_PIPE)
    }
}

const HEADINGS: [&str; 9] =
    ["idle", "who", "card", "memory", "program", "what", "pid", "running", "idle since"];
const ALIGNS: [Align; 9] = [
    Align::Right,
    Align::Left,
    Align::Left,
    Align::Right,
    Align::Left,
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Left,
];
const PROGRAM: usize = 4;
/// What runs, and where: left out where nothing of it is known.
const WHAT: usize = 5;
const RUNNING: usize = 7;
const SINCE: usize = 8;

/// How far rows stand in.
const INDENT: usize = 2;
/// A program's name is not cut shorter than this while there is something else to leave out.
const SHORTEST_NAME: usize = 8;
/// Nor is what runs: `job 12345678.0`.
const SHORTEST_WHAT: usize = 14;

/// The view as lines, none longer than the screen is wide.
#[must_use]
pub fn lines(who: &WhoAnswer, filter: &WhoFilter, view: &View) -> Vec<String> {
    let mut lines = said(&headline(who, filter), Ink::Strong, view);
    if let Some(error) = &who.driver_error {
        lines.extend(said(&format!("driver: {}", safe(error)), Ink::Bad, view));
    }
    lines.extend(table(who, view));
    lines.extend(summary(who).iter().flat_map(|text| said(text, Ink::Plain, view)));
    lines.extend(who.reservations.iter().flatten().flat_map(|row| {
        let terms = safe(&row.reservation.format_terms());
        let text = format!("card {} is reserved {terms}", row.card.label());
        said(&text, Ink::Plain, view)
    }));
    lines
}

/// The view on a screen of so many rows.
#[must_use]
pub fn lines_within(rows: usize, who: &WhoAnswer, filter: &WhoFilter, view: &View) -> Vec<String> {
    let mut lines = lines(who, filter, view);
    if let Some(doubt) = doubt(who, &view.zone) {
        lines.extend(said(&doubt, Ink::Quiet, view));
    }
    let (mut lines, rest) = fold(lines, rows);
    if rest > 0 {
        lines.push(cut(&format!("… {rest} more lines"), Ink::Quiet, view));
    }
    lines
}

/// What is not known of how long, in a line for a person; `None` where all of it is.
#[must_use]
pub fn doubt(who: &WhoAnswer, zone: &Zone) -> Option<String> {
    let all = of_the_record(who, zone).into_iter().chain(left_out(who));
    let all: Vec<_> = all.collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn of_the_record(who: &WhoAnswer, zone: &Zone) -> Option<String> {
    let history = who.history.as_ref()?;
    match (history.state, history.recorded_until) {
        (HistoryState::Recording, _) => None,
        (HistoryState::None, _) => {
            let why = history.reason.as_deref().unwrap_or("there is no history");
            Some(format!("holding times are unknown: {}", safe(why)))
        }
        (HistoryState::Ended, until) => {
            let until = until.map(|at| format!(" since {}", zone.moment(at, who.time)));
            let until = until.unwrap_or_default();
            Some(format!("nothing is recorded{until}, so idle times end there (see `gua status`)"))
        }
    }
}

fn left_out(who: &WhoAnswer) -> impl Iterator<Item = String> {
    let idle_now = match who.idle_now_left_out {
        0 => None,
        1 => Some("one more is idle now; for how long is not recorded".to_owned()),
        more => Some(format!("{more} more are idle now; for how long is not recorded")),
    };
    let unknown = match who.unknown_left_out {
        0 => None,
        1 => Some("one more may be idle: its card cannot be judged".to_owned()),
        more => Some(format!("{more} more may be idle: their cards cannot be judged")),
    };
    let unlisted = match who.unlisted_left_out {
        0 => None,
        1 => Some("further holders of one card are unknown".to_owned()),
        more => Some(format!("further holders of {more} cards are unknown")),
    };
    [idle_now, unknown, unlisted].into_iter().flatten()
}

fn headline(who: &WhoAnswer, filter: &WhoFilter) -> String {
    let host = who.host.as_deref().map(|host| format!(" on {}", safe(host))).unwrap_or_default();
    let whose = match filter.users.as_slice() {
        [] => String::new(),
        users => format!(" by {}", safe(&users.join(", "))),
    };
    let is_empty = who.holders.is_empty() && who.unlisted.is_empty();
    match (filter.idle.map(words::interval), is_empty) {
        (Some(idle), true) => {
            format!("no card{host} is known to be held idle{whose} for {idle} or longer")
        }
        (Some(idle), false) => {
            format!("held without working{host}{whose} for {idle} or longer, longest first")
        }
        (None, true) if who.driver_error.is_some() => {
            format!("the holders of the cards{host} are unknown")
        }
        (None, true) => format!("no card{host} is held{}", by_anybody(&whose)),
        (None, false) => format!("held{host}{whose}, longest idle first"),
    }
}

fn by_anybody(whose: &str) -> String {
    if whose.is_empty() { " by anybody".to_owned() } else { whose.to_owned() }
}

fn table(who: &WhoAnswer, view: &View) -> Vec<String> {
    let cells = |row| match row {
        WhoRow::Holder(row) => holder_row(row, who.time, view),
        WhoRow::Unlisted(row) => unlisted_row(row, who.time, view),
    };
    let rows: Vec<Vec<Cell>> = who.rows().into_iter().map(cells).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut headings = HEADINGS.map(|heading| Cell::new(heading, Ink::Quiet));
    let is_told = |row: &Vec<Cell>| row.get(WHAT).is_some_and(|cell| !cell.text.is_empty());
    if !rows.iter().any(is_told) {
        headings[WHAT] = Cell::plain("");
    }
    let headings = headings.to_vec();
    let rows: Vec<_> = std::iter::once(headings).chain(rows).collect();
    let mut columns = table::fit(&ALIGNS, rows.iter().map(Vec::as_slice));
    squeeze(&mut columns, view.most().saturating_sub(INDENT));
    let line = |row: &Vec<Cell>| {
        let mut line = Line::default();
        table::put_row(&mut line, INDENT, row, &columns, view.most(), view.paint);
        line.text
    };
    rows.iter().map(line).collect()
}

/// Shortens what runs and programs, then leaves columns out: how long is told twice, the pid is
/// needed.
fn squeeze(columns: &mut [Column], most: usize) {
    table::shorten(columns, WHAT, SHORTEST_WHAT, most);
    table::shorten(columns, PROGRAM, SHORTEST_NAME, most);
    for dispensable in [RUNNING, SINCE, WHAT] {
        if table::total(columns) <= most {
            return;
        }
        if let Some(column) = columns.get_mut(dispensable) {
            column.width = 0;
        }
    }
    table::shorten(columns, PROGRAM, 0, most);
}

fn holder_row(row: &WhoHolder, now: Timestamp, view: &View) -> Vec<Cell> {
    let holder = &row.holder;
    vec![
        idle_cell(holder.state, &holder.idle),
        Cell::plain(stat::user(holder)),
        Cell::plain(row.card.label()),
        Cell::plain(memory_or_unknown(holder.memory_bytes)),
        Cell::plain(program(holder)),
        Cell::plain(what(row)),
        Cell::plain(holder.pid.to_string()),
        Cell::plain(holder.running_seconds.map_or_else(|| "?".to_owned(), duration)),
        Cell::plain(since(holder.state, &holder.idle, now, &view.zone)),
    ]
}

fn unlisted_row(row: &WhoUnlisted, now: Timestamp, view: &View) -> Vec<Cell> {
    let unlisted = &row.unlisted;
    let what = match unlisted.holders_reason {
        // The state of the card says it already.
        Some(reason) if row.state == State::Unknown(reason) => "(not listed)".to_owned(),
        Some(reason) => format!("(not listed: {reason})"),
        None if unlisted.memory_bytes.is_none() => "(memory not readable)".to_owned(),
        None => "(no visible process)".to_owned(),
    };
    vec![
        idle_cell(row.state, &unlisted.idle),
        Cell::plain("?"),
        Cell::plain(row.card.label()),
        Cell::plain(memory_or_unknown(unlisted.memory_bytes)),
        Cell::plain(what),
        Cell::plain(""),
        Cell::plain("?"),
        Cell::plain("?"),
        Cell::plain(since(row.state, &unlisted.idle, now, &view.zone)),
    ]
}

fn idle_cell(state: State, idle: &IdleNow) -> Cell {
    match (state, idle.idle_seconds) {
        (State::IdleHeld, Some(seconds)) => {
            let mark = if idle.idle_doubt.is_some() { "≥" } else { "" };
            Cell::new(format!("{mark}{}", duration(seconds)), Ink::Notice)
        }
        (State::IdleHeld, None) => Cell::new("now", Ink::Notice),
        (State::Active, _) => Cell::new("active", Ink::Good),
        (State::TrulyIdle, _) => Cell::plain("little"),
        (State::Unknown(_), _) => Cell::new("unknown", Ink::Bad),
    }
}

fn since(state: State, idle: &IdleNow, now: Timestamp, zone: &Zone) -> String {
    let Some(since) = idle.idle_since else {
        return match (state, idle.idle_doubt) {
            (State::Unknown(reason), _) => reason.to_string(),
            (_, Some(IdleDoubt::NotRecorded)) => "after the last tick, or not recorded".to_owned(),
            (_, Some(IdleDoubt::NoHistory)) => "not recorded".to_owned(),
            _ => String::new(),
        };
    };
    let since = zone.moment(since, now);
    match (idle.idle_recorded_until, idle.idle_doubt) {
        (Some(until), _) => format!("{since}, recorded until {}", zone.moment(until, now)),
        (None, Some(_)) => format!("{since} or before"),
        (None, None) => since,
    }
}

/// Formats what a holder runs, and what is special about how it holds the card.
fn what(row: &WhoHolder) -> String {
    let brief = stat::what(&row.holder);
    let is_idle = row.holder.state == State::IdleHeld;
    let is_bare = is_idle && row.bare_context == Some(true);
    let remarks = [(is_bare, "(bare CUDA context)"), (row.is_idle_beside(), "(on a busy card)")];
    let told = remarks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, remark)| remark);
    let words = Some(brief.as_str()).filter(|brief| !brief.is_empty()).into_iter().chain(told);
    words.collect::<Vec<_>>().join(" ")
}

fn program(holder: &HolderNow) -> String {
    let absence = || stat::absence(holder.presence).to_owned();
    holder.program.as_deref().map_or_else(absence, safe)
}

/// How many cards are idle-held by those who are shown; apart, who is idle on a card that is not.
fn summary(who: &WhoAnswer) -> Option<String> {
    let held = match who.idle_held_cards {
        0 => None,
        1 => Some("1 card is idle-held".to_owned()),
        many => Some(format!("{many} cards are idle-held")),
    };
    let beside = match who.idle_beside {
        0 => None,
        1 => Some("1 holder is idle on a busy card".to_owned()),
        many => Some(format!("{many} holders are idle on busy cards")),
    };
    let parts: Vec<_> = held.into_iter().chain(beside).collect();
    (!parts.is_empty()).then(|| format!("{}. Ask first.", parts.join("; ")))
}

/// A sentence in as many lines as it takes on a screen; in a pipe it is one.
fn said(text: &str, ink: Ink, view: &View) -> Vec<String> {
    match view.width {
        Some(_) => {
            hung(text, 0, view.width).iter().map(|line| view.paint.text(ink, line)).collect()
        }
        None => vec![cut(text, ink, view)],
    }
}

fn cut(text: &str, ink: Ink, view: &View) -> String {
    view.paint.text(ink, &words::cut(text, view.most()))
}
