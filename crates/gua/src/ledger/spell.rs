//! How long a card is held without work on it, across doubts.

use probe::units::UnixMillis;

use super::period::Period;
use super::split::Share;
use crate::classify::{Kib, State};

/// A doubt of up to this long does not end a spell: a look that failed, or a recorder that
/// was started again.
const BRIDGE_MILLIS: i64 = 120_000;

/// How long a doubt may be that does not end a spell, in milliseconds: where ticks are far
/// apart, half a tick more than that.
#[must_use]
pub const fn bridge(interval_millis: i64) -> i64 {
    let ticks = interval_millis.saturating_add(interval_millis / 2);
    if ticks > BRIDGE_MILLIS { ticks } else { BRIDGE_MILLIS }
}

/// A time in which something was held idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spell {
    pub from: UnixMillis,
    pub beginning: Beginning,
    /// When it was last seen to be so.
    pub to: UnixMillis,
    /// Of this time, what was seen.
    pub idle_millis: i64,
    /// Of that, the time in which others worked on the card.
    pub busy_millis: i64,
    /// Of it, what is known only of the card.
    pub as_the_card_millis: i64,
    /// Its share of the time in which the card was idle-held, where that was asked for.
    pub share: Share,
    /// The most that was held; `None` where that was never told.
    pub peak: Option<Kib>,
}

/// What is known of the time before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// It was not so then.
    Seen,
    /// Nobody recorded then, or it could not be read: it may have been so for longer.
    Unseen,
}

/// What a piece of time says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    Idle,
    /// It worked, or held next to nothing.
    Other,
    /// Nobody can tell.
    Doubt,
}

impl Says {
    #[must_use]
    pub const fn of(state: State) -> Self {
        match state {
            State::IdleHeld => Self::Idle,
            State::Active | State::TrulyIdle => Self::Other,
            State::Unknown(_) => Self::Doubt,
        }
    }

    /// What a holder does on a card in this state. Who is on a card that is held idle holds it
    /// too, unless they work; how much does not matter here.
    #[must_use]
    pub const fn of_holder(state: State, card: State) -> Self {
        match (state, card) {
            (State::TrulyIdle | State::Unknown(_), State::IdleHeld) => Self::Idle,
            _ => Self::of(state),
        }
    }
}

/// A piece of somebody's time.
#[derive(Debug, Clone, Copy)]
pub struct Passage {
    pub period: Period,
    pub counts: i64,
    pub says: Says,
    pub memory: Option<Kib>,
    pub is_busy: bool,
    /// Whether it is what the card did, and not known of themselves.
    pub is_as_the_card: bool,
    /// Of the card's idle-held time.
    pub share: Share,
    /// Up to when their card had been seen before, with or without them.
    pub seen_until: Option<UnixMillis>,
}

/// What pieces in order of time say of the last idle spell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fold {
    spell: Option<Spell>,
    other_until: Option<UnixMillis>,
    doubt_until: Option<UnixMillis>,
}

impl Fold {
    /// Adds a piece; gives the spell that it ends.
    pub fn add(&mut self, passage: &Passage, bridge: i64) -> Option<Spell> {
        let Passage { period, says, .. } = *passage;
        match says {
            Says::Idle => self.idle(passage, bridge),
            Says::Other => {
                self.other_until = Some(period.to);
                self.spell.take()
            }
            Says::Doubt => {
                self.doubt_until = Some(period.to);
                None
            }
        }
    }

    fn idle(&mut self, passage: &Passage, bridge: i64) -> Option<Spell> {
        let Passage { period, seen_until, .. } = *passage;
        let is_near = |end: UnixMillis| period.from.0.saturating_sub(end.0) <= bridge;
        if let Some(spell) = self.spell.as_mut().filter(|spell| is_near(spell.to)) {
            spell.go_on(&Spell::begin(passage, Beginning::Seen));
            return None;
        }
        let was_other = self.other_until.is_some_and(is_near);
        let was_not_here =
            seen_until.is_some_and(is_near) && !self.doubt_until.is_some_and(is_near);
        let is_seen = was_other || was_not_here;
        let beginning = if is_seen { Beginning::Seen } else { Beginning::Unseen };
        self.spell.replace(Spell::begin(passage, beginning))
    }

    /// The spell that goes on where the pieces end.
    #[must_use]
    pub const fn spell(&self) -> Option<Spell> {
        self.spell
    }

    /// Puts what came before in front of a spell that begins where these pieces end.
    /// `seen_until` is up to when the card was seen then.
    #[must_use]
    pub fn before(&self, later: Spell, seen_until: Option<UnixMillis>, bridge: i64) -> Spell {
        let is_near = |end: UnixMillis| later.from.0.saturating_sub(end.0) <= bridge;
        if let Some(mut earlier) = self.spell.filter(|earlier| is_near(earlier.to)) {
            earlier.go_on(&later);
            return earlier;
        }
        let was_in_doubt = self.doubt_until.is_some_and(is_near);
        let was_seen = self.other_until.into_iter().chain(seen_until).any(is_near);
        match was_seen && !was_in_doubt {
            true => Spell { beginning: Beginning::Seen, ..later },
            false => later,
        }
    }
}

impl Spell {
    #[inline]
    const fn begin(passage: &Passage, beginning: Beginning) -> Self {
        let Passage { period, counts, memory, is_busy, is_as_the_card, share, .. } = *passage;
        Self {
            from: period.from,
            beginning,
            to: period.to,
            idle_millis: counts,
            busy_millis: if is_busy { counts } else { 0 },
            as_the_card_millis: if is_as_the_card { counts } else { 0 },
            share,
            peak: memory,
        }
    }

