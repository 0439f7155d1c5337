//! How many can be told apart, and who makes room for others.

use std::collections::BTreeMap;

use super::card::CardCounters;
use super::owner::{OTHERS, UNATTRIBUTED};

/// A job, a container or a notebook that was not on a card for so long is over there, and its
/// series ends. One that comes back begins at 0, as counters do that were started again.
const OVER_MILLIS: i64 = 86_400_000;

/// People are told of for ever: a report needs them at both ends of its window. Only where there
/// is no room left, who was away from a card for so long makes some.
const AWAY_MILLIS: i64 = 30 * 86_400_000;

/// Instances (MIG) come and go by ever new names. No host has so many at once.
pub(super) const MOST_CARDS: usize = 256;

/// How many more can be told apart, on all cards together; the rest are others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Of jobs, containers and notebooks.
    pub workloads: usize,
    /// Of people. They have room apart from each other: jobs come and go, and would leave none.
    pub people: usize,
    /// How many there was none for.
    pub short: u64,
}

impl Room {
    /// What there is of it at a moment, once those have left who are gone.
    pub fn at(now: i64, cards: &mut BTreeMap<String, CardCounters>, most: usize) -> Self {
        let is_over = |last: i64| now.saturating_sub(last) > OVER_MILLIS;
        for card in cards.values_mut() {
            card.workloads.retain(|it| !is_over(it.last_millis));
        }
        let people = |cards: &BTreeMap<String, CardCounters>| -> usize {
            cards.values().map(|card| card.people.len()).sum()
        };
        if people(cards) >= most {
            let since = now.saturating_sub(AWAY_MILLIS);
            cards.values_mut().for_each(|card| leave(card, since));
        }
        let workloads: usize = cards.values().map(|card| card.workloads.len()).sum();
        Self {
            workloads: most.saturating_sub(workloads),
            people: most.saturating_sub(people(cards)),
            short: 0,
        }
    }
}

/// Takes leave of those who were last there before this moment.
fn leave(card: &mut CardCounters, since: i64) {
    let stays = |user: &str| [OTHERS, UNATTRIBUTED].contains(&user);
    card.people.retain(|it| it.last_millis >= since || stays(&it.user));
    let CardCounters { owners, people, .. } = card;
    owners.retain(|it| {
        stays(&it.owner.user) || people.iter().any(|person| person.user == it.owner.user)
    });
}

/// Takes leave of cards that were not there for longest; gives how many.
pub(super) fn leave_cards(cards: &mut BTreeMap<String, CardCounters>) -> u64 {
    let mut left = 0;
    while cards.len() > MOST_CARDS {
        let oldest = cards.iter().min_by_key(|(_, card)| card.last_millis);
        let Some(uuid) = oldest.map(|(uuid, _)| uuid.clone()) else { break };
        cards.remove(&uuid);
        left += 1;
    }
    left
}
