//! Since when a holder holds its card without working on it.

use std::collections::HashMap;

use probe::Why;
use probe::units::UnixMillis;

use super::look::{HolderKey, Look};
use crate::classify::State;
use crate::ledger::{self, Beginning, Fold, Passage, Period, Says, Share, Spell};

/// Whether a holder is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// It works, or holds next to nothing.
    No,
    Since(Stretch),
    Unknown(Why),
}

impl Idle {
    /// How long by a moment.
    #[must_use]
    pub fn millis(self, now: UnixMillis) -> Option<i64> {
        match self {
            Self::Since(stretch) => Some(now.0.saturating_sub(stretch.from.0).max(0)),
            Self::No | Self::Unknown(_) => None,
        }
    }
}

/// A time in which a holder was idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub from: UnixMillis,
    /// Whether it began then. Otherwise that is since when it was seen, and it may have begun
    /// earlier.
    pub is_whole: bool,
    /// When it was last seen to be idle.
    pub last: UnixMillis,
}

impl From<Spell> for Stretch {
    fn from(spell: Spell) -> Self {
        let is_whole = spell.beginning == Beginning::Seen;
        Self { from: spell.from, is_whole, last: spell.to }
    }
}

/// What is known of all holders' idleness, from what was seen and from what was recorded.
#[derive(Debug, Default)]
pub struct Idleness {
    folded: HashMap<HolderKey, Fold>,
    doubts: HashMap<HolderKey, Why>,
    recorded: HashMap<HolderKey, Stretch>,
    bridge: i64,
    previous: Option<UnixMillis>,
}

impl Idleness {
    /// Takes over what was recorded before; a recorder that looks seldom leaves longer doubts.
    pub fn remember(&mut self, recorded: HashMap<HolderKey, Stretch>, bridge: i64) {
        self.recorded = recorded;
        self.bridge = bridge;
    }

    pub fn see(&mut self, look: &Look) {
        let at = look.at();
        let from = self.previous.unwrap_or(at);
        let mut seen = HashMap::new();
        self.doubts.clear();
        for (card, holder) in look.holders() {
            let key = look.key(card, holder);
            // As the record has it, so that both say the same.
            let says = Says::of_holder(holder.state, card.state);
            if let (Says::Doubt, State::Unknown(why)) = (says, holder.state) {
                self.doubts.insert(key.clone(), why);
            }
            let mut fold = self.folded.remove(&key).unwrap_or_default();
            let period = Period::new(from.min(at), at);
            fold.add(&passage(period, says, card.state), ledger::bridge(0));
            seen.insert(key, fold);
        }
        self.folded = seen;
        self.previous = Some(at);
    }

    /// Whether a holder is idle, and since when.
    #[must_use]
    pub fn of(&self, key: &HolderKey, started: Option<UnixMillis>) -> Idle {
        if let Some(why) = self.doubts.get(key) {
            return Idle::Unknown(*why);
        }
        let spell = self.folded.get(key).and_then(Fold::spell);
        spell.map_or(Idle::No, |spell| {
            let seen = Stretch::from(spell.of_process(started));
            Idle::Since(self.with_the_past(key, seen))
        })
    }

    /// What was seen since the start may go on with what was recorded before.
    fn with_the_past(&self, key: &HolderKey, seen: Stretch) -> Stretch {
        let bridge = self.bridge.max(ledger::bridge(0));
        let goes_on = |past: &&Stretch| {
            !seen.is_whole
                && seen.from.0.saturating_sub(past.last.0) <= bridge
                && past.from < seen.from
        };
        match self.recorded.get(key).filter(goes_on) {
            Some(past) => Stretch { from: past.from, is_whole: past.is_whole, last: seen.last },
            None => seen,
        }
    }
}

fn passage(period: Period, says: Says, card: State) -> Passage {
    Passage {
        period,
        counts: period.millis(),
        says,
        memory: None,
        is_busy: card == State::Active,
        is_as_the_card: false,
        share: Share::NONE,
        seen_until: None,
    }
}
