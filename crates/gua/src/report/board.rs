//! What a page shows: a window of time, and beside it every card as it is now.

use jiff::Timestamp;

use super::bands::Bands;
use super::now::{Card, Now};
use super::usage::Usage;
use super::who::{Held, Unseen, Who};
use crate::classify::State;

/// Everything that is on a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub usage: Usage,
    /// `None` where nothing tells what each card did when.
    pub bands: Option<Bands>,
    /// `None` where the page is not about now, or about one person only.
    pub board: Option<Board>,
}

impl From<Usage> for Page {
    /// A window alone.
    fn from(usage: Usage) -> Self {
        Self { usage, bands: None, board: None }
    }
}

/// Every card at the newest tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    pub at: Timestamp,
    /// Whether the record reaches up to now.
    pub is_live: bool,
    pub tiles: Vec<Tile>,
}

/// One card, with everybody who holds it, longest idle first.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    pub card: Card,
    pub holders: Vec<Held>,
    /// Somebody who is not listed.
    pub unseen: Option<Unseen>,
}

impl Board {
    /// From what a look would have told, and since when who is idle.
    #[must_use]
    pub fn new(now: Now, who: Who, is_live: bool) -> Self {
        let Who { mut holders, mut unseen, .. } = who;
        let tile = |card: Card| {
            let of_card = holders.extract_if(.., |held| held.card == card.identity).collect();
            let unseen = unseen.extract_if(.., |it| it.card == card.identity).next();
            Tile { card, holders: of_card, unseen }
        };
        Self { at: now.time, is_live, tiles: now.cards.into_iter().map(tile).collect() }
    }

    /// How many cards are in each state: active, idle-held, free, unknown.
    #[must_use]
    pub fn counts(&self) -> [usize; 4] {
        let count =
            |is: fn(State) -> bool| self.tiles.iter().filter(|tile| is(tile.card.state)).count();
        [
            count(|state| state == State::Active),
            count(|state| state == State::IdleHeld),
            count(|state| state == State::TrulyIdle),
            count(|state| matches!(state, State::Unknown(_))),
        ]
    }
}

impl Tile {
    /// Who has held it idle the longest, on a card that is idle-held.
    #[must_use]
    pub fn longest_idle(&self) -> Option<&Held> {
        let is_held = self.card.state == State::IdleHeld;
        let known = self.holders.iter().filter(|held| held.idle.is_known() && is_held);
        // Of those who are idle as long, the first: who can be named.
        known.rev().max_by(|a, b| {
            a.idle.idle_seconds.unwrap_or(0.0).total_cmp(&b.idle.idle_seconds.unwrap_or(0.0))
        })
    }
}
