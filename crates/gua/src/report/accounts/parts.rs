//! What part of the cards' idle-held time each stretch of holding had.

use std::collections::HashMap;

use crate::classify::State;
use crate::ledger::{Period, Piece, Share, Sharer, Weights, whole};

/// Parts in the making.
#[derive(Debug, Default)]
pub struct Parts {
    /// By holder, in the order of time: which stretches there are, and their places.
    stretches: HashMap<i64, Vec<(Period, usize)>>,
    shares: Vec<Share>,
    weights: Weights,
}

impl Parts {
    /// Of stretches in which holders held their cards idle; no two of one holder overlap.
    #[must_use]
    pub fn new(stretches: impl Iterator<Item = (i64, Period)>) -> Self {
        let mut new = Self::default();
        for (place, (holder, period)) in stretches.enumerate() {
            new.stretches.entry(holder).or_default().push((period, place));
            new.shares.push(Share::NONE);
        }
        new.stretches.values_mut().for_each(|of_one| of_one.sort_unstable());
        new
    }

    /// Splits a piece of a card's time among those who held it.
    pub fn add(&mut self, piece: &Piece<'_>) {
        if piece.state != State::IdleHeld || self.shares.is_empty() {
            return;
        }
        self.weights.take(piece.holders, piece.unseen);
        let Self { stretches, shares, weights } = self;
        weights.split(piece.counts, |sharer, share| {
            let Sharer::Holder(at) = sharer else { return };
            let stretches = piece.holders.get(at).and_then(|held| stretches.get(&held.holder));
            let place = stretches.and_then(|stretches| around(stretches, piece.period));
            if let Some(sum) = place.and_then(|place| shares.get_mut(place)) {
                sum.add(share);
            }
        });
    }

    /// In milliseconds, in the order of the stretches.
    #[must_use]
    pub fn finish(self) -> Vec<i64> {
        self.shares.iter().flat_map(|share| whole(&[*share])).collect()
    }
}

/// The place of the stretch that a time lies in.
fn around(stretches: &[(Period, usize)], time: Period) -> Option<usize> {
    let later = stretches.partition_point(|(period, _)| period.from <= time.from);
    let (period, place) = stretches.get(later.checked_sub(1)?)?;
    (time.to <= period.to).then_some(*place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Kib;
    use crate::ledger::Held;
    use probe::units::UnixMillis;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from), UnixMillis(to))
    }

    fn held(holder: i64, kib: u64) -> Held {
        Held { holder, state: State::IdleHeld, is_as_the_card: false, memory: Some(Kib(kib)) }
    }

    fn piece(state: State, time: Period, holders: &[Held]) -> Piece<'_> {
        Piece { card: 1, period: time, counts: time.millis(), state, unseen: None, holders }
    }

    #[test]
    fn a_stretch_has_its_part_of_a_shared_card() {
        let stretches = [(1, period(0, 100)), (2, period(0, 50)), (1, period(200, 300))];
        let mut parts = Parts::new(stretches.into_iter());
        let crew = [held(1, 10), held(2, 30)];
        parts.add(&piece(State::IdleHeld, period(0, 40), &crew));
        parts.add(&piece(State::Active, period(40, 50), &crew));
        parts.add(&piece(State::IdleHeld, period(50, 90), &crew[..1]));
        // In none.
        parts.add(&piece(State::IdleHeld, period(150, 190), &crew[..1]));
        parts.add(&piece(State::IdleHeld, period(200, 300), &crew[..1]));
        assert_eq!(parts.finish(), [50, 30, 100]);
    }
}
