//! The counters and the cards at the last tick, ready to be shown.

use probe::units::UnixMillis;

use super::card::CardCounters;
use super::counters::{Counters, key};
use super::owner::Owner;
use crate::classify::State;
use crate::ledger::{CardEntry, Entry};

/// What there is to show after a tick. It does not change any more.
#[derive(Debug, Clone)]
pub struct Frame {
    pub host: Host,
    pub counters: Counters,
    pub at: UnixMillis,
    pub cards: Vec<CardNow>,
}

/// Where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    pub name: String,
    pub driver_version: Option<String>,
    /// From tick to tick.
    pub interval_millis: Option<i64>,
}

/// One card at the last tick. What is not known is not shown.
#[derive(Debug, Clone, PartialEq)]
pub struct CardNow {
    pub uuid: String,
    /// `0`, or `0:1` for a MIG instance.
    pub gpu: String,
    pub model: Option<String>,
    pub state: State,
    pub utilization_ratio: Option<f64>,
    pub used_bytes: Option<u64>,
    pub total_bytes: Option<u64>,
    pub power_watts: Option<f64>,
    pub temperature_celsius: Option<u32>,
    /// By kind, each holder once.
    pub holders: [(&'static str, u64); 3],
    /// Whose memory is told, and how much it is.
    pub memory: Vec<(String, u64)>,
}

impl Frame {
    /// Nothing is shown of a card that the last tick did not see, but what it was counted for.
    #[must_use]
    pub fn new(host: Host, counters: Counters, entry: &Entry) -> Self {
        let card = |card| CardNow::of(card, counters.cards.get(&key(card)));
        let cards = entry.cards.iter().map(card).collect();
        Self { host, counters, at: entry.at, cards }
    }
}

impl CardNow {
    fn of(card: &CardEntry, counted: Option<&CardCounters>) -> Self {
        let facts = &card.facts;
        let measures = &card.measures;
        let slot = facts.instance.as_ref().map(|instance| instance.slot);
        Self {
            uuid: key(card),
            gpu: slot
                .map_or_else(|| facts.index.to_string(), |slot| format!("{}:{slot}", facts.index)),
            model: facts.name.as_ref().known().cloned(),
            state: card.state,
            utilization_ratio: card.evidence.work.known().map(|work| f64::from(work.0) / 10_000.0),
            used_bytes: measures.used.map(|used| used.0),
            total_bytes: measures.total.map(|total| total.0),
            power_watts: counted.and_then(|it| it.power).map(|(_, it)| f64::from(it) / 1000.0),
            temperature_celsius: counted.and_then(|it| it.temperature).map(|(_, it)| it),
            holders: holders(card),
            memory: memory(card, counted),
        }
    }
}

fn holders(card: &CardEntry) -> [(&'static str, u64); 3] {
    let mut counts = [("compute", 0), ("graphics", 0), ("mps", 0)];
    for holder in &card.crew.holders {
        let kind = match holder.kinds {
            kinds if kinds.mps => 2,
            kinds if kinds.graphics && !kinds.compute => 1,
            _ => 0,
        };
        counts[kind].1 += 1;
    }
    counts
}

fn memory(card: &CardEntry, counted: Option<&CardCounters>) -> Vec<(String, u64)> {
    let mut people: Vec<(String, Option<u64>)> = Vec::new();
    for holder in &card.crew.holders {
        let user = Owner::of_identity(&holder.identity).user;
        let user = counted.map_or(user.clone(), |counted| counted.name(user));
        let held = holder.memory.map(|memory| memory.0);
        match people.iter_mut().find(|(known, _)| *known == user) {
            // Where a part is not told, the sum is not known either.
            Some((_, sum)) => *sum = sum.zip(held).map(|(sum, held)| sum + held),
            None => people.push((user, held)),
        }
    }
    people.into_iter().filter_map(|(user, held)| Some((user, held?))).collect()
}
