//! Spans with a count of their own beside their length.

use std::collections::HashMap;
use std::hash::Hash;

use super::super::error::StoreError;
use crate::ledger::{Change, Period, Spans};

/// The spans that are open, and what each counts for so far.
#[derive(Debug)]
pub(super) struct Counted<K, S> {
    spans: Spans<K, S>,
    accounts: HashMap<K, Account<S>>,
    changes: Vec<Change<K, S>>,
}

#[derive(Debug, Clone, Copy)]
struct Account<S> {
    state: S,
    counted: i64,
}

/// A span that has come to its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended<K, S> {
    pub key: K,
    pub period: Period,
    pub state: S,
    pub counted: i64,
}

impl<K: Copy + Eq + Hash, S: Copy + Eq> Default for Counted<K, S> {
    fn default() -> Self {
        Self { spans: Spans::new(), accounts: HashMap::new(), changes: Vec::new() }
    }
}

impl<K: Copy + Eq + Hash, S: Copy + Eq> Counted<K, S> {
    /// A part of a tick within one hour finds each key in this state, and adds this count.
    pub fn tick(
        &mut self,
        (part, count): (Period, i64),
        found: &[(K, S)],
        write: impl FnMut(Ended<K, S>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.changes.clear();
        self.spans.changes(part, found, &mut self.changes);
        self.settle(write)?;
        self.spans.apply(&self.changes, found, part.to);
        for (key, _) in found {
            if let Some(account) = self.accounts.get_mut(key) {
                account.counted += count;
            }
        }
        Ok(())
    }

    /// The state of a key that has an open span.
    pub fn state_of(&self, key: &K) -> Option<S> {
        self.spans.state_of(key)
    }

    /// Ends all of them.
    pub fn end_all(
        &mut self,
        write: impl FnMut(Ended<K, S>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.changes.clear();
        self.spans.end_all(&mut self.changes);
        self.settle(write)?;
        *self = Self::default();
        Ok(())
    }

    fn settle(
        &mut self,
        mut write: impl FnMut(Ended<K, S>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for change in &self.changes {
            match *change {
                Change::Begins { key, state, .. } => {
                    self.accounts.insert(key, Account { state, counted: 0 });
                }
                Change::Ends { key, from, to } => {
                    let Some(account) = self.accounts.remove(&key) else { continue };
                    let Account { state, counted } = account;
                    let period = Period::new(from, to);
                    write(Ended { key, period, state, counted })?;
                }
            }
        }
        Ok(())
    }
}
