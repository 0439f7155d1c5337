//! The fields of `--query-compute-apps`.

use nvidia_ml::reported::bus_id;
use scenario::Process;

use crate::reader::Reader;

/// One field: its names, the first of which is printed, its unit, and how it is read.
pub struct Field {
    pub names: &'static [&'static str],
    pub unit: Option<&'static str>,
    pub read: fn(&Reader<'_>, &Process) -> Option<String>,
}

pub const FIELDS: &[Field] = &[
    Field { names: &["gpu_name"], unit: None, read: |card, _| Some(card.card.name.clone()) },
    Field { names: &["gpu_bus_id"], unit: None, read: |card, _| Some(bus_id(card.card.pci)) },
    Field { names: &["gpu_serial"], unit: None, read: |card, _| Some(card.card.serial.clone()) },
    Field { names: &["gpu_uuid"], unit: None, read: |card, _| Some(card.card.uuid.clone()) },
    Field { names: &["pid"], unit: None, read: |_, process| Some(process.pid.to_string()) },
    Field { names: &["process_name", "name"], unit: None, read: |_, process| Some(name(process)) },
    Field {
        names: &["used_gpu_memory", "used_memory"],
        unit: Some("MiB"),
        read: |card, process| memory(card, process).map(|mib| mib.to_string()),
    },
];

/// A process that is gone has left no name behind.
pub fn name(process: &Process) -> String {
    let owner = &process.owner;
    if owner.gone {
        return "[Not Found]".into();
    }
    owner.command.first().unwrap_or(&owner.program).clone()
}

/// In MiB; a card in MIG mode does not tell.
pub fn memory(card: &Reader<'_>, process: &Process) -> Option<u64> {
    let memory = process.memory.filter(|_| card.card.mig.is_none());
    memory.map(|bytes| bytes >> 20)
}
