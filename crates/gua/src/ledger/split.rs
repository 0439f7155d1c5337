//! A card's time split among those who hold it, by memory, to the last bit.
//!
//! Time is split in parts of a millisecond so small that what is rounded away over a year is
//! still less than one. What is left over of a part goes to the next in line, so that the shares
//! of a piece are exactly the piece; [`whole`] makes milliseconds of sums of shares in the same
//! way, so that these, too, add up to what was split.

use super::pieces::Held;
use crate::classify::Kib;

/// So many bits of a millisecond are told apart.
const BITS: u32 = 16;

/// A part of a time: millionths of a minute or so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Share(i64);

impl Share {
    pub const NONE: Self = Self(0);

    pub const fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// So many milliseconds.
    #[cfg(test)]
    #[must_use]
    pub const fn of_millis(millis: i64) -> Self {
        Self(millis << BITS)
    }

    /// Whole milliseconds of it.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0 >> BITS
    }
}

/// Whose share it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharer {
    /// By the place among the holders.
    Holder(usize),
    /// Nobody who is listed.
    Unseen,
}

/// What each holds of a card, as far as it is told.
#[derive(Debug, Default)]
pub struct Weights {
    holders: Vec<u64>,
    unseen: u64,
}

impl Weights {
    /// Takes the measure of those on a card. Who does not tell what they hold shares what nobody
    /// else accounts for; where nothing is told of anybody, all hold the same.
    pub fn take(&mut self, held: &[Held], unseen: Option<Kib>) {
        let untold = held.iter().filter(|held| held.memory.is_none()).count() as u64;
        let unseen = unseen.map_or(0, |kib| kib.0);
        let theirs = unseen.checked_div(untold).unwrap_or(0);
        self.unseen = if untold == 0 { unseen } else { 0 };
        self.holders.clear();
        self.holders.extend(held.iter().map(|held| held.memory.map_or(theirs, |kib| kib.0)));
        if self.unseen == 0 && self.holders.iter().all(|weight| *weight == 0) {
            self.holders.fill(1);
            self.unseen = u64::from(held.is_empty());
        }
    }

    /// Whether somebody who is not listed has a part in it.
    #[must_use]
    pub const fn have_unseen(&self) -> bool {
        self.unseen > 0
    }

    /// What a holder has, told or not.
    #[must_use]
    pub fn of(&self, place: usize) -> Kib {
        Kib(self.holders.get(place).copied().unwrap_or(0))
    }

    /// Splits a time among them.
    pub fn split(&self, millis: i64, mut each: impl FnMut(Sharer, Share)) {
        let holders = self.holders.iter().enumerate();
        let holders = holders.map(|(place, weight)| (Sharer::Holder(place), *weight));
        let all = holders.chain([(Sharer::Unseen, self.unseen)]);
        let sum: i128 = all.clone().map(|(_, weight)| i128::from(weight)).sum();
        let time = i128::from(millis) << BITS;
        let (mut before, mut up_to) = (0, 0);
        for (sharer, weight) in all.filter(|(_, weight)| *weight > 0) {
            up_to += i128::from(weight);
            // The last of them has the rest, as most are alone.
            let reached = if up_to == sum { time } else { time * up_to / sum.max(1) };
            each(sharer, Share(i64::try_from(reached - before).unwrap_or(i64::MAX)));
            before = reached;
        }
    }
}

/// Sums of shares as milliseconds, which add up to what was split.
#[must_use]
pub fn whole(shares: &[Share]) -> Vec<i64> {
    let mut up_to = 0_i128;
    let mut before = 0;
    let millis = |share: &Share| {
        up_to += i128::from(share.0);
        let reached = i64::try_from(up_to >> BITS).unwrap_or(i64::MAX);
        let millis = reached.saturating_sub(before);
        before = reached;
        millis
    };
    shares.iter().map(millis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::State;
    use proptest::prelude::*;

    fn held(memory: &[Option<u64>]) -> Vec<Held> {
        let one = |memory: &Option<u64>| Held {
            holder: 1,
            state: State::IdleHeld,
            is_as_the_card: false,
            memory: memory.map(Kib),
        };
        memory.iter().map(one).collect()
    }

    /// The milliseconds of each holder, and of nobody.
    fn shares(millis: i64, memory: &[Option<u64>], unseen: Option<u64>) -> Vec<i64> {
        let mut weights = Weights::default();
        weights.take(&held(memory), unseen.map(Kib));
        let mut shares = vec![Share::default(); memory.len() + 1];
        weights.split(millis, |sharer, share| match sharer {
            Sharer::Holder(place) => shares[place].add(share),
            Sharer::Unseen => shares[memory.len()].add(share),
        });
        whole(&shares)
    }

    #[test]
    fn who_holds_more_has_more() {
        assert_eq!(shares(900, &[Some(10), Some(20)], None), [300, 600, 0]);
        assert_eq!(shares(900, &[Some(10), Some(20)], Some(60)), [100, 200, 600]);
        assert_eq!(shares(900, &[], Some(5)), [900]);
    }

    #[test]
    fn who_does_not_tell_has_what_nobody_else_accounts_for() {
        assert_eq!(shares(900, &[Some(10), None, None], Some(20)), [300, 300, 300, 0]);
        assert_eq!(shares(900, &[Some(10), None], None), [900, 0, 0]);
        assert_eq!(shares(900, &[None, None], None), [450, 450, 0]);
        assert_eq!(shares(900, &[], None), [900]);
    }

    proptest! {
        /// The law: whoever holds whatever, a time is split without rest, and nobody's share is
        /// off by a millisecond.
        #[test]
        fn shares_add_up(
            pieces in proptest::collection::vec((
                0_i64..10_000_000_000,
                proptest::collection::vec(proptest::option::weighted(0.9, 0_u64..1 << 40), 0..6),
                proptest::option::of(0_u64..1 << 40),
            ), 1..20),
        ) {
            let mut sums = vec![Share::default(); 7];
            let mut exact = [0.0; 7];
            let mut weights = Weights::default();
            for (millis, memory, unseen) in &pieces {
                weights.take(&held(memory), unseen.map(Kib));
                let all = weights.holders.iter().sum::<u64>() + weights.unseen;
                weights.split(*millis, |sharer, share| {
                    let (place, weight) = match sharer {
                        Sharer::Holder(place) => (place, weights.holders[place]),
                        Sharer::Unseen => (6, weights.unseen),
                    };
                    sums[place].add(share);
                    exact[place] += *millis as f64 * weight as f64 / all as f64;
                });
            }
            let told = whole(&sums);
            let all: i64 = pieces.iter().map(|(millis, ..)| millis).sum();
            prop_assert_eq!(told.iter().sum::<i64>(), all);
            for (told, exact) in told.iter().zip(exact) {
                prop_assert!((*told as f64 - exact).abs() < 2.0, "{} and not {}", told, exact);
            }
        }
    }
}
