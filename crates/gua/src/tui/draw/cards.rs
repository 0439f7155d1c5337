//! The cards: one row each, or several where there is room for taller graphs.

use gua_core::State as CardState;
use gua_core::snapshot::CardNow;

use super::bar::{Shares, bar};
use super::canvas::{Canvas, columns};
use super::columns::{GAP, Want, fit};
use super::layout::Layout;
use super::theme::{Ink, ink};
use super::{figures, graph};
use crate::render::stat;
use crate::render::words::duration;
use crate::tui::look::CardKey;
use crate::tui::series::Figure;
use crate::tui::state::{Focus, State};

const WORK: Figure = |point| point.work;
const MEMORY: Figure = |point| point.memory;
/// A mark, a blank and the longest word.
const STATE: u16 = 11;

pub fn draw(canvas: &mut Canvas<'_>, state: &State, layout: &Layout) {
    let Some(look) = &state.look else { return };
    let cards = &look.now.cards;
    if cards.is_empty() {
        let y = layout.cards.y;
        canvas.put(0, y, nothing(look.now.host.driver_error.is_some()), Ink::Quiet);
        return;
    }
    let sizes = Sizes::of(cards, canvas.width(), layout);
    if let Some(y) = layout.cards_title {
        title(canvas, state, &sizes, y, layout.cards_seen);
    }
    let seen = cards.iter().enumerate().skip(state.cards.top).take(layout.cards_seen);
    for ((place, card), row) in seen.zip(0_u16..) {
        let y = layout.cards.y + row * layout.card_height;
        let width = canvas.width();
        let mut part = canvas.part(0, y, width, layout.card_height);
        let chosen = state.focus == Focus::Cards && place == state.cards.at;
        match &sizes {
            Sizes::Row(widths) => in_a_row(&mut part, state, card, widths),
            Sizes::Block(block) => in_a_block(&mut part, state, card, *block),
        }
        if chosen {
            part.paint_row(0, Ink::Chosen);
        }
    }
}

const fn nothing(is_driver_away: bool) -> &'static str {
    if is_driver_away { "" } else { "the driver counts no cards on this host" }
}

/// How wide what is.
enum Sizes {
    Row(Vec<u16>),
    Block(Block),
}

/// Where the parts of a card in several rows are.
#[derive(Debug, Clone, Copy)]
struct Block {
    index: u16,
    temperature: u16,
    power: u16,
    figures: u16,
    work: u16,
    memory: u16,
}

impl Sizes {
    fn of(cards: &[CardNow], width: u16, layout: &Layout) -> Self {
        let index = widest(cards, index);
        let power = widest(cards, figures::power);
        // As wide as its name, where there is any.
        let power = if power == 0 { 0 } else { power.max(columns("power")) };
        let temperature = widest(cards, figures::temperature);
        if layout.is_tall() {
            let figures = (width * 2 / 5).clamp(46, 72);
            let graphs = width.saturating_sub(figures + 2 * GAP);
            let memory = graphs * 2 / 5;
            let work = graphs - memory;
            return Self::Block(Block { index, temperature, power, figures, work, memory });
        }
        let memory = widest(cards, figures::memory);
        let wants = [
            (index, index, 20),
            (14, widest(cards, figures::name).max(14), 2),
            (STATE, STATE, 19),
            (6, 24, 5),
            (6, 6, 18),
            (6, 24, 4),
            (memory, memory, 17),
            (power, power, 8),
            (temperature, temperature, 9),
            (5, 100, 10),
            (5, 100, 1),
        ];
        let wants = wants.map(|(least, most, rank)| Want { least, most, rank });
        Self::Row(fit(&wants, width))
    }
}

fn widest(cards: &[CardNow], text: impl Fn(&CardNow) -> String) -> u16 {
    cards.iter().map(|card| columns(&text(card))).max().unwrap_or(0)
}

fn index(card: &CardNow) -> String {
    card.card.label()
}

