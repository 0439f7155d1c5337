//! Who holds the cards, one line each.

use gua_core::{Reading, State as CardState};

use super::canvas::{Canvas, columns};
use super::columns::{GAP, Want, fit};
use super::figures::UNKNOWN;
use super::layout::Layout;
use super::theme::Ink;
use crate::render::words::{duration, memory, memory_or_unknown};
use crate::tui::holding::{Column, Holding, Unseen, format_idle};
use crate::tui::look::Kin;
use crate::tui::state::{Focus, State};
use crate::tui::tree::{Line, What};

/// A column of the list: its name, its widths, how soon it is left out, whether its cells
/// stand on the right, and what it is sorted by.
#[derive(Clone, Copy)]
struct Title {
    name: &'static str,
    want: Want,
    is_right: bool,
    sorts: Option<Column>,
}

const fn title(name: &'static str, least: u16, most: u16, rank: u8, is_right: bool) -> Title {
    Title { name, want: Want { least, most, rank }, is_right, sorts: None }
}

const fn by(column: Column, title: Title) -> Title {
    Title { sorts: Some(column), ..title }
}

const TITLES: [Title; 10] = [
    by(Column::Card, title("card", 4, 5, 7, false)),
    by(Column::User, title("user", 5, 16, 8, false)),
    title("pid", 7, 7, 9, true),
    title("program", 7, 80, 6, false),
    by(Column::Memory, title("memory", 8, 9, 10, true)),
    by(Column::Sm, title("SM", 5, 6, 5, true)),
    title("CPU", 6, 7, 3, true),
    title("RAM", 8, 9, 2, true),
    by(Column::RunTime, title("runs", 6, 7, 4, true)),
    by(Column::Idle, title("idle-held", 9, 10, 11, true)),
];
const IDLE: usize = 9;

pub fn draw(canvas: &mut Canvas<'_>, state: &State, layout: &Layout) {
    let (Some(_), Some(y)) = (&state.look, layout.holders_title) else { return };
    let widths = fit(&wants(&state.lines, canvas.width()), canvas.width());
    put_titles(canvas, state, &widths, y);
    if state.lines.is_empty() && layout.holders.height > 0 {
        canvas.put(0, layout.holders.y, nobody(state), Ink::Quiet);
    }
    let seen = state.lines.iter().enumerate().skip(state.holders.top);
    for ((place, line), row) in seen.zip(0..layout.holders.height) {
        let y = layout.holders.y + row;
        put_line(canvas, line, &widths, y);
        if state.focus == Focus::Holders && place == state.holders.at {
            canvas.paint_row(y, Ink::Chosen);
        }
    }
}

/// On a narrow screen cards and pids take only as much room as they need.
fn wants(lines: &[Line], room: u16) -> [Want; 10] {
    const NARROW: u16 = 60;
    let mut wants = TITLES.each_ref().map(|title| title.want);
    if room >= NARROW {
        return wants;
    }
    let widest = |text: fn(&Holding) -> String| {
        let holders = lines.iter().filter_map(|line| match &line.what {
            What::Holder(holding) => Some(columns(&text(holding))),
            What::Unseen(_) | What::Parent(_) => None,
        });
        holders.max().unwrap_or(0)
    };
    let [card, _, pid, ..] = &mut wants;
    card.least = widest(|holding| holding.card.clone()).clamp(1, card.most);
    pid.least = widest(|holding| holding.key.pid.to_string()).clamp(3, pid.most);
    wants
}

/// Whoever may hold a card has a line, so that without one, nobody does; but without a driver
/// there may be cards that nobody has heard of.
fn nobody(state: &State) -> &'static str {
    let is_driver_away =
        state.look.as_ref().is_some_and(|look| look.now.host.driver_error.is_some());
    match state.all_holders() {
        0 if is_driver_away => "holders unknown: no answer from the driver",
        0 => "nobody holds a card",
        _ => "no holder matches the filter",
    }
}

fn put_titles(canvas: &mut Canvas<'_>, state: &State, widths: &[u16], y: u16) {
    canvas.paint_row(y, Ink::Title);
    let mut x = 0;
    for (title, width) in TITLES.iter().zip(widths).filter(|(_, width)| **width > 0) {
        let is_short = *width < columns(title.name);
        let name = if is_short { "#" } else { title.name };
        let is_sorted = title.sorts == Some(state.order.by);
        let arrow = if state.order.is_reversed { "▲" } else { "▼" };
        let name = if is_sorted { format!("{name}{arrow}") } else { name.to_owned() };
        // The longest name and its arrow may use the gap.
        let room = width + GAP;
        if title.is_right {
            canvas.put_right(x + width, y, &name, Ink::Title);
        } else {
            canvas.put_in(x, y, room, &name, Ink::Title);
        }
        x += width + GAP;
    }
}

