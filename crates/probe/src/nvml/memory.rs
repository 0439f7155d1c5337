//! A card's memory: the newer call, the older one, or the host's.

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::error::reason;
use super::library::count_call;
use super::raw::{self, Gpu};
use crate::card::{MemorySource, MemoryUse};
use crate::proc::meminfo::MemInfo;
use crate::reading::{Reading, Why};
use crate::units::Bytes;

/// Call that a card's memory is read with. Found at the first look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum MemoryReader {
    /// The driver's reserve is separate.
    #[default]
    V2,
    /// The reserve counts as used.
    V1,
    /// The card has no memory of its own.
    System,
}

impl MemoryReader {
    pub fn read(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
        host: impl FnOnce() -> Option<MemInfo>,
    ) -> Reading<MemoryUse> {
        loop {
            let read = match self {
                Self::V2 => v2(nvml, gpu),
                Self::V1 => v1(nvml, gpu),
                Self::System => return of_host(host()),
            };
            *self = match read.map_err(reason) {
                Ok(memory) if memory.total.0 > 0 => return Reading::Known(memory),
                Ok(_) => return of_host(host()),
                Err(Why::NotSupported) if *self == Self::V2 => Self::V1,
                Err(Why::NotSupported) => Self::System,
                Err(why) => return Reading::Unknown(why),
            };
        }
    }
}

fn of_host(memory: Option<MemInfo>) -> Reading<MemoryUse> {
    match memory {
        Some(memory) => Reading::Known(shared(memory)),
        None => Reading::Unknown(Why::NotSupported),
    }
}

fn v2(nvml: &Nvml, gpu: Gpu) -> Result<MemoryUse, NvmlError> {
    count_call();
    let memory = gpu.on(nvml).memory_info()?;
    Ok(MemoryUse {
        total: Bytes(memory.total),
        used: Bytes(memory.used),
        free: Bytes(memory.free),
        reserved: Reading::Known(Bytes(memory.reserved)),
        source: MemorySource::Card,
    })
}

fn v1(nvml: &Nvml, gpu: Gpu) -> Result<MemoryUse, NvmlError> {
    let (total, free, used) = raw::memory_v1(nvml, gpu)?;
    Ok(MemoryUse {
        total: Bytes(total),
        used: Bytes(used),
        free: Bytes(free),
        reserved: Reading::Unknown(Why::NotSupported),
        source: MemorySource::Card,
    })
}

fn shared(host: MemInfo) -> MemoryUse {
    MemoryUse {
        total: host.total,
        used: host.total.saturating_sub(host.available),
        free: host.available,
        reserved: Reading::Unknown(Why::NotSupported),
        source: MemorySource::System,
    }
}