    /// Goes on with what came right after it.
    fn go_on(&mut self, later: &Self) {
        self.to = later.to;
        self.idle_millis = self.idle_millis.saturating_add(later.idle_millis);
        self.busy_millis = self.busy_millis.saturating_add(later.busy_millis);
        self.as_the_card_millis = self.as_the_card_millis.saturating_add(later.as_the_card_millis);
        self.share.add(later.share);
        self.peak = self.peak.max(later.peak);
    }

    /// Whether more than this was held, as far as is known.
    #[must_use]
    pub fn held_more_than(&self, line: Kib) -> bool {
        self.peak.is_none_or(|peak| peak > line)
    }

    /// Whether it may go back to before a moment from which on everything is known of it.
    #[must_use]
    pub fn may_begin_before(&self, moment: UnixMillis, bridge: i64) -> bool {
        self.beginning == Beginning::Unseen && self.from.0.saturating_sub(moment.0) <= bridge
    }

    /// One that began when its process did was so all its life.
    #[must_use]
    pub fn of_process(mut self, started: Option<UnixMillis>) -> Self {
        let is_born = |at: UnixMillis| self.from.0.saturating_sub(at.0) <= BRIDGE_MILLIS;
        if started.is_some_and(is_born) {
            self.beginning = Beginning::Seen;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BRIDGE: i64 = 120;
    use Says::{Doubt, Idle, Other};

    fn passage((from, to, says): (i64, i64, Says)) -> Passage {
        let period = Period::new(UnixMillis(from), UnixMillis(to));
        Passage {
            period,
            counts: to - from,
            says,
            memory: Some(Kib(from.unsigned_abs())),
            is_busy: false,
            is_as_the_card: false,
            share: Share::NONE,
            seen_until: None,
        }
    }

    /// What goes on at the end, and what ended before.
    fn fold(pieces: &[(i64, i64, Says)]) -> (Fold, Vec<Spell>) {
        let mut fold = Fold::default();
        let ended = pieces.iter().filter_map(|piece| fold.add(&passage(*piece), BRIDGE));
        let ended = ended.collect();
        (fold, ended)
    }

    fn told(spell: Option<Spell>) -> Option<(i64, i64, i64, Beginning)> {
        spell.map(|it| (it.from.0, it.to.0, it.idle_millis, it.beginning))
    }

    #[test]
    fn work_ends_it_and_tells_when_the_next_began() {
        let pieces = [(0, 50, Idle), (50, 60, Other), (60, 90, Idle), (90, 120, Idle)];
        let (fold, ended) = fold(&pieces);
        assert_eq!(told(fold.spell()), Some((60, 120, 60, Beginning::Seen)));
        assert_eq!(ended.len(), 1);
        assert_eq!(told(Some(ended[0])), Some((0, 50, 50, Beginning::Unseen)));
    }

    #[test]
    fn a_short_doubt_is_bridged_and_a_long_one_is_not() {
        let short = fold(&[(0, 100, Idle), (100, 200, Doubt), (200, 300, Idle)]);
        assert_eq!(told(short.0.spell()), Some((0, 300, 200, Beginning::Unseen)));
        let (long, ended) = fold(&[(0, 100, Idle), (100, 300, Doubt), (300, 400, Idle)]);
        assert_eq!(told(long.spell()), Some((300, 400, 100, Beginning::Unseen)));
        assert_eq!(ended.len(), 1);
        let gap = fold(&[(0, 100, Idle), (221, 400, Idle)]);
        assert_eq!(told(gap.0.spell()), Some((221, 400, 179, Beginning::Unseen)));
    }

    #[test]
    fn who_was_not_on_a_card_that_was_seen_has_just_begun() {
        let mut first = passage((500, 600, Idle));
        first.seen_until = Some(UnixMillis(500));
        let mut fold = Fold::default();
        fold.add(&first, BRIDGE);
        assert_eq!(told(fold.spell()), Some((500, 600, 100, Beginning::Seen)));
        let started = |at| {
            let (fold, _) = self::fold(&[(500_000, 600_000, Idle)]);
            fold.spell().unwrap().of_process(Some(UnixMillis(at))).beginning
        };
        assert_eq!([started(400_000), started(300_000)], [Beginning::Seen, Beginning::Unseen]);
    }

    fn pieces() -> impl Strategy<Value = Vec<(i64, i64, Says)>> {
        let says = prop_oneof![3 => Just(Idle), 1 => Just(Other), 1 => Just(Doubt)];
        let one = (prop_oneof![3 => Just(0_i64), 1 => 1_i64..300], 1_i64..300, says);
        proptest::collection::vec(one, 1..30).prop_map(|steps| {
            let mut at = 0;
            let piece = |(gap, length, says): (i64, i64, Says)| {
                let from = at + gap;
                at = from + length;
                (from, at, says)
            };
            steps.into_iter().map(piece).collect()
        })
    }

    proptest! {
        /// The law: read in two parts from the end, a spell of the second is the same.
        #[test]
        fn what_came_before_is_put_in_front(pieces in pieces(), cut in 0_usize..30) {
            let (earlier, later) = pieces.split_at(cut.min(pieces.len() - 1));
            let all = fold(&pieces).0.spell();
            let (last, _) = fold(later);
            let Some(spell) = last.spell() else { return Ok(()) };
            let joined = match spell.may_begin_before(UnixMillis(later[0].0), BRIDGE) {
                true => fold(earlier).0.before(spell, None, BRIDGE),
                false => spell,
            };
            // A doubt at the cut is known to either part only.
            let told = |it: Spell| (it.from, it.to, it.idle_millis, it.peak);
            prop_assert_eq!(Some(told(joined)), all.map(told));
        }
    }
}
