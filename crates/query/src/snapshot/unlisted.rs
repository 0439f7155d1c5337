//! Since when unlisted memory is held idle, from the rows of the record.
//!
//! Sessions are kept of processes only, so the newest rows are read.

use std::collections::HashMap;

use gua_core::Period;
use gua_core::session::LONGEST_DOUBT_MS;
use gua_core::snapshot::CardIdentity;
use gua_core::units::UnixMillis;
use gua_store::{Database, Grain, HolderRow, StoreError, StoredCard};

use super::idle::Begin;

/// Time that is read: exact rows are kept for two days. What is older makes it "at least".
const READ_MS: i64 = 2 * 24 * 3_600_000;

/// Idle time of the unlisted memory of a card.
#[derive(Debug)]
pub(super) struct UnlistedIdle {
    card: StoredCard,
    pub begin: Begin,
}

impl UnlistedIdle {
    pub fn is_on(&self, card: &CardIdentity) -> bool {
        match (&self.card.uuid, &card.uuid) {
            (Some(one), Some(other)) => one == other,
            (None, None) => (self.card.index, self.card.slot) == (card.index, card.mig_slot),
            _ => false,
        }
    }
}

/// Reads since when unlisted memory has been idle, of cards on which it is at the end of the record.
pub(super) fn read(store: &Database, until: UnixMillis) -> Result<Vec<UnlistedIdle>, StoreError> {
    let window = Period::new(UnixMillis(until.0.saturating_sub(READ_MS)), until);
    let mut idle: HashMap<i64, IdleStretch> = HashMap::new();
    store.each_row(
        window,
        Grain::Fine,
        |_, _| {},
        |row, part| idle.entry(row.holder).or_default().add(row, part),
    )?;
    let cards = store.cards()?;
    let mut found = Vec::new();
    for (id, stretch) in idle {
        let Some((period, is_seen)) = stretch.current(until) else { continue };
        let Some(holder) = store.holder(id)?.filter(|it| it.process.is_none()) else { continue };
        let Some(card) = cards.get(&holder.card) else { continue };
        let begin = Begin { since: period.from.into(), is_seen };
        found.push(UnlistedIdle { card: card.clone(), begin });
    }
    Ok(found)
}

/// Idle time at the end of the rows of a holder that were added so far.
#[derive(Debug, Default)]
struct IdleStretch {
    period: Option<Period>,
    is_begin_seen: bool,
    /// End of the newest row in which the holder was not idle.
    other_until: Option<UnixMillis>,
}

impl IdleStretch {
    fn add(&mut self, row: &HolderRow, part: Period) {
        let is_near = |end: UnixMillis| part.from.0.saturating_sub(end.0) <= LONGEST_DOUBT_MS;
        if row.times.working_ms > 0 || row.times.unknown_ms > 0 {
            self.period = None;
            self.other_until = Some(part.to);
            return;
        }
        match &mut self.period {
            Some(period) if is_near(period.to) => period.to = part.to,
            period => {
                *period = Some(part);
                self.is_begin_seen = self.other_until.is_some_and(is_near);
            }
        }
    }

    /// Returns the idle time that goes on at the end of the record, and whether its begin was seen.
    fn current(&self, until: UnixMillis) -> Option<(Period, bool)> {
        let goes_on = |period: &Period| until.0.saturating_sub(period.to.0) <= LONGEST_DOUBT_MS;
        self.period.filter(goes_on).map(|period| (period, self.is_begin_seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gua_store::HolderTimes;

    fn row(from: i64, to: i64, working_ms: i64) -> HolderRow {
        let period = Period::new(UnixMillis(from), UnixMillis(to));
        let times = HolderTimes { working_ms, ..HolderTimes::default() };
        HolderRow { period, holder: 1, times, peak_mib: 0 }
    }

    fn current(rows: &[(i64, i64, i64)], until: i64) -> Option<(i64, bool)> {
        let mut stretch = IdleStretch::default();
        for (from, to, working) in rows {
            let row = row(*from, *to, *working);
            stretch.add(&row, row.period);
        }
        stretch.current(UnixMillis(until)).map(|(period, is_seen)| (period.from.0, is_seen))
    }

    #[test]
    fn unlisted_memory_is_idle_since_the_last_work() {
        let minute = 60_000;
        let rows = [(0, minute, 0), (minute, 2 * minute, 5_000), (2 * minute, 3 * minute, 0)];
        assert_eq!(current(&rows, 3 * minute), Some((2 * minute, true)));
        assert_eq!(current(&rows[..1], minute), Some((0, false)));
        assert_eq!(current(&rows[..2], 2 * minute), None);
        assert_eq!(current(&rows, 10 * minute), None, "it is there no more");
        let doubt = [(0, minute, 0), (3 * minute, 4 * minute, 0)];
        assert_eq!(current(&doubt, 4 * minute), Some((0, false)));
        let long_doubt = [(0, minute, 0), (4 * minute, 5 * minute, 0)];
        assert_eq!(current(&long_doubt, 5 * minute), Some((4 * minute, false)));
    }
}