fn title(canvas: &mut Canvas<'_>, state: &State, sizes: &Sizes, y: u16, seen: usize) {
    canvas.paint_row(y, Ink::Title);
    match sizes {
        Sizes::Block(block) => title_blocks(canvas, *block, y, &span(state)),
        Sizes::Row(widths) => title_rows(canvas, widths, y, &span(state)),
    }
    let (first, count) = (state.cards.top + 1, state.card_count());
    if seen < count {
        let range = format!(" {first}–{} of {count}", state.cards.top + seen);
        canvas.put_right(canvas.width(), y, &range, Ink::Title);
    }
}

fn title_blocks(canvas: &mut Canvas<'_>, block: Block, y: u16, span: &str) {
    let x = block.figures + GAP;
    canvas.put_in(0, y, block.figures, "cards", Ink::Title);
    canvas.put_in(x, y, block.work, &graph_title(span, block.work), Ink::Title);
    canvas.put_in(x + block.work + GAP, y, block.memory, "memory", Ink::Title);
}

fn title_rows(canvas: &mut Canvas<'_>, widths: &[u16], y: u16, span: &str) {
    let names = ["", "", "state", "utilization", "", "memory", "", "power", "temp", "", "memory"];
    let mut x = 0;
    for (place, width) in widths.iter().enumerate().filter(|(_, width)| **width > 0) {
        let text = match place {
            9 => graph_title(span, *width),
            place => names.get(place).copied().unwrap_or("").to_owned(),
        };
        // A bar's name goes on over its figure.
        let next = widths.get(place + 1).map_or(0, |next| next + GAP);
        let room = if matches!(place, 3 | 5) { width + next } else { *width };
        canvas.put_in(x, y, room, &text, Ink::Title);
        x += width + GAP;
    }
}

/// As much of it as fits.
fn graph_title(span: &str, width: u16) -> String {
    let whole = [format!("utilization, last {span}"), format!("last {span}")];
    whole.into_iter().find(|text| columns(text) <= width).unwrap_or_else(|| span.to_owned())
}

#[expect(clippy::cast_precision_loss, reason = "an hour at most")]
fn span(state: &State) -> String {
    duration(state.span_millis() as f64 / 1000.0).replace("h00m", " h").replace('m', " min")
}

fn in_a_row(canvas: &mut Canvas<'_>, state: &State, card: &CardNow, widths: &[u16]) {
    let mut x = 0;
    let is_dark = stat::is_dark(card);
    for (place, width) in widths.iter().copied().enumerate().filter(|(_, width)| *width > 0) {
        match place {
            0 => drop(canvas.put_right(x + width, 0, &index(card), Ink::Strong)),
            1 => put_name(canvas, (x, width), card),
            2 => put_state(canvas, x, 0, card),
            // One remark says that it tells nothing, not a question mark in each column.
            3..=8 if is_dark => {}
            3 => put_bar(canvas, (x, 0, width), figures::work_share(card), ink(card.state)),
            4 => drop(canvas.put_right(x + width, 0, &figures::work(card), Ink::Plain)),
            5 => put_bar(canvas, (x, 0, width), figures::memory_shares(card), Ink::Other),
            6 => drop(canvas.put_right(x + width, 0, &figures::memory(card), Ink::Plain)),
            7 => drop(canvas.put_right(x + width, 0, &figures::power(card), Ink::Plain)),
            8 => drop(canvas.put_right(x + width, 0, &figures::temperature(card), Ink::Plain)),
            9 => put_graph(canvas, (x, width), state, card, WORK, Ink::Good),
            _ => put_graph(canvas, (x, width), state, card, MEMORY, Ink::Other),
        }
        x += width + GAP;
    }
    if is_dark {
        let before: u16 = widths.iter().take(3).filter(|width| **width > 0).map(|w| w + GAP).sum();
        let room: u16 = widths.iter().take(9).skip(3).filter(|w| **w > 0).map(|w| w + GAP).sum();
        canvas.put_in(before, 0, room.saturating_sub(GAP), &trouble(card), Ink::Bad);
    }
}

