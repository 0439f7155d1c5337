//! One look at the machine, with what the host says of the holders besides.

use std::collections::HashMap;
use std::sync::Arc;

use gua_core::Reading;
use gua_core::card::label;
use gua_core::snapshot::{CardNow, HolderNow, Snapshot};
use gua_core::units::{Bytes, Percent, UnixMillis};

/// Everything that is shown of one moment.
#[derive(Debug, Clone)]
pub struct Look {
    pub now: Snapshot,
    /// What the host says of the holders, by pid.
    pub processes: HashMap<u32, Process>,
}

impl Look {
    #[must_use]
    pub fn at(&self) -> UnixMillis {
        UnixMillis(self.now.time.as_millisecond())
    }

    /// Who holds what.
    pub fn holders(&self) -> impl Iterator<Item = (&CardNow, &HolderNow)> {
        self.now.cards.iter().flat_map(|card| card.holders.iter().map(move |holder| (card, holder)))
    }

    /// What a holder is known by.
    #[must_use]
    pub fn key(&self, card: &CardNow, holder: &HolderNow) -> HolderKey {
        let HolderNow { pid, start_ticks, .. } = *holder;
        HolderKey { card: CardKey::of(card), pid, start_ticks }
    }
}

/// A process that holds a card, beyond what the driver says.
#[derive(Debug, Clone)]
pub struct Process {
    /// Of one core, since the last look.
    pub cpu: Reading<Percent>,
    pub ram: Reading<Bytes>,
    /// Whose child it is, and whose child that is, nearest first; without the first process.
    pub kin: Arc<[Kin]>,
}

/// A process that started another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kin {
    pub pid: u32,
    pub program: String,
    pub user: Option<String>,
}

/// What a card is known by: its UUID, or its place where it does not say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardKey(String);

impl CardKey {
    #[must_use]
    pub fn of(card: &CardNow) -> Self {
        let card = &card.card;
        Self::new(card.uuid.as_deref(), card.index, card.mig_slot)
    }

    #[must_use]
    pub fn new(uuid: Option<&str>, index: u32, slot: Option<u32>) -> Self {
        Self(uuid.map_or_else(|| format!("at {}", label(index, slot)), str::to_owned))
    }
}

/// What a process on a card is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderKey {
    pub card: CardKey,
    pub pid: u32,
    pub start_ticks: Option<u64>,
}
