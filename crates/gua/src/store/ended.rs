//! Of all spells that ended, those that are wanted: a page shows a few of what may be hundreds of
//! thousands, and need not remember the others.

use probe::units::UnixMillis;

use super::folded::Subject;
use crate::classify::Kib;
use crate::ledger::Spell;

/// Which sessions are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Those that held more than this, as far as is known; `None`: all.
    pub more_than: Option<Kib>,
    /// Of those that ended at least so many of the longest, and of those with the largest shares;
    /// `None`: all.
    pub largest: Option<usize>,
}

impl Wanted {
    pub const ALL: Self = Self { more_than: None, largest: None };

    pub(super) fn is_of(self, spell: &Spell) -> bool {
        self.more_than.is_none_or(|line| spell.held_more_than(line))
    }
}

/// So many are remembered before the largest are looked for.
const ROOM: usize = 1024;
/// Shares that differ by less may be told as the same, and then others decide.
const ALIKE_MILLIS: i64 = 100;

/// Spells that ended.
#[derive(Debug)]
pub(super) struct Ended {
    wanted: Wanted,
    /// What began there may have begun before, and be longer.
    from: UnixMillis,
    bridge: i64,
    spells: Vec<(Subject, Spell)>,
    room: usize,
    left_out: usize,
}

impl Ended {
    pub const fn new(wanted: Wanted, from: UnixMillis, bridge: i64) -> Self {
        Self { wanted, from, bridge, spells: Vec::new(), room: ROOM, left_out: 0 }
    }

    pub fn add(&mut self, subject: Subject, spell: Spell) {
        if !self.wanted.is_of(&spell) && !self.may_be_larger(&spell) {
            return;
        }
        self.spells.push((subject, spell));
        if self.spells.len() >= self.room {
            self.leave_out();
            self.room = ROOM.max(self.spells.len() * 2);
        }
    }

    /// What is kept, and how many are not.
    pub fn finish(mut self) -> (Vec<(Subject, Spell)>, usize) {
        self.leave_out();
        (self.spells, self.left_out)
    }

    /// Forgets what is among the largest in no way. Those that are as large as the last of them
    /// stay, so that it does not matter when it is done.
    fn leave_out(&mut self) {
        let Some(count) = self.wanted.largest else { return };
        let spells = || self.spells.iter().map(|(_, it)| it).filter(|it| !self.may_be_larger(it));
        let longest = nth_largest(spells().map(|it| it.idle_millis), count);
        let share = nth_largest(spells().map(|it| it.share.millis()), count);
        let is_large = |it: &Spell| {
            it.idle_millis >= longest || it.share.millis() >= share.saturating_sub(ALIKE_MILLIS)
        };
        let (from, bridge, before) = (self.from, self.bridge, self.spells.len());
        self.spells.retain(|(_, it)| is_large(it) || it.may_begin_before(from, bridge));
        self.left_out += before - self.spells.len();
    }

    fn may_be_larger(&self, spell: &Spell) -> bool {
        spell.may_begin_before(self.from, self.bridge)
    }
}

/// The smallest there is where there are no more than `n`.
fn nth_largest(values: impl Iterator<Item = i64>, n: usize) -> i64 {
    let mut values: Vec<_> = values.collect();
    match n.checked_sub(1).filter(|last| *last < values.len()) {
        Some(last) => *values.select_nth_unstable_by(last, |a, b| b.cmp(a)).1,
        None if n == 0 => i64::MAX,
        None => i64::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Beginning, Share};
    use proptest::prelude::*;

    const LINE: Kib = Kib(10);
    const BEGIN: UnixMillis = UnixMillis(0);
    const BRIDGE: i64 = 10;

    fn spell((from, idle, share, peak): (i64, i64, i64, Option<u64>)) -> Spell {
        Spell {
            from: UnixMillis(from),
            // Of those at the beginning nobody knows for how long.
            beginning: if from < 5 { Beginning::Unseen } else { Beginning::Seen },
            to: UnixMillis(from + idle),
            idle_millis: idle,
            busy_millis: 0,
            as_the_card_millis: 0,
            share: Share::of_millis(share),
            peak: peak.map(Kib),
        }
    }

    fn kept(wanted: Wanted, spells: &[Spell]) -> (Vec<(Subject, Spell)>, usize) {
        let mut ended = Ended::new(wanted, BEGIN, BRIDGE);
        // Far less room than in earnest.
        ended.room = 4;
        for (holder, spell) in (0..).zip(spells) {
            ended.add(Subject::Holder(holder), *spell);
            ended.room = ended.room.min(4 + ended.spells.len());
        }
        ended.finish()
    }

    /// The largest by some measure; of equals those that came first.
    fn largest(all: &[(Subject, Spell)], by: fn(&Spell) -> i64, n: usize) -> Vec<(i64, i64)> {
        let mut all: Vec<_> = all.iter().map(|(_, it)| (-by(it), it.from.0)).collect();
        all.sort_unstable();
        all.truncate(n);
        all
    }

    fn spells() -> impl Strategy<Value = Vec<Spell>> {
        let peak = proptest::option::of(5_u64..20);
        let one = (0_i64..100, 1_i64..30, 0_i64..2000, peak).prop_map(spell);
        proptest::collection::vec(one, 0..60)
    }

    proptest! {
        /// The law: what a page shows is the same, whether all are kept or not.
        #[test]
        fn the_largest_stay_and_all_are_counted(spells in spells(), n in 0_usize..6) {
            let all = Wanted { more_than: Some(LINE), largest: None };
            let (all, none) = kept(all, &spells);
            let few = Wanted { more_than: Some(LINE), largest: Some(n) };
            let (few, left_out) = kept(few, &spells);
            prop_assert_eq!(none, 0);
            prop_assert_eq!(few.len() + left_out, all.len());
            for by in [|it: &Spell| it.idle_millis, |it: &Spell| it.share.millis()] {
                prop_assert_eq!(largest(&few, by, n), largest(&all, by, n));
            }
            let cut = |spells: &[(Subject, Spell)]| {
                spells.iter().filter(|(_, it)| it.may_begin_before(BEGIN, BRIDGE)).count()
            };
            prop_assert_eq!(cut(&few), cut(&all));
        }
    }
}
