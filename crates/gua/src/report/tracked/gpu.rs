//! The cards, and which of them it held.

use probe::Why;
use probe::units::Millijoules;
use serde::Serialize;
use track::usage::{self, CardUsage, GpuUsage};

use super::answer::{Load, Parts, hundredths};
use crate::report::unknowns::{Reason, Unknowns};

/// More than one in so many looks that could not be read are too many.
const TOO_MANY_UNREAD: u64 = 10;

/// The GPUs meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gpu {
    pub cards: Vec<Card>,
    /// On all cards together.
    pub memory_peak_bytes: Parts<Option<u64>>,
    /// Held by anybody.
    pub system_memory_peak_bytes: Option<u64>,
    pub capacity_bytes: Option<u64>,
    /// Of the chosen cards, everybody's work, added up.
    pub utilization_percent: Option<Load>,
    /// The command's own part, where the driver tells.
    pub own_utilization_percent: Option<Load>,
    /// Of the chosen cards, everybody's work.
    pub energy_joules: Option<f64>,
    pub looks: u64,
    /// Looks in which a card did not tell who held it.
    pub unread_looks: u64,
    pub unknown: Unknowns,
}

/// One card meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    pub index: u32,
    pub uuid: Option<String>,
    pub name: Option<String>,
    pub capacity_bytes: Option<u64>,
    pub is_chosen: bool,
    /// Why it was of no use all the while: nobody can have held it, and no sum has it.
    #[serde(skip)]
    pub lost: Option<Why>,
    /// The most that the command held of it.
    pub memory_peak_bytes: Option<u64>,
    pub memory_source: MemorySource,
    /// Everybody's work.
    pub utilization_percent: Option<Load>,
    pub energy_joules: Option<f64>,
    pub unknown: Unknowns,
}

/// Where a card's peak comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    Samples,
    Accounting,
}

impl Gpu {
    #[must_use]
    pub fn new(usage: &GpuUsage) -> Self {
        let mut unknown = Unknowns::default();
        let [main, descendants, combined] = [
            ("memory_peak_bytes.main", usage.memory.main),
            ("memory_peak_bytes.descendants", usage.memory.descendants),
            ("memory_peak_bytes.combined", usage.memory.combined),
        ]
        .map(|(field, reading)| unknown.take(field, reading).map(|bytes| bytes.0));
        let gpu = Self {
            cards: usage.cards.iter().map(Card::new).collect(),
            memory_peak_bytes: Parts { main, descendants, combined },
            system_memory_peak_bytes: unknown
                .take("system_memory_peak_bytes", usage.system_memory)
                .map(|bytes| bytes.0),
            capacity_bytes: unknown.take("capacity_bytes", usage.capacity).map(|bytes| bytes.0),
            utilization_percent: unknown
                .take("utilization_percent", usage.utilization)
                .map(Load::from),
            own_utilization_percent: unknown
                .take("own_utilization_percent", usage.tree_utilization)
                .map(Load::from),
            energy_joules: unknown.take("energy_joules", usage.energy).map(joules),
            looks: usage.looks,
            unread_looks: usage.unread_looks,
            unknown,
        };
        gpu.without_doubtful_nothing()
    }

    /// That nothing was held is only known where all was told.
    fn without_doubtful_nothing(mut self) -> Self {
        if self.memory_peak_bytes.combined == Some(0)
            && let Some(reason) = self.doubt()
        {
            self.memory_peak_bytes.combined = None;
            self.unknown.note("memory_peak_bytes.combined", reason);
        }
        self
    }

    /// The cards that the command held memory of.
    pub fn held(&self) -> impl Iterator<Item = &Card> {
        self.cards.iter().filter(|card| card.memory_peak_bytes.is_some_and(|bytes| bytes > 0))
    }

    /// Energy of the cards that the command held, everybody's work on them included; `None` where
    /// one of them does not say, or where it is not known which were held.
    #[must_use]
    pub fn held_energy_joules(&self) -> Option<f64> {
        let joules = self.sum_of_held(|card| card.energy_joules)?;
        Some((joules * 1000.0).round() / 1000.0)
    }

    /// Utilization of the cards that the command held, added up, everybody's work on them
    /// included; likewise. With several cards the maximum is the sum of each card's own.
    #[must_use]
    pub fn held_utilization_percent(&self) -> Option<Load> {
        let sum = |figure: fn(Load) -> f64| {
            self.sum_of_held(|card| card.utilization_percent.map(figure)).map(hundredths)
        };
        Some(Load { max: sum(|load| load.max)?, mean: sum(|load| load.mean)? })
    }

    fn sum_of_held(&self, figure: impl Fn(&Card) -> Option<f64>) -> Option<f64> {
        let held: Vec<&Card> = self.held().collect();
        if held.is_empty() && !self.is_told() {
            return None;
        }
        // Not `sum`, which is -0.0 for no cards.
        held.into_iter().map(figure).try_fold(0.0, |sum, figure| Some(sum + figure?))
    }

    /// Whether too much of the time is missing to say what was not held then.
    #[must_use]
    pub const fn is_only_a_part(&self) -> bool {
        self.unread_looks.saturating_mul(TOO_MANY_UNREAD) > self.looks
    }

    /// Whether it is known of each card whether the command held it.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.doubt().is_none()
    }

    /// Why that is not known. Only the chosen cards count, and of these only those that could be
    /// held.
    #[must_use]
    pub fn doubt(&self) -> Option<Reason> {
        let mut could_be_held =
            self.cards.iter().filter(|card| card.is_chosen && card.lost.is_none());
        let of_all = self.unknown.reason("memory_peak_bytes.combined");
        let of_card = || could_be_held.find_map(|card| card.unknown.reason("memory_peak_bytes"));
        let of_time = || self.is_only_a_part().then_some(Reason::OnlyAPart);
        of_all.or_else(of_card).or_else(of_time)
    }

    /// The card that it held most of.
    #[must_use]
    pub fn fullest(&self) -> Option<&Card> {
        self.held().max_by_key(|card| (card.memory_peak_bytes, std::cmp::Reverse(card.index)))
    }
}

impl Card {
    fn new(usage: &CardUsage) -> Self {
        let mut unknown = Unknowns::default();
        Self {
            index: usage.index,
            uuid: unknown.take("uuid", usage.uuid.clone()),
            name: unknown.take("name", usage.name.clone()),
            capacity_bytes: unknown.take("capacity_bytes", usage.capacity).map(|bytes| bytes.0),
            is_chosen: usage.is_chosen,
            lost: usage.lost,
            memory_peak_bytes: unknown.take("memory_peak_bytes", usage.memory).map(|bytes| bytes.0),
            memory_source: match usage.memory_source {
                usage::MemorySource::Samples => MemorySource::Samples,
                usage::MemorySource::Accounting => MemorySource::Accounting,
            },
            utilization_percent: unknown
                .take("utilization_percent", usage.utilization)
                .map(Load::from),
            energy_joules: unknown.take("energy_joules", usage.energy).map(joules),
            unknown,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 9 · 10^15 mJ")]
fn joules(energy: Millijoules) -> f64 {
    energy.0 as f64 / 1000.0
}
