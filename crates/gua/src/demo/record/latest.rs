//! What was last seen of a simulated host, as a recorder would have stored it.

use std::sync::Arc;
use std::time::Duration;

use gua_core::Thresholds;
use gua_core::units::UnixMillis;
use gua_store::Latest;
use serde::Serialize;

use crate::demo::play::Scene;
use crate::simulated::{SimulatedHost, Unit};

/// Time that the last look covers.
const COVERED: Duration = Duration::from_secs(5);

/// Returns a row for the host and one for each card, of the last millisecond before a time.
pub(super) fn latest(
    scene: &Scene,
    units: &[Unit],
    until: UnixMillis,
    thresholds: Thresholds,
) -> Vec<Latest> {
    let mut host = SimulatedHost::new(scene.scenario.clone(), scene.origin, thresholds);
    let snapshot = host.snapshot(UnixMillis(until.0 - 1), COVERED);
    let host = to_json(&snapshot.host).map(|body| Latest { card: None, body });
    // Both are in the order of the scenario.
    let cards = units.iter().zip(&snapshot.cards).filter_map(|(unit, card)| {
        Some(Latest { card: Some(Arc::clone(&unit.facts)), body: to_json(card)? })
    });
    host.into_iter().chain(cards).collect()
}

/// Returns JSON; numbers and texts can always be written.
fn to_json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}
