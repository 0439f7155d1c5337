//! Which signs were written down of each holder: only those that are new have to be.

use std::collections::HashMap;

use super::subject::Subject;
use crate::ledger::Entry;
use crate::store::{SignCode, SignRow};

/// What stands in the history.
#[derive(Debug, Default)]
pub struct SignBook {
    known: HashMap<Subject, SignCode>,
    run: Option<i64>,
}

impl SignBook {
    /// All of them are written down with the next tick.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Those that are not what they were, and all of them once an hour and in every run.
    pub fn rows(
        &mut self,
        signs: Vec<(Subject, SignCode)>,
        entry: &Entry,
        run: i64,
    ) -> Vec<SignRow> {
        if self.run != Some(run) || entry.covers.begins_an_hour() {
            self.known.clear();
            self.run = Some(run);
        }
        if entry.covers.is_empty() {
            return Vec::new();
        }
        let is_new = |(subject, sign): &(Subject, SignCode)| self.known.get(subject) != Some(sign);
        let row = |(subject, sign): &(Subject, SignCode)| {
            let Subject { pid, start_ticks } = *subject;
            // One process could not be told from the next.
            start_ticks?;
            Some(SignRow { at: entry.at, run, pid, start_ticks, sign: *sign })
        };
        let rows = signs.iter().filter(|one| is_new(one)).filter_map(row).collect();
        self.known = signs.into_iter().collect();
        rows
    }
}
