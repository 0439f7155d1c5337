//! What does not change while a command is tracked.

use std::path::Path;

use probe::nvml::OpenError;
use probe::units::Bytes;
use probe::{Reading, Why};

use crate::gpu::Available;
use crate::gpu_tracker::Tree;
use crate::gpu_tracker::units::Units;
use crate::kernel;
use crate::options::Cards;

/// The machine and what is expected of it, as measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    pub ram_capacity: Reading<Bytes>,
    pub gpu_ram_capacity: Reading<Bytes>,
    pub cores: u32,
    pub expected_cores: u32,
    pub cards: Reading<u32>,
    pub expected_cards: Reading<u32>,
}

/// The machine's cards, as far as they matter here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountedCards {
    pub all: Reading<u32>,
    pub chosen: Reading<u32>,
    /// Of all of them.
    pub memory: Reading<Bytes>,
}

impl CountedCards {
    const fn unknown(why: Why) -> Self {
        Self {
            all: Reading::Unknown(why),
            chosen: Reading::Unknown(why),
            memory: Reading::Unknown(why),
        }
    }

    /// Those that the driver has told of. Where none is installed there are none; with one that
    /// does not answer, or fails, nobody knows.
    #[must_use]
    pub fn new(told: Result<&[Available], &OpenError>, chosen: &Cards) -> Self {
        let cards = match told {
            Ok(cards) => cards,
            Err(OpenError::LibraryNotFound { .. }) => &[],
            Err(OpenError::TimedOut { .. }) => return Self::unknown(Why::TimedOut),
            Err(_) => return Self::unknown(Why::NotTold),
        };
        let count = |count: usize| Reading::Known(u32::try_from(count).unwrap_or(u32::MAX));
        let all = count(cards.len());
        Self {
            all,
            chosen: match chosen {
                Cards::All => all,
                Cards::None => count(0),
                Cards::Only(uuids) => count(uuids.len()),
            },
            memory: cards.iter().map(|card| card.memory).fold(Reading::Known(Bytes(0)), sum),
        }
    }
}

/// Unknown where one of them is.
fn sum(all: Reading<Bytes>, one: Reading<Bytes>) -> Reading<Bytes> {
    match (all, one) {
        (Reading::Known(all), Reading::Known(one)) => {
            Reading::Known(Bytes(all.0.saturating_add(one.0)))
        }
        (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => Reading::Unknown(why),
    }
}

impl Facts {
    /// This machine's. All cores are expected to be used when `None`.
    #[must_use]
    pub fn of_this_machine(expected_cores: Option<u32>, cards: CountedCards) -> Self {
        let ram = probe::proc::meminfo::of_host(Path::new("/")).map(|memory| memory.total);
        let cores = kernel::cores();
        Self {
            ram_capacity: ram.map_or(Reading::Unknown(Why::NotTold), Reading::Known),
            gpu_ram_capacity: cards.memory,
            cores,
            expected_cores: expected_cores.unwrap_or(cores),
            cards: cards.all,
            expected_cards: cards.chosen,
        }
    }
}

/// The same as a tracking file has it: the first row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Static {
    pub units: Units,
    /// `None` where it is not known.
    pub ram_capacity: Option<f64>,
    pub gpu_ram_capacity: Option<f64>,
    pub cores: u32,
    pub expected_cores: u32,
    /// `None` where it is not known, here and below.
    pub cards: Option<u32>,
    pub expected_cards: Option<u32>,
}

/// The columns of the first row.
pub(super) const COLUMNS: [&str; 9] = [
    "ram_unit",
    "gpu_ram_unit",
    "time_unit",
    "ram_system_capacity",
    "gpu_ram_system_capacity",
    "system_core_count",
    "n_expected_cores",
    "system_gpu_count",
    "n_expected_gpus",
];

impl Static {
    pub(super) fn new(facts: &Facts, units: Units) -> Self {
        let gpu_ram = facts.gpu_ram_capacity.known().map(|bytes| units.gpu_ram.of(bytes));
        Self {
            units,
            ram_capacity: facts.ram_capacity.known().map(|bytes| units.ram.of(bytes)),
            // No card has no memory: that is known to be 0.
            gpu_ram_capacity: gpu_ram.or((facts.cards == Reading::Known(0)).then_some(0.0)),
            cores: facts.cores,
            expected_cores: facts.expected_cores,
            cards: facts.cards.known(),
            expected_cards: facts.expected_cards.known(),
        }
    }

    /// By column, in the order of the file.
    #[must_use]
    pub fn tree(&self) -> Tree {
        let values = [
            self.units.ram.name().into(),
            self.units.gpu_ram.name().into(),
            self.units.time.name().into(),
            self.ram_capacity.into(),
            self.gpu_ram_capacity.into(),
            self.cores.into(),
            self.expected_cores.into(),
            self.cards.into(),
            self.expected_cards.into(),
        ];
        Tree::group(COLUMNS.into_iter().zip(values))
    }
}
