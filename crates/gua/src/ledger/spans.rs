//! Spans: runs of ticks in which something stays in one state, cut at every full hour and
//! at every gap.
//!
//! A span that goes on costs nothing: all open spans end where the last tick ended. Only
//! what begins or ends is a [`Change`], to be written down.

use std::collections::HashMap;
use std::hash::Hash;

use probe::units::UnixMillis;

use super::period::{Period, is_full_hour};

/// Something that begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<K, S> {
    Begins { key: K, from: UnixMillis, state: S },
    Ends { key: K, from: UnixMillis, to: UnixMillis },
}

/// The spans that are open, each known by its key.
#[derive(Debug, Clone)]
pub struct Spans<K, S> {
    open: HashMap<K, (UnixMillis, S)>,
    /// What the last tick found: all that is open, or nothing is where it covered no time.
    found: Vec<(K, S)>,
    /// Where they all end so far.
    until: UnixMillis,
}

impl<K: Copy + Eq + Hash, S: Copy + Eq> Spans<K, S> {
    #[must_use]
    pub fn new() -> Self {
        Self { open: HashMap::new(), found: Vec::new(), until: UnixMillis(i64::MIN) }
    }

    /// What a tick that covers this time changes, when it finds each key in this state.
    /// The open spans themselves stay as they are until [`Self::apply`].
    pub fn changes(&self, covers: Period, found: &[(K, S)], into: &mut Vec<Change<K, S>>) {
        let goes_on = covers.from == self.until && !covers.is_empty();
        let is_open = self.open.len() == found.len() && self.found == found;
        if goes_on && is_open && !covers.begins_an_hour() {
            return;
        }
        let stays = |key: &K| goes_on && found.iter().any(|(other, _)| other == key);
        for (key, (from, _)) in self.open.iter().filter(|(key, _)| !stays(key)) {
            into.push(Change::Ends { key: *key, from: *from, to: self.until });
        }
        for (key, state) in found {
            let open = self.open.get(key).copied().filter(|_| goes_on);
            one(*key, *state, open, covers, into);
        }
    }

    /// Ends all of them where the last tick ended.
    pub fn end_all(&self, into: &mut Vec<Change<K, S>>) {
        self.changes(Period::none_at(self.until), &[], into);
    }

    /// Makes the changes of a tick that found this and ended then, once they are written down.
    pub fn apply(&mut self, changes: &[Change<K, S>], found: &[(K, S)], until: UnixMillis) {
        for change in changes {
            match change {
                Change::Begins { key, from, state } => {
                    self.open.insert(*key, (*from, *state));
                }
                Change::Ends { key, .. } => {
                    self.open.remove(key);
                }
            }
        }
        if self.found != found {
            self.found.clear();
            self.found.extend_from_slice(found);
        }
        self.until = until;
    }

    /// The state of a key that has an open span.
    pub fn state_of(&self, key: &K) -> Option<S> {
        self.open.get(key).map(|(_, state)| *state)
    }
}

impl<K: Copy + Eq + Hash, S: Copy + Eq> Default for Spans<K, S> {
    fn default() -> Self {
        Self::new()
    }
}

/// The changes of one key over a tick, hour by hour.
fn one<K: Copy, S: Copy + Eq>(
    key: K,
    state: S,
    mut open: Option<(UnixMillis, S)>,
    covers: Period,
    into: &mut Vec<Change<K, S>>,
) {
    for part in covers.by_hour() {
        if let Some((from, before)) = open {
            if before == state && !is_full_hour(part.from) {
                continue;
            }
            into.push(Change::Ends { key, from, to: part.from });
        }
        into.push(Change::Begins { key, from: part.from, state });
        open = Some((part.from, state));
    }
}

#[cfg(test)]
mod tests {
    use super::super::period::HOUR;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Written = BTreeMap<(u8, i64), (u8, i64)>;

