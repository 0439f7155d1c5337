//! Finding cards: how many there are, and by index, UUID, serial number or place on the bus.

use std::ffi::c_uint;

use scenario::Scenario;
use scenario::model::Pci;
use scenario::state::Place;

use crate::abi::constants::{UUID_TYPE_ASCII, UUID_TYPE_BINARY};
use crate::abi::structs::Uuid;
use crate::abi::{Answer, Code, version_of};
use crate::pointer::{Out, Text};

system_calls! {
    fn nvmlDeviceGetCount(call, count: Out<c_uint>) {
        count.put(cards(call.scenario()))
    }

    fn nvmlDeviceGetCount_v2(call, count: Out<c_uint>) {
        count.put(cards(call.scenario()))
    }
}

lookup_calls! {
    fn nvmlDeviceGetHandleByIndex(scenario, index: c_uint) {
        by_index(scenario, index)
    }

    fn nvmlDeviceGetHandleByIndex_v2(scenario, index: c_uint) {
        by_index(scenario, index)
    }

    fn nvmlDeviceGetHandleByUUID(scenario, uuid: Text) {
        scenario.place(uuid.read()?).ok_or(Code::NOT_FOUND)
    }

    fn nvmlDeviceGetHandleByUUIDV(scenario, uuid: Out<Uuid>) {
        by_uuid_struct(scenario, &uuid.get()?)
    }

    fn nvmlDeviceGetHandleBySerial(scenario, serial: Text) {
        let serial = serial.read()?;
        let found = scenario.cards.iter().find(|card| card.serial == serial);
        found.map(Place::card).ok_or(Code::NOT_FOUND)
    }

    fn nvmlDeviceGetHandleByPciBusId(scenario, bus_id: Text) {
        by_bus_id(scenario, bus_id.read()?)
    }

    fn nvmlDeviceGetHandleByPciBusId_v2(scenario, bus_id: Text) {
        by_bus_id(scenario, bus_id.read()?)
    }
}

fn cards(scenario: &Scenario) -> c_uint {
    c_uint::try_from(scenario.cards.len()).unwrap_or(c_uint::MAX)
}

fn by_index(scenario: &Scenario, index: c_uint) -> Answer<Place<'_>> {
    let found = scenario.cards.get(index as usize);
    found.map(Place::card).ok_or(Code::INVALID_ARGUMENT)
}

fn by_uuid_struct<'a>(scenario: &'a Scenario, uuid: &Uuid) -> Answer<Place<'a>> {
    if uuid.version != version_of::<Uuid>(1) {
        return Err(Code::ARGUMENT_VERSION_MISMATCH);
    }
    let wanted = match uuid.kind {
        UUID_TYPE_ASCII => text_of(&uuid.value)?,
        UUID_TYPE_BINARY => return by_binary_uuid(scenario, &uuid.value),
        _ => return Err(Code::INVALID_ARGUMENT),
    };
    scenario.place(wanted).ok_or(Code::NOT_FOUND)
}

fn text_of(value: &[u8]) -> Answer<&str> {
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    str::from_utf8(text).map_err(|_| Code::INVALID_ARGUMENT)
}

/// The 16 bytes that the hexadecimal digits of a card's UUID stand for.
fn by_binary_uuid<'a>(scenario: &'a Scenario, value: &[u8]) -> Answer<Place<'a>> {
    let wanted: String = value.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let found = scenario.cards.iter().find(|card| {
        let digits = card.uuid.trim_start_matches("GPU-").replace('-', "");
        digits.eq_ignore_ascii_case(&wanted)
    });
    found.map(Place::card).ok_or(Code::NOT_FOUND)
}

fn by_bus_id<'a>(scenario: &'a Scenario, bus_id: &str) -> Answer<Place<'a>> {
    let wanted = parse_bus_id(bus_id).ok_or(Code::INVALID_ARGUMENT)?;
    let found = scenario.cards.iter().find(|card| card.pci == wanted);
    found.map(Place::card).ok_or(Code::NOT_FOUND)
}

/// `DOMAIN:BUS:DEVICE.FUNCTION` in hexadecimal, where domain and function may be missing.
fn parse_bus_id(text: &str) -> Option<Pci> {
    let hex = |part: &str| u32::from_str_radix(part, 16).ok();
    let (address, _function) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = address.split(':').collect();
    let (domain, bus, device) = match parts.as_slice() {
        [bus, device] => ("0", bus, device),
        [domain, bus, device] => (*domain, bus, device),
        _ => return None,
    };
    Some(Pci { domain: hex(domain)?, bus: hex(bus)?, device: hex(device)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_ids_are_taken_in_their_short_and_long_forms() {
        let place = Some(Pci { domain: 0, bus: 0x3b, device: 0 });
        for text in ["00000000:3B:00.0", "0000:3b:00.0", "3B:00.0", "3b:00"] {
            assert_eq!(parse_bus_id(text), place, "{text}");
        }
        for text in ["", "3b", "0:0:0:0", "x:00.0"] {
            assert_eq!(parse_bus_id(text), None, "{text}");
        }
    }
}
