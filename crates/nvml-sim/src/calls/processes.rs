//! The lists of processes on a card, in three versions of two layouts.

use std::ffi::c_uint;

use scenario::{Kind, Process};

use crate::abi::constants::{NO_INSTANCE, VALUE_NOT_AVAILABLE};
use crate::abi::structs::{ProcessInfoV1, ProcessInfoV2};
use crate::abi::{Answer, Code};
use crate::gate::Device;
use crate::pointer::Out;

macro_rules! process_lists {
    ($($name:ident: $kind:ident as $info:ty;)*) => {
        device_calls! {
            $(fn $name(device, count: Out<c_uint>, infos: Out<$info>) {
                list(device, Kind::$kind, count, infos)
            })*
        }
    };
}

process_lists! {
    nvmlDeviceGetComputeRunningProcesses: Compute as ProcessInfoV1;
    nvmlDeviceGetComputeRunningProcesses_v2: Compute as ProcessInfoV2;
    nvmlDeviceGetComputeRunningProcesses_v3: Compute as ProcessInfoV2;
    nvmlDeviceGetGraphicsRunningProcesses: Graphics as ProcessInfoV1;
    nvmlDeviceGetGraphicsRunningProcesses_v2: Graphics as ProcessInfoV2;
    nvmlDeviceGetGraphicsRunningProcesses_v3: Graphics as ProcessInfoV2;
    nvmlDeviceGetMPSComputeRunningProcesses: Mps as ProcessInfoV1;
    nvmlDeviceGetMPSComputeRunningProcesses_v2: Mps as ProcessInfoV2;
    nvmlDeviceGetMPSComputeRunningProcesses_v3: Mps as ProcessInfoV2;
}

impl From<ProcessInfoV2> for ProcessInfoV1 {
    fn from(info: ProcessInfoV2) -> Self {
        Self { pid: info.pid, used_gpu_memory: info.used_gpu_memory }
    }
}

fn list<T>(device: &Device<'_>, kind: Kind, count: Out<c_uint>, infos: Out<T>) -> Answer
where
    T: Copy + From<ProcessInfoV2>,
{
    let room = count.get()?;
    let found: Vec<T> = device
        .call
        .scenario()
        .processes_at(device.place, device.call.at)
        .filter(|process| process.kinds.contains(&kind))
        .map(|process| T::from(info(device, process)))
        .collect();
    hand_out(device, &found, room, count, infos)
}

/// Gives a list to a caller that said how much room it has. A caller without any asks
/// for the size, which is where a fault may tell too few.
pub fn hand_out<T: Copy>(
    device: &Device<'_>,
    found: &[T],
    room: c_uint,
    count: Out<c_uint>,
    to: Out<T>,
) -> Answer {
    let needed = c_uint::try_from(found.len()).unwrap_or(c_uint::MAX);
    if to.is_null() || room == 0 {
        let told = needed.saturating_sub(device.call.flaws.short_by);
        count.put(told)?;
        return if told == 0 { Ok(()) } else { Err(Code::INSUFFICIENT_SIZE) };
    }
    count.put(needed)?;
    if room < needed {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    to.fill_longer(found, device.call.flaws.extra_bytes)
}

fn info(device: &Device<'_>, process: &Process) -> ProcessInfoV2 {
    let card = device.card();
    let instance = process.slot.and_then(|slot| card.instance(slot));
    // The parent of instances lists their processes, but not what they hold.
    let is_told = card.mig.is_none() || device.place.instance.is_some();
    ProcessInfoV2 {
        pid: process.pid,
        used_gpu_memory: process.memory.filter(|_| is_told).unwrap_or(VALUE_NOT_AVAILABLE),
        gpu_instance_id: instance.map_or(NO_INSTANCE, |instance| instance.gpu_instance),
        compute_instance_id: instance.map_or(NO_INSTANCE, |instance| instance.compute_instance),
    }
}
