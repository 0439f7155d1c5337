//! Limits to the number of series, and who makes room for others.

use std::collections::BTreeSet;
use std::sync::Arc;

use gua_core::units::UnixMillis;

use crate::counters::{Counters, Key};
use crate::family::Counter;
use crate::labels::{OTHERS, UNATTRIBUTED, UNLISTED};

/// Time after which the series of a workload end. One that comes back begins at 0, as counters do
/// that were started again.
const WORKLOAD_ENDS_MS: i64 = 86_400_000;

/// Time after which a person makes room, if there is none left. Until then they stay: a report needs
/// their series at both ends of its window.
const PERSON_AWAY_MS: i64 = 30 * 86_400_000;

/// Most cards. MIG instances come and go under new names; no host has so many at once.
pub(crate) const MOST_CARDS: usize = 256;

/// Series that may still be made at a tick.
#[derive(Debug)]
pub(crate) struct Room {
    people: usize,
    /// Of workloads. Apart from people, as jobs come and go and would leave them no room.
    workloads: usize,
    /// Owners that had no room.
    pub capped: BTreeSet<(Arc<str>, Arc<str>)>,
}

impl Room {
    /// Removes those who are gone, and returns what room there is.
    pub fn make(counters: &mut Counters, most: usize, now: UnixMillis) -> Self {
        let age = |last: UnixMillis| now.0.saturating_sub(last.0);
        let workloads = counters.last_changes(Counter::WORKLOAD);
        let ended: BTreeSet<_> =
            workloads.iter().filter(|(_, last)| age(**last) > WORKLOAD_ENDS_MS).collect();
        remove_owners(counters, Counter::WORKLOAD, ended.iter().map(|(owner, _)| *owner));
        let mut people = counters.last_changes(Counter::PRESENCE);
        if people.len() >= most {
            let stays = |user: &str| [OTHERS, UNATTRIBUTED, UNLISTED].contains(&user);
            let is_away = |last: UnixMillis| age(last) > PERSON_AWAY_MS;
            let away: Vec<_> = people
                .iter()
                .filter(|((_, user), last)| is_away(**last) && !stays(user))
                .map(|(owner, _)| owner.clone())
                .collect();
            for group in [Counter::PRESENCE, Counter::SHARES, &[Counter::IdleSince]] {
                remove_owners(counters, group, away.iter());
            }
            people.retain(|owner, _| !away.contains(owner));
        }
        Self {
            people: most.saturating_sub(people.len()),
            workloads: most.saturating_sub(workloads.len() - ended.len()),
            capped: BTreeSet::new(),
        }
    }

    /// Returns the label of a user on a card: their name, or that of others if there is no room.
    pub fn user(&mut self, counters: &Counters, card: &Arc<str>, user: Arc<str>) -> Arc<str> {
        let is_nobody = [UNATTRIBUTED, UNLISTED].contains(&&*user);
        if is_nobody || is_known(counters, Counter::PresentActive, card, &user) {
            return user;
        }
        match self.people.checked_sub(1) {
            Some(left) => {
                self.people = left;
                user
            }
            None => {
                self.capped.insert((Arc::clone(card), user));
                OTHERS.into()
            }
        }
    }

    /// Returns true if a workload has series, or may have.
    pub fn has_workload(
        &mut self,
        counters: &Counters,
        card: &Arc<str>,
        workload: &Arc<str>,
    ) -> bool {
        if is_known(counters, Counter::WorkloadActive, card, workload) {
            return true;
        }
        let left = self.workloads.checked_sub(1);
        match left {
            Some(left) => self.workloads = left,
            None => drop(self.capped.insert((Arc::clone(card), Arc::clone(workload)))),
        }
        left.is_some()
    }
}

/// Returns the label of a user on a card without making room for them.
pub(crate) fn known_user(counters: &Counters, card: &Arc<str>, user: Arc<str>) -> Arc<str> {
    let is_full =
        || counters.get(&Key::new(Counter::PresentActive, card, &OTHERS.into())).is_some();
    if !is_known(counters, Counter::PresentActive, card, &user) && is_full() {
        return OTHERS.into();
    }
    user
}

/// Removes the cards that were not there for longest. Returns how many.
pub(crate) fn limit_cards(counters: &mut Counters) -> i64 {
    let mut removed = 0;
    let mut cards = counters.last_changes(&Counter::CARD[..4]);
    while cards.len() > MOST_CARDS {
        let oldest = cards.iter().min_by_key(|(_, last)| **last).map(|(owner, _)| owner.clone());
        let Some(oldest) = oldest else { break };
        counters.remove_where(|key| key.card == oldest.0);
        cards.remove(&oldest);
        removed += 1;
    }
    removed
}

fn is_known(counters: &Counters, counter: Counter, card: &Arc<str>, label: &Arc<str>) -> bool {
    counters.get(&Key::new(counter, card, label)).is_some()
}

fn remove_owners<'a>(
    counters: &mut Counters,
    group: &[Counter],
    owners: impl Iterator<Item = &'a (Arc<str>, Arc<str>)>,
) {
    for (card, label) in owners {
        group.iter().for_each(|counter| counters.remove(Key::new(*counter, card, label)));
    }
}
