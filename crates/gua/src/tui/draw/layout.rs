//! Which part of the screen is whose.

use crate::tui::state::State;

/// Rows of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rows {
    pub y: u16,
    pub height: u16,
}

/// The screen from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Where the driver's trouble is told, when it has some.
    pub error: Option<u16>,
    pub cards_title: Option<u16>,
    pub cards: Rows,
    /// Rows of one card.
    pub card_height: u16,
    pub cards_seen: usize,
    pub holders_title: Option<u16>,
    pub holders: Rows,
    pub footer: Option<u16>,
}

/// A card in several rows needs room beside its figures for the graphs.
const WIDE: u16 = 76;
const TALLEST: u16 = 6;
/// A card has three rows of figures, or one.
const TALL: u16 = 3;
/// Holders that are seen rather than taller cards.
const HOLDERS_FIRST: usize = 10;

impl Layout {
    #[must_use]
    pub fn of(state: &State, width: u16, height: u16) -> Self {
        let has_error =
            state.look.as_ref().is_some_and(|look| look.now.host.driver_error.is_some())
                && height > 1;
        let footer = height.checked_sub(1).filter(|_| height >= 3);
        let top = 1 + u16::from(has_error);
        let body = height.saturating_sub(top + u16::from(footer.is_some()));
        let cards = state.card_count();
        let (card_height, has_title) = card_height(cards, state.lines.len(), width, body);
        let title = u16::from(has_title);
        let holders_least = holders_least(state.lines.len(), body);
        let room = body.saturating_sub(title + holders_least) / card_height;
        let cards_seen = cards.min(usize::from(room));
        // Without cards one row says so.
        let blocks =
            if cards == 0 { room.min(1) } else { u16::try_from(cards_seen).unwrap_or(room) };
        let cards_rows = blocks * card_height;
        let below = top + title + cards_rows;
        let left = body.saturating_sub(title + cards_rows);
        Self {
            error: has_error.then_some(1),
            cards_title: has_title.then_some(top),
            cards: Rows { y: top + title, height: cards_rows },
            card_height,
            cards_seen,
            holders_title: (left > 0).then_some(below),
            holders: Rows { y: below.saturating_add(1), height: left.saturating_sub(1) },
            footer,
        }
    }

    #[must_use]
    pub const fn is_tall(&self) -> bool {
        self.card_height >= TALL
    }
}

/// As tall as leaves room for the first holders; and whether there is a title.
fn card_height(cards: usize, holders: usize, width: u16, body: u16) -> (u16, bool) {
    let fits = |height: u16| {
        let needed =
            cards.saturating_mul(usize::from(height)) + 2 + holders.clamp(1, HOLDERS_FIRST);
        needed <= usize::from(body)
    };
    let may_be_tall = width >= WIDE && cards > 0;
    let tall = (TALL..=TALLEST).rev().find(|height| may_be_tall && fits(*height));
    (tall.unwrap_or(1), body >= 9)
}

/// Where not everything fits, holders get two fifths of the rows, with their title.
fn holders_least(holders: usize, body: u16) -> u16 {
    let wanted = u16::try_from(holders.max(1)).unwrap_or(u16::MAX).saturating_add(1);
    wanted.min((body / 5).saturating_mul(2).max(u16::from(body > 1)))
}
