//! The cards of a scenario and their MIG instances.

use std::collections::HashSet;
use std::ops::Range as Bytes;

use toml::Spanned;

use crate::load::Load;
use crate::model::{Card, Instance, Memory, Mig, Pci, Power, Range};
use crate::noise;
use crate::parse::{Wrong, version, wrong};
use crate::typed::{self, CardRef};

pub fn cards(typed: Vec<Spanned<typed::Card>>, seed: u64) -> Result<Vec<Card>, Wrong> {
    let mut uuids = HashSet::new();
    let mut cards = Vec::with_capacity(typed.len());
    for (index, spanned) in (0_u32..).zip(typed) {
        let span = spanned.span();
        let card = card(spanned.into_inner(), index, seed)?;
        let instances = card.mig.iter().flat_map(|mig| &mig.instances).map(|i| &i.uuid);
        for uuid in std::iter::once(&card.uuid).chain(instances) {
            if !uuids.insert(uuid.clone()) {
                return wrong(span, format!("two cards have the UUID {uuid}"));
            }
        }
        cards.push(card);
    }
    Ok(cards)
}

fn card(typed: typed::Card, index: u32, seed: u64) -> Result<Card, Wrong> {
    let total = typed.memory.get_ref().0;
    let reserved = typed.reserved.map_or(total / 128, |size| size.0);
    if reserved >= total {
        return wrong(typed.memory.span(), "`memory` must be more than what is `reserved`");
    }
    let range = |ends: Option<typed::Ends>, idle, full| {
        ends.map_or(Range { idle, full }, |ends| Range { idle: ends.idle.0, full: ends.full.0 })
    };
    let load = |load: Option<Load>| load.unwrap_or(Load::constant(0.0));
    Ok(Card {
        index,
        minor: typed.minor.unwrap_or(index),
        uuid: typed.uuid.unwrap_or_else(|| made_up_uuid("GPU", seed, u64::from(index))),
        name: typed.name,
        serial: typed.serial.unwrap_or_else(|| format!("13200210{index:05}")),
        pci: pci(typed.bus_id.as_ref(), index)?,
        memory: Memory {
            total,
            reserved,
            unattributed: typed.unattributed.map_or(0, |size| size.0),
            unified: typed.unified_memory,
        },
        utilization: typed.utilization,
        memory_utilization: load(typed.memory_utilization),
        encoder: load(typed.encoder),
        decoder: load(typed.decoder),
        power: power(typed.power),
        temperature: range(typed.temperature, 34.0, 66.0),
        sm_clock: range(typed.sm_clock, 210.0, 1410.0),
        memory_clock: range(typed.memory_clock, 1593.0, 1593.0),
        fan: fan(typed.fan)?,
        persistence: typed.persistence,
        compute_capability: capability(typed.compute_capability.as_ref())?,
        gpm: typed.gpm,
        accounting: typed.accounting,
        mig: mig(typed.mig_slots, typed.mig, index, seed)?,
    })
}

fn power(typed: Option<typed::Power>) -> Power {
    let Some(typed) = typed else {
        return Power { idle_watts: 58.0, full_watts: 400.0, limit_watts: 400.0 };
    };
    let typed::Power { idle, full, limit } = typed;
    Power { idle_watts: idle.0, full_watts: full.0, limit_watts: limit.unwrap_or(full).0 }
}

fn fan(typed: Option<Spanned<u32>>) -> Result<Option<u32>, Wrong> {
    match typed {
        Some(typed) if *typed.get_ref() > 100 => {
            let reason = format!("{} is not a percentage; expected 0 to 100", typed.get_ref());
            wrong(typed.span(), reason)
        }
        typed => Ok(typed.map(Spanned::into_inner)),
    }
}

/// `DOMAIN:BUS:DEVICE.0` in hexadecimal, as nvidia-smi prints it.
fn pci(typed: Option<&Spanned<String>>, index: u32) -> Result<Pci, Wrong> {
    let Some(typed) = typed else {
        return Ok(Pci { domain: 0, bus: 0x10 + index, device: 0 });
    };
    let hex = |part: Option<&str>| part.and_then(|part| u32::from_str_radix(part, 16).ok());
    let mut parts = typed.get_ref().trim_end_matches(".0").split(':');
    match (hex(parts.next()), hex(parts.next()), hex(parts.next()), parts.next()) {
        (Some(domain), Some(bus), Some(device), None) => Ok(Pci { domain, bus, device }),
        _ => wrong(typed.span(), "`bus_id` must look like 00000000:3B:00.0"),
    }
}

fn capability(typed: Option<&Spanned<String>>) -> Result<(i32, i32), Wrong> {
    let Some(typed) = typed else {
        return Ok((8, 0));
    };
    match version(typed.get_ref()) {
        Some(pair) => Ok(pair),
        None => wrong(typed.span(), "`compute_capability` must look like \"9.0\""),
    }
}

fn mig(
    slots: Option<u32>,
    typed: Vec<Spanned<typed::Instance>>,
    card: u32,
    seed: u64,
) -> Result<Option<Mig>, Wrong> {
    if slots.is_none() && typed.is_empty() {
        return Ok(None);
    }
    let slots = slots.unwrap_or(7);
    let mut instances: Vec<Instance> = Vec::with_capacity(typed.len());
    for spanned in typed {
        let span = spanned.span();
        let typed = spanned.into_inner();
        if typed.slot >= slots {
            return wrong(span, format!("slot {} is beyond the card's {slots}", typed.slot));
        }
        if instances.iter().any(|other| other.slot == typed.slot) {
            return wrong(span, format!("slot {} is taken twice", typed.slot));
        }
        let place = u64::from(card) << 8 | u64::from(typed.slot) | 1 << 40;
        instances.push(Instance {
            slot: typed.slot,
            uuid: typed.uuid.unwrap_or_else(|| made_up_uuid("MIG", seed, place)),
            profile: typed.profile,
            memory: typed.memory.0,
            gpu_instance: typed.gpu_instance.unwrap_or(typed.slot + 1),
            compute_instance: typed.compute_instance,
            utilization: typed.utilization,
        });
    }
    Ok(Some(Mig { slots, instances }))
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

/// The card that is meant, or a refusal at the place where it is named.
pub fn find<'a>(
    cards: &'a [Card],
    wanted: &CardRef,
    span: Bytes<usize>,
) -> Result<&'a Card, Wrong> {
    let found = cards.iter().find(|card| match wanted {
        CardRef::Index(index) => card.index == *index,
        CardRef::Uuid(uuid) => card.uuid == *uuid,
    });
    match found {
        Some(card) => Ok(card),
        None => wrong(span, format!("there is no card {wanted}; the scenario has {}", cards.len())),
    }
}
