//! Cards and MIG instances of a simulated machine.

use std::sync::Arc;

use gua_core::card::{CardFacts, InstanceFacts};
use gua_core::reading::{Reading, Reason};
use scenario::state::Place;
use scenario::{Card, Scenario};

/// A card or an instance of the machine.
#[derive(Debug)]
pub struct Unit {
    card: usize,
    instance: Option<usize>,
    pub facts: Arc<CardFacts>,
}

impl Unit {
    /// Returns all units of a machine: the instances of a card that is divided, else the card.
    #[must_use]
    pub fn all(scenario: &Scenario) -> Vec<Self> {
        scenario.cards.iter().enumerate().flat_map(units).collect()
    }

    /// Returns the unit in a scenario of the machine; `None` if it is not there.
    #[must_use]
    pub fn place<'a>(&self, scenario: &'a Scenario) -> Option<Place<'a>> {
        let card = scenario.cards.get(self.card)?;
        let Some(instance) = self.instance else { return Some(Place::card(card)) };
        Some(Place { card, instance: Some(card.mig.as_ref()?.instances.get(instance)?) })
    }
}

fn units((place, card): (usize, &Card)) -> Vec<Unit> {
    let facts = CardFacts {
        uuid: Reading::Known(card.uuid.clone()),
        name: Reading::Known(card.name.clone()),
        minor: Reading::Known(card.minor),
        ..CardFacts::unread(card.index, Reason::NotAsked)
    };
    let instances = card.mig.as_ref().map_or(&[][..], |mig| &mig.instances);
    if instances.is_empty() {
        return vec![Unit { card: place, instance: None, facts: Arc::new(facts) }];
    }
    let unit = |(number, instance): (usize, &scenario::Instance)| Unit {
        card: place,
        instance: Some(number),
        facts: Arc::new(CardFacts {
            uuid: Reading::Known(instance.uuid.clone()),
            name: Reading::Known(format!("{} MIG {}", card.name, instance.profile)),
            instance: Some(InstanceFacts {
                slot: instance.slot,
                gpu_instance: Reading::Known(instance.gpu_instance),
                parent_uuid: Reading::Known(card.uuid.clone()),
            }),
            ..facts.clone()
        }),
    };
    instances.iter().enumerate().map(unit).collect()
}
