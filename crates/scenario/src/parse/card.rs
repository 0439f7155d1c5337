//! The cards of a scenario and their MIG instances.

use std::collections::HashSet;

use crate::load::Load;
use crate::model::{Card, Instance, Memory, Mig, Pci, Power, Range};
use crate::noise;
use crate::parse::load::load;
use crate::parse::table::{Table, Wrong};
use crate::parse::value::{quantity, size, version};

/// Reads all cards. Their UUIDs, and those of their instances, must differ.
pub fn cards(file: &mut Table<'_>, seed: u64) -> Result<Vec<Card>, Wrong> {
    let mut uuids = HashSet::new();
    file.tables("card", |mut table, index| {
        let card = card(&mut table, index, seed)?;
        let instances = card.mig.iter().flat_map(|mig| &mig.instances).map(|i| &i.uuid);
        for uuid in std::iter::once(&card.uuid).chain(instances) {
            if !uuids.insert(uuid.clone()) {
                table.refuse(format!("two cards have the UUID {uuid}"));
            }
        }
        table.finish(card)
    })
}

fn card(table: &mut Table<'_>, index: u32, seed: u64) -> Result<Card, Wrong> {
    let zero = || Load::constant(0.0);
    Ok(Card {
        index,
        name: table.get("name").unwrap_or_else(|| "NVIDIA A100-SXM4-80GB".into()),
        uuid: table.get("uuid").unwrap_or_else(|| made_up_uuid("GPU", seed, u64::from(index))),
        minor: table.get("minor").unwrap_or(index),
        serial: table.get("serial").unwrap_or_else(|| format!("13200210{index:05}")),
        pci: table.text("bus_id", pci).unwrap_or(Pci { domain: 0, bus: 0x10 + index, device: 0 }),
        memory: memory(table),
        utilization: table.get_with("utilization", load),
        memory_utilization: table.get_with("memory_utilization", load).unwrap_or_else(zero),
        encoder: table.get_with("encoder", load).unwrap_or_else(zero),
        decoder: table.get_with("decoder", load).unwrap_or_else(zero),
        power: power(table),
        temperature: range(table, "temperature", 34.0, 66.0),
        sm_clock: range(table, "sm_clock", 210.0, 1410.0),
        memory_clock: range(table, "memory_clock", 1593.0, 1593.0),
        fan: table.get_as("fan", fan),
        persistence: table.get("persistence").unwrap_or(true),
        compute_capability: table.text("compute_capability", capability).unwrap_or((8, 0)),
        gpm: table.get("gpm").unwrap_or_default(),
        accounting: table.get("accounting").unwrap_or_default(),
        mig: mig(table, index, seed)?,
    })
}

fn memory(table: &mut Table<'_>) -> Memory {
    let total = table.text("memory", size).unwrap_or(80 << 30);
    let reserved = table.text("reserved", size).unwrap_or(total / 128);
    if reserved >= total {
        table.refuse_at("memory", "`memory` must be more than what is `reserved`");
    }
    let unattributed = table.text("unattributed", size).unwrap_or_default();
    let unified = table.get("unified_memory").unwrap_or_default();
    Memory { total, reserved, unattributed, unified }
}

fn power(table: &mut Table<'_>) -> Power {
    let power = table.get_with("power", |value| {
        let mut table = Table::new(value)?;
        let [idle_watts, full_watts] = ["idle", "full"].map(|key| table.need_as(key, quantity));
        let limit_watts = table.get_as("limit", quantity).unwrap_or(full_watts);
        table.finish(Power { idle_watts, full_watts, limit_watts })
    });
    power.unwrap_or(Power { idle_watts: 58.0, full_watts: 400.0, limit_watts: 400.0 })
}

fn range(table: &mut Table<'_>, key: &'static str, idle: f64, full: f64) -> Range {
    let range = table.get_with(key, |value| {
        let mut table = Table::new(value)?;
        let [idle, full] = ["idle", "full"].map(|key| table.need_as(key, quantity));
        table.finish(Range { idle, full })
    });
    range.unwrap_or(Range { idle, full })
}

fn fan(percent: u32) -> Result<u32, String> {
    if percent <= 100 {
        return Ok(percent);
    }
    Err(format!("{percent} is not a percentage; expected 0 to 100"))
}

/// Reads `DOMAIN:BUS:DEVICE.0` in hexadecimal, as nvidia-smi prints it.
fn pci(text: &str) -> Result<Pci, String> {
    let hex = |part: Option<&str>| part.and_then(|part| u32::from_str_radix(part, 16).ok());
    let mut parts = text.trim_end_matches(".0").split(':');
    match (hex(parts.next()), hex(parts.next()), hex(parts.next()), parts.next()) {
        (Some(domain), Some(bus), Some(device), None) => Ok(Pci { domain, bus, device }),
        _ => Err("`bus_id` must look like 00000000:3B:00.0".into()),
    }
}

fn capability(text: &str) -> Result<(i32, i32), String> {
    version(text).ok_or_else(|| "`compute_capability` must look like \"9.0\"".into())
}

fn mig(table: &mut Table<'_>, card: u32, seed: u64) -> Result<Option<Mig>, Wrong> {
    let typed_slots = table.get("mig_slots");
    let slots = typed_slots.unwrap_or(7);
    let mut taken = HashSet::new();
    let instances = table.tables("mig", |mut table, _| {
        let slot = table.need("slot");
        let place = u64::from(card) << 8 | u64::from(slot) | 1 << 40;
        let instance = Instance {
            slot,
            uuid: table.get("uuid").unwrap_or_else(|| made_up_uuid("MIG", seed, place)),
            profile: table.need("profile"),
            memory: table.need_text("memory", size),
            gpu_instance: table.get("gpu_instance").unwrap_or(slot.saturating_add(1)),
            compute_instance: table.get("compute_instance").unwrap_or_default(),
            utilization: table.get_with("utilization", load),
        };
        if slot >= slots {
            table.refuse(format!("slot {slot} is beyond the card's {slots}"));
        } else if !taken.insert(slot) {
            table.refuse(format!("slot {slot} is taken twice"));
        }
        table.finish(instance)
    })?;
    let has_mig = typed_slots.is_some() || !instances.is_empty();
    Ok(has_mig.then_some(Mig { slots, instances }))
}

fn made_up_uuid(prefix: &str, seed: u64, place: u64) -> String {
    let high = noise::mix(seed ^ noise::mix(place));
    let low = noise::mix(high);
    format!(
        "{prefix}-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// A card by its index or by its UUID.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(untagged, expecting = "expected a card's index or its UUID")]
pub enum CardRef {
    Index(u32),
    Uuid(String),
}

impl CardRef {
    pub fn find<'a>(&self, cards: &'a [Card]) -> Result<&'a Card, String> {
        let is_meant = |card: &&Card| match self {
            Self::Index(index) => card.index == *index,
            Self::Uuid(uuid) => card.uuid == *uuid,
        };
        cards.iter().find(is_meant).ok_or_else(|| {
            let wanted = match self {
                Self::Index(index) => index.to_string(),
                Self::Uuid(uuid) => uuid.clone(),
            };
            format!("there is no card {wanted}; the scenario has {}", cards.len())
        })
    }
}