fn put_line(canvas: &mut Canvas<'_>, line: &Line, widths: &[u16], y: u16) {
    let (cells, ink) = match &line.what {
        What::Holder(holding) => {
            let ink = if holding.is_here { Ink::Plain } else { Ink::Quiet };
            (of_holder(holding, &line.branch), ink)
        }
        What::Unseen(unseen) => (of_unseen(unseen), Ink::Quiet),
        What::Parent(kin) => (of_parent(kin, &line.branch), Ink::Quiet),
    };
    let mut x = 0;
    let parts = TITLES.iter().zip(&cells).zip(widths).enumerate();
    for (place, ((title, cell), width)) in parts.filter(|(_, (_, width))| **width > 0) {
        let is_idle = place == IDLE && !cell.is_empty() && cell != NO && cell != UNKNOWN;
        let ink = match cell.as_str() {
            _ if is_idle => Ink::Notice,
            NO => Ink::Quiet,
            _ => ink,
        };
        let blank = if title.is_right { width.saturating_sub(columns(cell)) } else { 0 };
        canvas.put_in(x + blank, y, width - blank, cell, ink);
        x += width + GAP;
    }
    if let What::Unseen(unseen) = &line.what {
        let before: u16 = widths.iter().take(1).filter(|w| **w > 0).map(|w| w + GAP).sum();
        let room: u16 = widths.iter().take(4).skip(1).filter(|w| **w > 0).map(|w| w + GAP).sum();
        canvas.put_in(before, y, room.saturating_sub(GAP), &unseen.what, ink);
    }
}

/// What is said of a holder that is not idle.
const NO: &str = "no";

fn of_holder(holding: &Holding, branch: &str) -> [String; 10] {
    let unknown = || UNKNOWN.to_owned();
    let percent = |percent: f64| format!("{percent:.0} %");
    [
        holding.card.clone(),
        holding.user.clone(),
        holding.key.pid.to_string(),
        format!("{branch}{}", holding.program),
        memory_or_unknown(holding.memory),
        holding.sm.map_or_else(unknown, percent),
        known(holding.cpu, |cpu| percent(cpu.0)),
        known(holding.ram, |ram| memory(ram.0)),
        holding.runs_seconds.map_or_else(unknown, duration),
        idle(holding),
    ]
}

/// Somebody of whom next to nothing is known. Idle or not is what the card is.
fn of_unseen(unseen: &Unseen) -> [String; 10] {
    let mut cells: [String; 10] = std::array::from_fn(|_| UNKNOWN.to_owned());
    let [card, user, pid, program, memory, .., idle] = &mut cells;
    card.clone_from(&unseen.card);
    // Said over all of them.
    [user, pid, program].into_iter().for_each(String::clear);
    *memory = memory_or_unknown(unseen.memory);
    *idle = match unseen.state {
        CardState::IdleHeld => match unseen.idle.idle_seconds {
            Some(seconds) => format_idle(unseen.idle, seconds),
            None => "now".to_owned(),
        },
        CardState::Active | CardState::TrulyIdle => NO.to_owned(),
        CardState::Unknown(_) => UNKNOWN.to_owned(),
    };
    cells
}

fn known<T>(reading: Reading<T>, show: impl FnOnce(T) -> String) -> String {
    reading.known().map_or_else(|| UNKNOWN.to_owned(), show)
}

/// Formats for how long it has been idle.
fn idle(holding: &Holding) -> String {
    let not_idle = match holding.state {
        CardState::Unknown(_) => UNKNOWN,
        CardState::Active | CardState::IdleHeld | CardState::TrulyIdle => NO,
    };
    holding.format_idle().unwrap_or_else(|| not_idle.to_owned())
}

fn of_parent(kin: &Kin, branch: &str) -> [String; 10] {
    let mut cells: [String; 10] = Default::default();
    let [_, user, pid, program, ..] = &mut cells;
    *user = kin.user.clone().unwrap_or_default();
    *pid = kin.pid.to_string();
    *program = format!("{branch}{}", kin.program);
    cells
}
