//! Totals of all counters in memory, as the database has them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use gua_core::units::UnixMillis;
use gua_store::{Problem, StoredTotal, TickTransaction};

use crate::family::Counter;

/// What a total belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub counter: Counter,
    /// Empty for the host.
    pub card: Arc<str>,
    /// User, workload, reason or bound.
    pub label: Arc<str>,
}

/// Total of one counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// Exact sum.
    pub value: i64,
    /// Highest value so far: it never falls.
    pub exported: i64,
    pub changed: UnixMillis,
    /// Number of the tick that made it; 0 if it was loaded.
    pub born: u64,
}

/// Totals of all counters.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    totals: BTreeMap<Key, Total>,
    /// Totals that are not written yet.
    changed: BTreeSet<Key>,
    removed: BTreeSet<Key>,
}

/// Tick that totals are changed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickStamp {
    /// Counts from 1 when the program starts.
    pub number: u64,
    pub at: UnixMillis,
}

impl Key {
    #[must_use]
    pub fn new(counter: Counter, card: &Arc<str>, label: &Arc<str>) -> Self {
        Self { counter, card: Arc::clone(card), label: Arc::clone(label) }
    }

    /// Returns the key of a counter of the host.
    #[must_use]
    pub fn host(counter: Counter, label: &str) -> Self {
        Self { counter, card: "".into(), label: label.into() }
    }
}

impl Counters {
    /// Returns the totals of a database. Those of a newer version are left alone.
    #[must_use]
    pub fn from_stored(stored: Vec<StoredTotal>) -> Self {
        let totals = stored.into_iter().filter_map(|stored| {
            let counter = Counter::from_number(stored.counter)?;
            let key = Key { counter, card: stored.card, label: stored.label };
            let StoredTotal { value, exported, changed, .. } = stored;
            Some((key, Total { value, exported, changed, born: 0 }))
        });
        Self { totals: totals.collect(), ..Self::default() }
    }

    /// Returns all totals of a counter.
    pub fn all(&self, counter: Counter) -> impl Iterator<Item = (&Key, &Total)> {
        let first = Key { counter, card: "".into(), label: "".into() };
        self.totals.range(first..).take_while(move |(key, _)| key.counter == counter)
    }

    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Total> {
        self.totals.get(key)
    }

    /// Returns the exact sum; 0 if nothing was counted.
    #[must_use]
    pub fn value(&self, key: &Key) -> i64 {
        self.get(key).map_or(0, |total| total.value)
    }

    /// Makes a total at 0 unless there is one.
    pub fn ensure(&mut self, key: Key, tick: TickStamp) {
        if !self.totals.contains_key(&key) {
            let total = Total { value: 0, exported: 0, changed: tick.at, born: tick.number };
            self.changed.insert(key.clone());
            self.totals.insert(key, total);
        }
    }

    /// Adds to a total.
    pub fn add(&mut self, key: Key, amount: i64, tick: TickStamp) {
        self.ensure(key.clone(), tick);
        if amount == 0 {
            return;
        }
        if let Some(total) = self.totals.get_mut(&key) {
            total.value = total.value.saturating_add(amount);
            total.exported = total.exported.max(total.value);
            total.changed = tick.at;
            self.changed.insert(key);
        }
    }

    /// Sets what is only remembered.
    pub fn set(&mut self, key: Key, value: i64, tick: TickStamp) {
        if self.get(&key).is_none_or(|total| total.value != value) {
            let total = Total { value, exported: value, changed: tick.at, born: tick.number };
            self.changed.insert(key.clone());
            self.totals.insert(key, total);
        }
    }

    /// Removes a total.
    pub fn remove(&mut self, key: Key) {
        if self.totals.remove(&key).is_some() {
            self.changed.remove(&key);
            self.removed.insert(key);
        }
    }

    /// Removes all totals of cards and labels that `is_gone` says.
    pub fn remove_where(&mut self, is_gone: impl Fn(&Key) -> bool) {
        let gone: Vec<Key> = self.totals.keys().filter(|key| is_gone(key)).cloned().collect();
        gone.into_iter().for_each(|key| self.remove(key));
    }

    /// Returns when each card and label of some counters was last counted.
    #[must_use]
    pub fn last_changes(&self, counters: &[Counter]) -> BTreeMap<(Arc<str>, Arc<str>), UnixMillis> {
        let mut last = BTreeMap::new();
        for (key, total) in counters.iter().flat_map(|counter| self.all(*counter)) {
            let owner = (Arc::clone(&key.card), Arc::clone(&key.label));
            let known = last.entry(owner).or_insert(total.changed);
            *known = (*known).max(total.changed);
        }
        last
    }

    /// Sets the ticks that made the totals, and returns them.
    pub fn set_births(&mut self, born: impl Fn(&Key) -> u64) -> HashMap<Key, u64> {
        let births = self.totals.iter_mut().map(|(key, total)| {
            total.born = born(key);
            (key.clone(), total.born)
        });
        births.collect()
    }

    /// Writes what has changed.
    pub fn write(&mut self, transaction: &mut TickTransaction<'_>) -> Result<(), Problem> {
        for key in std::mem::take(&mut self.removed) {
            if !self.totals.contains_key(&key) {
                transaction.remove_total(key.counter.number(), &key.card, &key.label)?;
            }
        }
        for key in std::mem::take(&mut self.changed) {
            let Some(Total { value, exported, changed, .. }) = self.totals.get(&key).copied()
            else {
                continue;
            };
            let Key { counter, card, label } = key;
            let counter = counter.number();
            transaction.write_total(&StoredTotal {
                counter,
                card,
                label,
                value,
                exported,
                changed,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_counter_never_goes_back() {
        let tick = TickStamp { number: 1, at: UnixMillis(0) };
        let mut counters = Counters::default();
        let key = Key::host(Counter::Observed, "");
        for (amount, value, exported) in [(5, 5, 5), (-2, 3, 5), (1, 4, 5), (9, 13, 13)] {
            counters.add(key.clone(), amount, tick);
            let total = counters.get(&key).unwrap();
            assert_eq!((total.value, total.exported), (value, exported));
        }
    }
}
