//! What one tick says of each process that holds cards (pure).

use std::collections::BTreeMap;
use std::sync::Arc;

use probe::card::Vitals;
use probe::process::{Holder, Presence, ProcessFacts};
use probe::units::{Bytes, Percent};
use probe::{Kinds, Reading, Why};

use super::activity::OnCard;
use super::subject::{Card, Person, Subject};
use crate::ledger::{CardEntry, Entry, HolderEntry, Identity};
use crate::sampler::{CardTick, Tick};

/// One process on all of its cards.
#[derive(Debug, Clone)]
pub struct Observed {
    pub subject: Subject,
    pub identity: Identity,
    pub program: Option<Arc<str>>,
    /// `None` where the host does not show it.
    pub process: Option<Arc<ProcessFacts>>,
    pub kinds: Kinds,
    pub cards: Vec<Card>,
    pub on_cards: Vec<OnCard>,
    pub memory: Reading<Bytes>,
    pub sm: Reading<Percent>,
    pub encoder: Reading<Percent>,
    pub decoder: Reading<Percent>,
}

/// Everybody, by pid.
#[must_use]
pub fn observed(tick: &Tick, entry: &Entry) -> Vec<Observed> {
    let mut all: BTreeMap<Subject, Observed> = BTreeMap::new();
    for (card, judged) in tick.cards.iter().zip(&entry.cards) {
        for ((held, who), holder) in card.held().zip(&judged.crew.holders) {
            let subject = Subject { pid: held.pid, start_ticks: holder.process.start_ticks };
            let facts = match &who.process {
                Presence::Here(facts) => Some(facts),
                Presence::Gone | Presence::Foreign | Presence::Hidden(_) => None,
            };
            all.entry(subject)
                .or_insert_with(|| Observed::new(subject, holder, facts))
                .add(held, holder, card, judged);
        }
    }
    all.into_values().collect()
}

/// Whether all lists could be read: then who is in none holds nothing.
#[must_use]
pub fn is_whole(tick: &Tick, entry: &Entry) -> bool {
    tick.driver.is_ok() && entry.cards.iter().all(|card| card.evidence.hidden.is_none())
}

impl Observed {
    fn new(subject: Subject, holder: &HolderEntry, facts: Option<&Arc<ProcessFacts>>) -> Self {
        Self {
            subject,
            identity: holder.identity.clone(),
            program: holder.program.clone(),
            process: facts.cloned(),
            kinds: Kinds::default(),
            cards: Vec::new(),
            on_cards: Vec::new(),
            memory: Reading::Known(Bytes(0)),
            sm: Reading::Unknown(Why::NotAsked),
            encoder: Reading::Unknown(Why::NotAsked),
            decoder: Reading::Unknown(Why::NotAsked),
        }
    }

    fn add(&mut self, held: &Holder, holder: &HolderEntry, card: &CardTick, judged: &CardEntry) {
        let is_first = self.cards.is_empty();
        self.kinds = self.kinds.and(held.kinds);
        self.cards.push(named(card));
        self.on_cards.push(OnCard {
            card: judged.state,
            utilization: judged.evidence.work,
            holds: holder.holds,
            work: holder.work,
        });
        self.memory = both(self.memory, held.memory, |one, other| one + other);
        let (encoder, decoder) = engines(held, &card.vitals);
        let highest = |before: Reading<Percent>, now: Reading<Percent>| {
            if is_first { now } else { both(before, now, |one, other| Percent(one.0.max(other.0))) }
        };
        self.sm = highest(self.sm, held.sm);
        self.encoder = highest(self.encoder, encoder);
        self.decoder = highest(self.decoder, decoder);
    }

    /// Who is behind it, where that is known.
    #[must_use]
    pub fn person(&self) -> Option<Person> {
        person(&self.identity)
    }
}

/// Who it is, where that is known.
#[must_use]
pub fn person(Identity { user, uid, source }: &Identity) -> Option<Person> {
    Some(Person { uid: (*uid)?, name: user.clone(), source: (*source)? })
}

/// Its own shares of the engines, else what the card did with them.
fn engines(held: &Holder, vitals: &Vitals) -> (Reading<Percent>, Reading<Percent>) {
    match held.engines {
        Reading::Known(engines) => {
            (Reading::Known(engines.encoder), Reading::Known(engines.decoder))
        }
        Reading::Unknown(why) => {
            let of_card = |reading: Reading<Percent>| match reading {
                // Nobody asked for the card's.
                Reading::Unknown(Why::NotAsked) => Reading::Unknown(why),
                reading => reading,
            };
            (of_card(vitals.encoder), of_card(vitals.decoder))
        }
    }
}

/// Both, where both are known.
pub fn both<T>(one: Reading<T>, other: Reading<T>, with: impl Fn(T, T) -> T) -> Reading<T> {
    match (one, other) {
        (Reading::Known(one), Reading::Known(other)) => Reading::Known(with(one, other)),
        (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => Reading::Unknown(why),
    }
}

fn named(card: &CardTick) -> Card {
    let text =
        |reading: &Reading<String>| reading.as_ref().known().map(|text| Arc::from(text.as_str()));
    Card {
        number: card.facts.index,
        slot: card.facts.instance.as_ref().map(|instance| instance.slot),
        uuid: text(&card.facts.uuid),
        model: text(&card.facts.name),
    }
}
