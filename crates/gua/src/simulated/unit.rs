//! Cards and MIG instances of a simulated machine.

use std::sync::Arc;

use gua_core::card::{CardFacts, InstanceFacts};
use gua_core::reading::{Reading, Reason};
use gua_core::slices::{self, GpuSize, InstanceSize, Slices};
use gua_core::units::Bytes;
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

    /// Returns the units of a machine's record: all of them, and what instances leave of their cards.
    #[must_use]
    pub fn recorded(scenario: &Scenario) -> Vec<Self> {
        let mut units = Self::all(scenario);
        units.extend(Self::unpartitioned(scenario));
        units
    }

    fn unpartitioned(scenario: &Scenario) -> Vec<Self> {
        let rest = |(place, card): (usize, &Card)| {
            let instances = units((place, card));
            let facts = instances.iter().filter(|it| it.instance.is_some()).map(|it| &*it.facts);
            let facts = Arc::new(slices::rest_facts(facts, &card.uuid)?);
            Some(Self { card: place, instance: None, facts })
        };
        scenario.cards.iter().enumerate().filter_map(rest).collect()
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
    let (instances, slots) = card.mig.as_ref().map_or((&[][..], 0), |it| (&it.instances, it.slots));
    if instances.is_empty() {
        return vec![Unit { card: place, instance: None, facts: Arc::new(facts) }];
    }
    let size = |instance: &scenario::Instance| InstanceSize {
        memory: Some(Bytes(instance.memory)),
        compute: None,
    };
    let gpu = GpuSize { memory: Some(Bytes(card.memory.total)), compute: Some(slots) };
    let slices = slices::divide(&instances.iter().map(size).collect::<Vec<_>>(), gpu);
    let unit = |(number, (instance, slices)): (usize, (&scenario::Instance, Slices))| Unit {
        card: place,
        instance: Some(number),
        facts: Arc::new(CardFacts {
            uuid: Reading::Known(instance.uuid.clone()),
            name: Reading::Known(format!("{} MIG {}", card.name, instance.profile)),
            instance: Some(InstanceFacts {
                slot: Some(instance.slot),
                gpu_instance: Reading::Known(instance.gpu_instance),
                parent_uuid: Reading::Known(card.uuid.clone()),
                slices,
            }),
            ..facts.clone()
        }),
    };
    instances.iter().zip(slices).enumerate().map(unit).collect()
}