    /// Plays ticks and gives the spans: (key, from) → (state, to).
    fn play(ticks: &[(Period, Vec<(u8, u8)>)]) -> Written {
        let mut spans = Spans::new();
        let mut written = Written::new();
        let mut write = |changes: &[Change<u8, u8>]| {
            for change in changes {
                match *change {
                    Change::Begins { key, from, state } => {
                        assert_eq!(written.insert((key, from.0), (state, i64::MAX)), None);
                    }
                    Change::Ends { key, from, to } => {
                        written.get_mut(&(key, from.0)).unwrap().1 = to.0;
                    }
                }
            }
        };
        for (covers, found) in ticks {
            let mut changes = Vec::new();
            spans.changes(*covers, found, &mut changes);
            write(&changes);
            spans.apply(&changes, found, covers.to);
        }
        let mut changes = Vec::new();
        spans.end_all(&mut changes);
        write(&changes);
        written
    }

    fn tick(from: i64, to: i64, found: &[(u8, u8)]) -> (Period, Vec<(u8, u8)>) {
        (Period::new(UnixMillis(from), UnixMillis(to)), found.to_vec())
    }

    #[test]
    fn a_state_that_stays_is_one_span() {
        let ticks = [tick(5, 5, &[(1, 7)]), tick(5, 9, &[(1, 7)]), tick(9, 12, &[(1, 7)])];
        assert_eq!(play(&ticks), Written::from([((1, 5), (7, 12))]));
    }

    #[test]
    fn a_new_state_a_gap_and_a_full_hour_each_begin_another() {
        let changed = [tick(0, 9, &[(1, 7)]), tick(9, 12, &[(1, 8)])];
        assert_eq!(play(&changed), Written::from([((1, 0), (7, 9)), ((1, 9), (8, 12))]));
        let gap = [tick(0, 9, &[(1, 7)]), tick(10, 12, &[(1, 7)])];
        assert_eq!(play(&gap), Written::from([((1, 0), (7, 9)), ((1, 10), (7, 12))]));
        let hours = [tick(HOUR - 2, 2 * HOUR + 3, &[(1, 7)])];
        let expected = Written::from([
            ((1, HOUR - 2), (7, HOUR)),
            ((1, HOUR), (7, 2 * HOUR)),
            ((1, 2 * HOUR), (7, 2 * HOUR + 3)),
        ]);
        assert_eq!(play(&hours), expected);
    }

    #[test]
    fn what_is_no_longer_found_ends() {
        let ticks = [tick(0, 9, &[(1, 7), (2, 7)]), tick(9, 12, &[(2, 7)]), tick(12, 12, &[])];
        assert_eq!(play(&ticks), Written::from([((1, 0), (7, 9)), ((2, 0), (7, 12))]));
    }

    fn ticks() -> impl Strategy<Value = Vec<(Period, Vec<(u8, u8)>)>> {
        let found = proptest::collection::btree_map(0_u8..3, 0_u8..3, 0..3);
        let one = (0_i64..3, 0_i64..2 * HOUR, 0_i64..HOUR, found);
        proptest::collection::vec(one, 0..40).prop_map(|steps| {
            let mut at = 0;
            let tick = |(kind, gap, length, found): (i64, i64, i64, BTreeMap<u8, u8>)| {
                let from = if kind == 0 { at + gap } else { at };
                at = from + length;
                let found: Vec<_> = found.into_iter().collect();
                tick(from, at, &found)
            };
            steps.into_iter().map(tick).collect()
        })
    }

    proptest! {
        /// The law: spans are the ticks counted together, whatever happens.
        #[test]
        fn spans_hold_what_the_ticks_covered(ticks in ticks()) {
            let mut counted = BTreeMap::<(u8, u8), i64>::new();
            for (covers, found) in &ticks {
                for (key, state) in found.iter().filter(|_| !covers.is_empty()) {
                    *counted.entry((*key, *state)).or_default() += covers.millis();
                }
            }
            let mut held = BTreeMap::<(u8, u8), i64>::new();
            let mut last = BTreeMap::<u8, i64>::new();
            for ((key, from), (state, to)) in play(&ticks) {
                prop_assert!(from < to && to - from <= HOUR);
                prop_assert!(last.insert(key, to).is_none_or(|before| before <= from));
                *held.entry((key, state)).or_default() += to - from;
            }
            prop_assert_eq!(held, counted);
        }
    }
}
