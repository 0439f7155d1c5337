//! A card's figures in few characters.

use gua_core::Reason;
use gua_core::snapshot::{CardNow, UtilizationBasis};

use super::bar::Shares;
use crate::render::words::{card_name, memory_of, safe};

/// What could not be read, where there should be something.
pub const UNKNOWN: &str = "?";

pub fn name(card: &CardNow) -> String {
    card.card.name.as_deref().map_or_else(|| UNKNOWN.into(), |name| safe(card_name(name)))
}

pub fn work(card: &CardNow) -> String {
    let mark = if card.utilization_basis == Some(UtilizationBasis::Instant) { "~" } else { "" };
    let percent = card.utilization_percent;
    percent.map_or_else(|| format!("{UNKNOWN} %"), |percent| format!("{mark}{percent:.0} %"))
}

pub fn work_share(card: &CardNow) -> Option<Shares> {
    card.utilization_percent.map(|percent| Shares::one(percent / 100.0))
}

pub fn memory(card: &CardNow) -> String {
    memory_of(card.memory_used_bytes, card.memory_total_bytes)
}

/// What holders have, and what nobody has who is listed.
#[expect(clippy::cast_precision_loss, reason = "for a bar")]
pub fn memory_shares(card: &CardNow) -> Option<Shares> {
    let total = card.memory_total_bytes.filter(|total| *total > 0)? as f64;
    let used = card.memory_used_bytes?;
    let other = card.memory_unattributed_bytes.unwrap_or(0).min(used);
    Some(Shares { full: (used - other) as f64 / total, other: other as f64 / total })
}

/// Nothing for what the card does not have.
pub fn power(card: &CardNow) -> String {
    let draw = figure(card, "power_watts", card.power_watts);
    match (draw, card.power_limit_watts) {
        // As wide at rest as at work, so that nothing beside it moves.
        (Some(draw), Some(limit)) => {
            let limit = format!("{limit:.0}");
            format!("{draw:>width$}/{limit} W", width = limit.len())
        }
        (Some(draw), None) => format!("{draw} W"),
        (None, _) => String::new(),
    }
}

pub fn temperature(card: &CardNow) -> String {
    let degrees = card.temperature_celsius.map(f64::from);
    let shown = figure(card, "temperature_celsius", degrees);
    shown.map_or_else(String::new, |degrees| format!("{degrees} °C"))
}

fn figure(card: &CardNow, field: &str, value: Option<f64>) -> Option<String> {
    match (value, card.unknown.unread(field)) {
        (Some(value), _) => Some(format!("{value:.0}")),
        (None, Some(Reason::NotSupported | Reason::NotAsked)) => None,
        (None, _) => Some(UNKNOWN.to_owned()),
    }
}
