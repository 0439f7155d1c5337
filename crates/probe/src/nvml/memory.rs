//! A card's memory: the newer call, the older one, or the host's.

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::raw::{self, Gpu};
use crate::card::{MemorySource, MemoryUse};
use crate::proc::meminfo::MemInfo;
use crate::reading::{Reading, Why};
use crate::units::Bytes;

/// Which way a card's memory is read. Found out once, kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum MemoryReader {
    /// With the driver's reserve apart.
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
        if *self == Self::V2 {
            match v2(nvml, gpu) {
                Ok(memory) if memory.total.0 > 0 => return Reading::Known(memory),
                Ok(_) => *self = Self::System,
                Err(error) => match Why::from(error) {
                    Why::NotSupported => *self = Self::V1,
                    why => return Reading::Unknown(why),
                },
            }
        }
        if *self == Self::V1 {
            match v1(nvml, gpu) {
                Ok(memory) if memory.total.0 > 0 => return Reading::Known(memory),
                Ok(_) => *self = Self::System,
                Err(error) => match Why::from(error) {
                    Why::NotSupported => *self = Self::System,
                    why => return Reading::Unknown(why),
                },
            }
        }
        match host() {
            Some(memory) => Reading::Known(shared(memory)),
            None => Reading::Unknown(Why::NotSupported),
        }
    }
}

fn v2(nvml: &Nvml, gpu: Gpu) -> Result<MemoryUse, NvmlError> {
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
