//! What does not change while a command is tracked.

use probe::Reading;
use probe::units::Bytes;

use crate::gpu_tracker::units::Units;

/// The machine and what is expected of it, as measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    pub ram_capacity: Reading<Bytes>,
    pub gpu_ram_capacity: Reading<Bytes>,
    pub cores: u32,
    pub expected_cores: u32,
    pub cards: u32,
    pub expected_cards: u32,
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
    pub cards: u32,
    pub expected_cards: u32,
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
            gpu_ram_capacity: gpu_ram.or((facts.cards == 0).then_some(0.0)),
            cores: facts.cores,
            expected_cores: facts.expected_cores,
            cards: facts.cards,
            expected_cards: facts.expected_cards,
        }
    }

    /// By column, in the order of the file.
    pub(crate) fn tree(&self) -> crate::gpu_tracker::Tree {
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
        crate::gpu_tracker::Tree::group(COLUMNS.into_iter().zip(values))
    }
}
