//! The state on a screen of any size.
//!
//! # Layout
//!
//! | module | what it draws |
//! |---|---|
//! | `layout` | nothing: which part of the screen is whose |
//! | `header`, `cards`, `holders`, `footer` | the screen from above |
//! | `popup` | a box over it, for `details`, `help` and `question` |
//! | `figures` | nothing: a card's figures in few characters |
//! | `bar`, `graph` | shares, and values over time |
//! | `canvas`, `columns`, `theme` | what they are drawn with |

mod bar;
mod canvas;
mod cards;
mod columns;
mod details;
mod figures;
mod footer;
mod graph;
mod header;
mod help;
mod holders;
mod layout;
mod popup;
mod question;
mod theme;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

#[cfg(test)]
pub use self::canvas::columns;
pub use self::theme::Theme;

use self::canvas::Canvas;
use self::layout::Layout;
use super::state::{Mode, Scroll, State};

/// Draws a frame. The state is told how much of its lists and texts is seen.
pub fn draw(state: &mut State, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let layout = Layout::of(state, area.width, area.height);
    state.cards.fit(layout.cards_seen, state.card_count());
    state.holders.fit(usize::from(layout.holders.height), state.lines.len());
    let mut canvas = Canvas { buffer, area, theme };
    header::draw(&mut canvas, state, layout.error);
    cards::draw(&mut canvas, state, &layout);
    holders::draw(&mut canvas, state, &layout);
    footer::draw(&mut canvas, state, layout.footer);
    let text = match &state.mode {
        Mode::List | Mode::Filter { .. } => None,
        Mode::Details { of, .. } => Some(details::text(state, of)),
        Mode::Help { .. } => Some(help::text(&state.settings.thresholds)),
        Mode::Signal { target, choice, is_asked } => {
            Some(question::text(target, *choice, *is_asked))
        }
    };
    if let Some(text) = text {
        let mut unmoved = Scroll::default();
        let scroll = match &mut state.mode {
            Mode::Details { scroll, .. } | Mode::Help { scroll } => scroll,
            Mode::List | Mode::Filter { .. } | Mode::Signal { .. } => &mut unmoved,
        };
        popup::draw(&mut canvas, &text, scroll);
    }
    if theme.is_ascii {
        make_plain(area, buffer);
    }
}

/// Names may hold anything, and some of our own marks are none of the plain ones either.
fn make_plain(area: Rect, buffer: &mut Buffer) {
    for position in area.positions() {
        if let Some(cell) = buffer.cell_mut(position)
            && !cell.symbol().is_ascii()
        {
            let plain = match cell.symbol() {
                "…" => "~",
                "–" | "─" => "-",
                "°" => " ",
                "│" | "├" => "|",
                "└" => "`",
                "┌" | "┐" | "┘" => "+",
                "≥" => ">",
                "▼" | "↓" => "v",
                "▲" | "↑" => "^",
                "→" => ">",
                "←" => "<",
                "▒" => "%",
                _ => "?",
            };
            cell.set_symbol(plain);
        }
    }
}
