//! `gua who` as text: a row a holder, longest idle first.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::identity;
use super::paint::{Ink, Paint};
use super::stat::{self, fold};
use super::table::{self, Align, Cell, Column, Line};
use super::words::{self, duration, memory_or_unknown, safe};
use crate::classify::State;
use crate::report::now::{Holder, Presence};
use crate::report::who::{Asked, Doubt, Held, Idle, Row, Standing, Unseen, Who};
use crate::wrap::hung;

/// What to show it on.
#[derive(Debug, Clone)]
pub struct View {
    pub paint: Paint,
    /// Columns; `None` where it is nobody's screen.
    pub width: Option<usize>,
    pub zone: TimeZone,
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
pub fn lines(who: &Who, asked: &Asked, view: &View) -> Vec<String> {
    let mut lines = said(&headline(who, asked), Ink::Strong, view);
    if let Some(error) = &who.driver_error {
        lines.extend(said(&format!("driver: {}", safe(error)), Ink::Bad, view));
    }
    lines.extend(table(who, view));
    lines.extend(summary(who).iter().flat_map(|text| said(text, Ink::Plain, view)));
    lines.extend(who.reservations.iter().flatten().flat_map(|given| {
        let text = format!("card {} is reserved {}", given.card.label(), given.by.terms);
        said(&text, Ink::Plain, view)
    }));
    lines
}

/// The view on a screen of so many rows.
#[must_use]
pub fn lines_within(rows: usize, who: &Who, asked: &Asked, view: &View) -> Vec<String> {
    let mut lines = lines(who, asked, view);
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
pub fn doubt(who: &Who, zone: &TimeZone) -> Option<String> {
    let all = of_the_record(who, zone).into_iter().chain(left_out(who));
    let all: Vec<_> = all.collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn of_the_record(who: &Who, zone: &TimeZone) -> Option<String> {
    let history = &who.history;
    match (history.state, history.recorded_until) {
        (Standing::Recording, _) => None,
        (Standing::None, _) => {
            let why = history.reason.as_deref().unwrap_or("there is no history");
            Some(format!("since when is not known: {} (`gua daemon` records one)", safe(why)))
        }
        (Standing::Ended, until) => {
            let until = until.map(|at| format!(" since {}", moment(at, who.time, zone)));
            let until = until.unwrap_or_default();
            Some(format!("nothing is recorded{until}, so idle times end there (see `gua status`)"))
        }
    }
}

fn left_out(who: &Who) -> impl Iterator<Item = String> {
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
    let unseen = match who.unseen_left_out {
        0 => None,
        1 => Some("who else is on one card cannot be told".to_owned()),
        more => Some(format!("who else is on {more} cards cannot be told")),
    };
    [idle_now, unknown, unseen].into_iter().flatten()
}

fn headline(who: &Who, asked: &Asked) -> String {
    let host = who.host.as_deref().map(|host| format!(" on {}", safe(host))).unwrap_or_default();
    let whose = match asked.users.as_slice() {
        [] => String::new(),
        users => format!(" by {}", safe(&users.join(", "))),
    };
    let is_empty = who.holders.is_empty() && who.unseen.is_empty();
    match (asked.idle.map(words::interval), is_empty) {
        (Some(idle), true) => {
            format!("no card{host} is known to be held idle{whose} for {idle} or longer")
        }
        (Some(idle), false) => {
            format!("held without working{host}{whose} for {idle} or longer, longest first")
        }
        (None, true) if who.driver_error.is_some() => {
            format!("who holds a card{host} cannot be told")
        }
        (None, true) => format!("no card{host} is held{}", by_anybody(&whose)),
        (None, false) => format!("held{host}{whose}, longest idle first"),
    }
}

fn by_anybody(whose: &str) -> String {
    if whose.is_empty() { " by anybody".to_owned() } else { whose.to_owned() }
}

fn table(who: &Who, view: &View) -> Vec<String> {
    let cells = |row| match row {
        Row::Held(held) => held_row(held, who.time, view),
        Row::Unseen(unseen) => unseen_row(unseen, who.time, view),
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

fn held_row(held: &Held, now: Timestamp, view: &View) -> Vec<Cell> {
    let holder = &held.holder;
    vec![
        idle_cell(held.state, &held.idle),
        Cell::plain(stat::user(holder)),
        Cell::plain(held.card.label()),
        Cell::plain(memory_or_unknown(holder.memory_bytes)),
        Cell::plain(program(holder)),
        Cell::plain(what(held)),
        Cell::plain(holder.pid.to_string()),
        Cell::plain(holder.owner.running_seconds.map_or_else(|| "?".to_owned(), duration)),
        Cell::plain(since(held.state_reason.as_deref(), &held.idle, now, &view.zone)),
    ]
}

fn unseen_row(unseen: &Unseen, now: Timestamp, view: &View) -> Vec<Cell> {
    let what = match &unseen.holders_reason {
        // Said of the card already.
        Some(why) if unseen.state_reason.as_ref() == Some(why) => "(not listed)".to_owned(),
        Some(why) => format!("(not listed: {why})"),
        None if unseen.memory_bytes.is_none() => "(memory not readable)".to_owned(),
        None => "(no visible process)".to_owned(),
    };
    vec![
        idle_cell(unseen.state, &unseen.idle),
        Cell::plain("?"),
        Cell::plain(unseen.card.label()),
        Cell::plain(memory_or_unknown(unseen.memory_bytes)),
        Cell::plain(what),
        Cell::plain(""),
        Cell::plain("?"),
        Cell::plain("?"),
        Cell::plain(since(unseen.state_reason.as_deref(), &unseen.idle, now, &view.zone)),
    ]
}

fn idle_cell(state: State, idle: &Idle) -> Cell {
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

fn since(state_reason: Option<&str>, idle: &Idle, now: Timestamp, zone: &TimeZone) -> String {
    let Some(since) = idle.idle_since else {
        return match (state_reason, idle.idle_doubt) {
            (Some(reason), _) => reason.to_owned(),
            (None, Some(Doubt::NotRecorded)) => "after the last tick, or not recorded".to_owned(),
            (None, Some(Doubt::NoHistory)) => "not recorded".to_owned(),
            (None, _) => String::new(),
        };
    };
    let since = moment(since, now, zone);
    match (idle.idle_recorded_until, idle.idle_doubt) {
        (Some(until), _) => format!("{since}, recorded until {}", moment(until, now, zone)),
        (None, Some(_)) => format!("{since} or before"),
        (None, None) => since,
    }
}

/// A time of day, and the day where it is another.
fn moment(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let form = match () {
        () if at.date() == now.date() => "%H:%M",
        () if at.year() == now.year() => "%a %-d %b %H:%M",
        () => "%a %-d %b %Y %H:%M",
    };
    at.strftime(form).to_string()
}

/// What it runs, and what is special about how it holds the card.
fn what(held: &Held) -> String {
    let brief = held.identity.as_ref().map(identity::brief).unwrap_or_default();
    let is_idle = held.state == State::IdleHeld;
    let is_bare = is_idle && held.bare_context == Some(true);
    let is_on_a_busy_card = is_idle && held.card_state == State::Active;
    let remarks = [(is_bare, "(bare CUDA context)"), (is_on_a_busy_card, "(on a busy card)")];
    let told = remarks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, remark)| remark);
    let words = Some(brief.as_str()).filter(|brief| !brief.is_empty()).into_iter().chain(told);
    words.collect::<Vec<_>>().join(" ")
}

fn program(holder: &Holder) -> String {
    match (&holder.owner.program, holder.presence) {
        (Some(program), _) => safe(program),
        (None, Presence::Gone) => "(gone)".to_owned(),
        (None, Presence::Foreign) => "(outside this container)".to_owned(),
        (None, Presence::Here | Presence::Hidden | Presence::NotRecorded) => {
            "(not readable)".to_owned()
        }
    }
}

/// How many cards are held so by those who are shown.
fn summary(who: &Who) -> Option<String> {
    let held = who.holders.iter().map(|held| (held.state, &held.card));
    let unseen = who.unseen.iter().map(|unseen| (unseen.state, &unseen.card));
    let idle = held.chain(unseen).filter(|(state, _)| *state == State::IdleHeld);
    let mut cards: Vec<_> = idle.map(|(_, card)| (card.index, card.mig_slot)).collect();
    cards.sort_unstable();
    cards.dedup();
    match cards.len() {
        0 => None,
        1 => Some("1 card is held without working on it. Ask first.".to_owned()),
        many => Some(format!("{many} cards are held without working on them. Ask first.")),
    }
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