/// Of a card that tells nothing: why.
fn trouble(card: &CardNow) -> String {
    match card.state {
        CardState::Unknown(reason) => reason.to_string(),
        _ => "it tells nothing".to_owned(),
    }
}

fn in_a_block(canvas: &mut Canvas<'_>, state: &State, card: &CardNow, block: Block) {
    let Block { index: indent, figures, work, memory, .. } = block;
    canvas.put_right(indent, 0, &index(card), Ink::Strong);
    let x = indent + GAP;
    let is_dark = stat::is_dark(card);
    let end = figures.saturating_sub(block.power + 2 * GAP);
    if !is_dark {
        canvas.put_right(figures, 0, &figures::power(card), Ink::Plain);
        canvas.put_right(end, 0, &figures::temperature(card), Ink::Plain);
    }
    let state_at = end.saturating_sub(block.temperature + 2 * GAP + STATE);
    put_name(canvas, (x, state_at.saturating_sub(x + GAP)), card);
    put_state(canvas, state_at, 0, card);
    if is_dark {
        canvas.put_in(x, 1, figures.saturating_sub(x), &trouble(card), Ink::Bad);
    } else {
        let rows = [
            ("util", figures::work_share(card), ink(card.state), figures::work(card)),
            ("mem", figures::memory_shares(card), Ink::Other, figures::memory(card)),
        ];
        for ((name, shares, ink, figure), y) in rows.into_iter().zip(1..) {
            canvas.put(x, y, name, Ink::Quiet);
            let end = canvas.put_right(figures, y, &format!("{figure:>15}"), Ink::Plain);
            let from = x + 5;
            put_bar(canvas, (from, y, end.saturating_sub(from + GAP)), shares, ink);
        }
        let remarks = stat::remarks(card, None).into_iter().zip(3..canvas.height());
        for (remark, y) in remarks {
            canvas.put_in(x, y, figures.saturating_sub(x), &remark, Ink::Quiet);
        }
    }
    let x = figures + GAP;
    put_graph(canvas, (x, work), state, card, WORK, Ink::Good);
    put_graph(canvas, (x + work + GAP, memory), state, card, MEMORY, Ink::Other);
}

/// Of an instance, which one it is matters more than what it is a part of.
fn put_name(canvas: &mut Canvas<'_>, (x, width): (u16, u16), card: &CardNow) {
    let name = figures::name(card);
    let is_cut = columns(&name) > width;
    let part = name.find("MIG ").filter(|_| is_cut).and_then(|place| name.get(place..));
    canvas.put_in(x, 0, width, part.unwrap_or(&name), Ink::Plain);
}

fn put_state(canvas: &mut Canvas<'_>, x: u16, y: u16, card: &CardNow) {
    let mark = canvas.theme.mark(card.state);
    canvas.put(x, y, &format!("{mark} {}", card.state.word()), ink(card.state));
}

fn put_bar(
    canvas: &mut Canvas<'_>,
    (x, y, width): (u16, u16, u16),
    shares: Option<Shares>,
    ink: Ink,
) {
    let (full, rest) = bar(shares, usize::from(width), canvas.theme.is_ascii);
    let x = canvas.put(x, y, &full, ink);
    canvas.put(x, y, &rest, Ink::Quiet);
}

/// As high as the part of the screen is.
fn put_graph(
    canvas: &mut Canvas<'_>,
    (x, width): (u16, u16),
    state: &State,
    card: &CardNow,
    figure: Figure,
    ink: Ink,
) {
    let Some(look) = &state.look else { return };
    let Some(series) = state.series.get(&CardKey::of(card)) else { return };
    let count = graph::values(usize::from(width), canvas.theme.is_ascii);
    let means = series.means(look.at().0, state.span_millis(), count, figure);
    let rows = graph::rows(&means, usize::from(canvas.height()), canvas.theme.is_ascii);
    for (row, y) in rows.iter().zip(0..) {
        canvas.put_in(x, y, width, row, ink);
    }
}
