//! Who was on each card at the last tick, so that those who stay are not named again.

use std::sync::Arc;

use probe::process::Holder;

use super::HolderTick;

/// The holders of each card, by its place in a look.
#[derive(Debug, Default)]
pub(super) struct Roster {
    /// `None` where they have to be asked for again in any case.
    cards: Vec<Option<Arc<[HolderTick]>>>,
}

impl Roster {
    /// Those at a place, where they are the ones that the driver lists now.
    pub fn those_at(&self, place: usize, listed: &[Holder]) -> Option<&Arc<[HolderTick]>> {
        self.cards.get(place)?.as_ref().filter(|named| are_the_same(named, listed))
    }

    /// Whether it has all whom the driver lists now, and nobody else.
    pub fn is_of<'a>(&self, lists: impl ExactSizeIterator<Item = &'a [Holder]>) -> bool {
        let has = |(place, listed): (usize, &[Holder])| self.those_at(place, listed).is_some();
        lists.len() == self.cards.len() && lists.enumerate().all(has)
    }

    pub fn put(&mut self, place: usize, named: Option<Arc<[HolderTick]>>) {
        if self.cards.len() <= place {
            self.cards.resize(place + 1, None);
        }
        if let Some(card) = self.cards.get_mut(place) {
            *card = named;
        }
    }

    /// Forgets the places of cards that are no longer there.
    pub fn truncate(&mut self, places: usize) {
        self.cards.truncate(places);
    }

    /// Nobody is sure to be there any more.
    pub fn clear(&mut self) {
        self.cards.clear();
    }
}

fn are_the_same(named: &[HolderTick], listed: &[Holder]) -> bool {
    named.len() == listed.len() && named.iter().zip(listed).all(|(one, other)| one.pid == other.pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::process::{Kinds, Presence};
    use probe::units::Bytes;
    use probe::{Reading, Why};

    fn holder(pid: u32, mib: u64) -> Holder {
        let memory = Reading::Known(Bytes::from_mib(mib));
        let (sm, engines) = (Reading::Unknown(Why::NotAsked), Reading::Unknown(Why::NotAsked));
        Holder { pid, kinds: Kinds::COMPUTE, memory, sm, engines }
    }

    fn named(holders: &[Holder]) -> Option<Arc<[HolderTick]>> {
        let command = Reading::Unknown(Why::NotAsked);
        let name = |holder: &Holder| HolderTick {
            pid: holder.pid,
            process: Presence::Gone,
            command: command.clone(),
        };
        Some(holders.iter().map(name).collect())
    }

    #[test]
    fn those_who_stay_as_they_are_need_no_other_name() {
        let (ann, bob) = ([holder(1, 60), holder(2, 70)], [holder(3, 80)]);
        let mut roster = Roster::default();
        roster.put(1, named(&bob));
        assert!(!roster.is_of([&ann[..], &bob[..]].into_iter()), "nobody was named at 0");
        roster.put(0, named(&ann));
        assert!(roster.is_of([&ann[..], &bob[..]].into_iter()));
        assert!(!roster.is_of([&ann[..]].into_iter()), "one card less");
        roster.truncate(1);
        assert!(roster.is_of([&ann[..]].into_iter()));
        let fuller = [holder(1, 61), holder(2, 71)];
        assert!(roster.those_at(0, &fuller).is_some(), "what they hold is not who they are");
        for other in [&ann[..1], &[ann[1], ann[0]], &[ann[0], bob[0]]] {
            assert!(roster.those_at(0, other).is_none());
        }
        roster.clear();
        assert!(roster.those_at(0, &ann).is_none());
    }
}
