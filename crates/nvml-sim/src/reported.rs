//! How the driver puts what it reports, for NVML and `nvidia-smi` alike.

use scenario::model::Pci;
use scenario::state::Place;
use scenario::{Card, Moment, Scenario};

/// The nearest whole number, as percentages, milliwatts and MHz are reported.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and nothing here is negative"
)]
pub fn whole(value: f64) -> u32 {
    value.round() as u32
}

/// A place on the bus, as in `00000000:3B:00.0`.
#[must_use]
pub fn bus_id(place: Pci) -> String {
    format!("{:08X}:{:02X}:{:02X}.0", place.domain, place.bus, place.device)
}

/// Whether MIG is on; `None` for a card that has no such mode. The large cards of each
/// generation have it, on or off.
#[must_use]
pub fn mig_mode(card: &Card) -> Option<bool> {
    match (&card.mig, card.compute_capability) {
        (Some(_), _) => Some(true),
        (None, (8..=10, 0)) => Some(false),
        (None, _) => None,
    }
}

/// Whether anything holds the card or works on it, and so keeps its clocks up.
#[must_use]
pub fn is_busy(scenario: &Scenario, card: &Card, at: Moment) -> bool {
    let place = Place::card(card);
    let is_held = scenario.processes_at(place, at).next().is_some();
    is_held || scenario.utilization_at(place, at) >= 1.0
}
