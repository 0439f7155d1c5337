//! A card's memory.

use crate::abi::structs::{Bar1Memory, Memory, MemoryV2};
use crate::abi::{Answer, Code, version_of};
use crate::gate::Device;
use crate::pointer::Out;

device_calls! {
    /// Knows no reserve, and so counts it as used.
    fn nvmlDeviceGetMemoryInfo(device, memory: Out<Memory>) {
        let told = told(device)?;
        memory.put(Memory {
            total: told.total,
            free: told.free(),
            used: told.total - told.free(),
        })
    }

    fn nvmlDeviceGetMemoryInfo_v2(device, memory: Out<MemoryV2>) {
        if memory.get()?.version != version_of::<MemoryV2>(2) {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let told = told(device)?;
        memory.put(MemoryV2 {
            version: version_of::<MemoryV2>(2),
            total: told.total,
            reserved: told.reserved,
            free: told.free(),
            used: told.total - told.free() - told.reserved,
        })
    }

    /// A window as large as the place's memory, of which each process takes a little.
    fn nvmlDeviceGetBAR1MemoryInfo(device, memory: Out<Bar1Memory>) {
        let (total, _) = size_of_place(device);
        let total = total.checked_next_power_of_two().unwrap_or(u64::MAX);
        let used = window_used(device).min(total);
        memory.put(Bar1Memory { total, free: total - used, used })
    }
}

/// What the driver tells of a place's memory, in bytes.
struct Told {
    total: u64,
    reserved: u64,
    used: u64,
}

impl Told {
    fn free(&self) -> u64 {
        self.total.saturating_sub(self.reserved.saturating_add(self.used))
    }
}

fn told(device: &Device<'_>) -> Answer<Told> {
    if device.card().memory.unified {
        return Err(Code::NOT_SUPPORTED);
    }
    let (total, reserved) = size_of_place(device);
    let used = device.call.scenario().memory_used_at(device.place, device.call.at);
    Ok(Told { total, reserved, used })
}

/// Total and reserve; an instance has its share of the reserve taken off already.
fn size_of_place(device: &Device<'_>) -> (u64, u64) {
    let memory = device.card().memory;
    match device.place.instance {
        Some(instance) => (instance.memory, 0),
        None => (memory.total, memory.reserved),
    }
}

fn window_used(device: &Device<'_>) -> u64 {
    let processes = device.call.scenario().processes_at(device.place, device.call.at);
    (1 << 20) + (2 << 20) * processes.map(|_| 1).sum::<u64>()
}
