//! What a holder has in its hands, settled: memory that only wobbles begins nothing new.

use super::entry::HolderEntry;
use crate::classify::{Holds, Kib, State, Work};

/// The driver gives out memory in pieces of 2 MiB; less than one is no change.
const PIECE: Kib = Kib(2048);

/// What a span of a holder is one by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    pub holds: Holds,
    pub work: Work,
    /// `None` where the driver does not say.
    pub memory: Option<Kib>,
}

impl Holding {
    #[must_use]
    pub fn of(entry: &HolderEntry) -> Self {
        let HolderEntry { holds, work, memory, .. } = *entry;
        Self { holds, work, memory: memory.map(Kib::from) }
    }

    /// The same as before, where it has not changed by much.
    #[must_use]
    pub fn settled(self, before: Option<Self>, card: State) -> Self {
        let is_same = |before: &Self| before.holds == self.holds && before.work == self.work;
        let Some((was, is)) =
            before.filter(is_same).and_then(|before| Some((before.memory?, self.memory?)))
        else {
            return self;
        };
        let memory = settled(was, is, self.work.state(self.holds, card));
        Self { memory: Some(memory), ..self }
    }
}

/// What memory was before, where it is about the same still. What is held idle is what counts,
/// so it is told to less than a percent; of who works it is enough to know roughly.
#[must_use]
pub fn settled(was: Kib, is: Kib, doing: State) -> Kib {
    let part = if doing == State::Active { 8 } else { 128 };
    let room = Kib(was.0 / part).max(PIECE);
    if was.0.abs_diff(is.0) <= room.0 { was } else { is }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn mib(mib: u64) -> Kib {
        Kib(mib << 10)
    }

    #[test]
    fn a_wobble_is_no_change_and_a_drift_becomes_one() {
        let idle = |is| settled(mib(12_800), mib(is), State::IdleHeld);
        assert_eq!([idle(12_700), idle(12_900)], [mib(12_800); 2]);
        assert_eq!([idle(12_699), idle(12_901)], [mib(12_699), mib(12_901)]);
        let busy = |is| settled(mib(8_000), mib(is), State::Active);
        assert_eq!([busy(7_000), busy(9_001)], [mib(8_000), mib(9_001)]);
        assert_eq!(settled(mib(10), mib(12), State::IdleHeld), mib(10), "less than a piece");
    }

    #[test]
    fn another_state_is_another_holding() {
        let of = |work, memory| Holding { holds: Holds::Much, work, memory };
        let (was, is) = (of(Work::Works, Some(mib(8_000))), of(Work::Idle, Some(mib(8_001))));
        assert_eq!(is.settled(Some(was), State::Active), is);
        let a_little_more = of(Work::Works, Some(mib(8_500)));
        assert_eq!(a_little_more.settled(Some(was), State::IdleHeld), was, "it works");
        let untold = of(Work::Works, None);
        assert_eq!(untold.settled(Some(was), State::Active), untold);
        // What does as the card does may be idle from now on.
        let (was, is) =
            (of(Work::AsTheCard, Some(mib(8_000))), of(Work::AsTheCard, Some(mib(8_500))));
        assert_eq!(is.settled(Some(was), State::Active), was);
        assert_eq!(is.settled(Some(was), State::IdleHeld), is);
    }

    proptest! {
        /// The law: what is kept is never off by more than a percent, or a piece.
        #[test]
        fn it_is_always_near_the_truth(moves in proptest::collection::vec(0_u64..90_000_000, 1..50)) {
            let mut kept = Kib(0);
            for is in moves.into_iter().map(Kib) {
                kept = settled(kept, is, State::IdleHeld);
                let room = (is.0 / 100).max(PIECE.0);
                prop_assert!(kept.0.abs_diff(is.0) <= room, "{:?} and not {:?}", kept, is);
            }
        }
    }
}
