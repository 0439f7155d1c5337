//! Since when a holder holds its card without working on it.

use std::collections::HashMap;

use probe::Why;
use probe::units::UnixMillis;

use super::look::{HolderKey, Look};
use crate::classify::{Holds, State, Thresholds};
use crate::ledger::Period;

/// A doubt of up to this long does not end a stretch: a look that failed, or a recorder that
/// was started again.
pub const BRIDGE_MILLIS: i64 = 120_000;

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

/// What the states in order of time say of how long the last idle stretch is; a doubt of up
/// to `bridge` does not end it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Folded {
    stretch: Option<Stretch>,
    other_until: Option<UnixMillis>,
}

impl Folded {
    pub fn add(&mut self, period: Period, state: State, bridge: i64) {
        let is_near = |end: UnixMillis| period.from.0.saturating_sub(end.0) <= bridge;
        match state {
            State::IdleHeld => match &mut self.stretch {
                Some(stretch) if is_near(stretch.last) => stretch.last = period.to,
                _ => {
                    let is_whole = self.other_until.is_some_and(is_near);
                    self.stretch = Some(Stretch { from: period.from, is_whole, last: period.to });
                }
            },
            State::Active | State::TrulyIdle => {
                *self = Self { stretch: None, other_until: Some(period.to) };
            }
            State::Unknown(_) => {}
        }
    }

    /// The stretch that goes on where the states end. A process that began then was idle all
    /// its life.
    #[must_use]
    pub fn stretch(self, started: Option<UnixMillis>) -> Option<Stretch> {
        let mut stretch = self.stretch?;
        let was_born = |at: UnixMillis| stretch.from.0.saturating_sub(at.0) <= BRIDGE_MILLIS;
        stretch.is_whole |= started.is_some_and(was_born);
        Some(stretch)
    }
}

/// What is known of all holders' idleness, from what was seen and from what was recorded.
#[derive(Debug, Default)]
pub struct Idleness {
    folded: HashMap<HolderKey, Folded>,
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

    pub fn see(&mut self, look: &Look, thresholds: &Thresholds) {
        let at = look.at();
        let from = self.previous.unwrap_or(at);
        let mut seen = HashMap::new();
        self.doubts.clear();
        for (card, holder) in look.holders() {
            let key = look.key(card, holder);
            let memory = match holder.memory_bytes {
                Some(bytes) => probe::Reading::Known(probe::units::Bytes(bytes)),
                None => probe::Reading::Unknown(Why::NotTold),
            };
            let state = Holds::of(memory, thresholds).state(card.state);
            if let State::Unknown(why) = state {
                self.doubts.insert(key.clone(), why);
            }
            let mut folded = self.folded.remove(&key).unwrap_or_default();
            folded.add(Period::new(from.min(at), at), state, BRIDGE_MILLIS);
            seen.insert(key, folded);
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
        let stretch = self.folded.get(key).and_then(|folded| folded.stretch(started));
        stretch.map_or(Idle::No, |stretch| Idle::Since(self.with_the_past(key, stretch)))
    }

    /// What was seen since the start may go on with what was recorded before.
    fn with_the_past(&self, key: &HolderKey, seen: Stretch) -> Stretch {
        let bridge = self.bridge.max(BRIDGE_MILLIS);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(spans: &[(i64, i64, State)]) -> Folded {
        let mut folded = Folded::default();
        for (from, to, state) in spans {
            let period = Period::new(UnixMillis(from * 1000), UnixMillis(to * 1000));
            folded.add(period, *state, BRIDGE_MILLIS);
        }
        folded
    }

    fn stretch(from: i64, is_whole: bool, last: i64) -> Option<Stretch> {
        let at = |second: i64| UnixMillis(second * 1000);
        Some(Stretch { from: at(from), is_whole, last: at(last) })
    }

    const IDLE: State = State::IdleHeld;

    #[test]
    fn work_begins_it_anew_and_tells_when() {
        let spans = [(0, 50, IDLE), (50, 60, State::Active), (60, 90, IDLE), (90, 120, IDLE)];
        assert_eq!(folded(&spans).stretch(None), stretch(60, true, 120));
        assert_eq!(folded(&spans[..2]).stretch(None), None);
    }

    #[test]
    fn what_was_idle_when_first_seen_may_have_been_so_for_longer() {
        let seen = folded(&[(100, 200, IDLE)]);
        assert_eq!(seen.stretch(None), stretch(100, false, 200));
        assert_eq!(seen.stretch(Some(UnixMillis(90_000))), stretch(100, true, 200));
        assert_eq!(seen.stretch(Some(UnixMillis(-90_000))), stretch(100, false, 200));
    }

    #[test]
    fn a_short_doubt_is_bridged_and_a_long_one_is_not() {
        let lost = State::Unknown(Why::TimedOut);
        let short = folded(&[(0, 100, IDLE), (100, 200, lost), (200, 300, IDLE)]);
        assert_eq!(short.stretch(None), stretch(0, false, 300));
        let long = folded(&[(0, 100, IDLE), (100, 300, lost), (300, 400, IDLE)]);
        assert_eq!(long.stretch(None), stretch(300, false, 400));
    }
}
