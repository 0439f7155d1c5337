//! Partitions of a GPU: its MIG instances and the part of the GPU that each of them is.

use gua_core::slices::{self, GpuSize, InstanceSize, Slices};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::error::{reading, reason};
use super::library::count_call;
use super::memory::MemoryReader;
use super::raw::Gpu;
use crate::reading::{Reading, Why};
use crate::units::Bytes;

/// Division of a GPU into instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Division {
    /// It cannot be divided.
    Never,
    /// No division, or no instances.
    Whole,
    Into(Vec<Slot>),
    /// A division whose instances the driver does not return.
    Hidden(Why),
    /// The driver does not return whether it is divided.
    Unsure,
}

impl Division {
    /// Returns true if the driver returned the division.
    pub const fn is_known(&self) -> bool {
        !matches!(self, Self::Hidden(_) | Self::Unsure)
    }
}

/// Slot with an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub slot: u32,
    pub gpu: Reading<Gpu>,
    pub uuid: Reading<String>,
}

/// Reads how a GPU is divided.
pub(super) fn division_of(device: &Device<'_>) -> Result<Division, Why> {
    count_call();
    match device.mig_mode().map_err(reason) {
        Ok(mode) if mode.current == 1 => slots(device),
        Ok(_) => Ok(Division::Whole),
        Err(Why::NotSupported | Why::Gone) => Ok(Division::Never),
        Err(why) if why.concerns_the_whole_card() => Err(why),
        Err(_) => Ok(Division::Unsure),
    }
}

/// Reads the slots with instances. Empty slots, and those that do not answer, may lie between them.
fn slots(device: &Device<'_>) -> Result<Division, Why> {
    let mut found = Vec::new();
    for slot in 0..device.mig_device_count().map_err(reason)? {
        match device.mig_device_by_index(slot) {
            Ok(instance) => found.push(Slot {
                slot,
                gpu: Reading::Known(Gpu::of(&instance)),
                uuid: reading(instance.uuid()),
            }),
            Err(NvmlError::NotFound | NvmlError::InvalidArg) => {}
            Err(error) => {
                let why = reason(error);
                found.push(Slot { slot, gpu: Reading::Unknown(why), uuid: Reading::Unknown(why) });
            }
        }
    }
    let answers = found.iter().any(|slot| slot.gpu.why().is_none());
    let silence = found.first().and_then(|slot| slot.gpu.why());
    Ok(match silence {
        // None answers, so it is unknown which of them exist.
        Some(why) if !answers && why.concerns_the_whole_card() => return Err(why),
        Some(why) if !answers => Division::Hidden(why),
        _ if found.is_empty() => Division::Whole,
        _ => Division::Into(found),
    })
}

/// Returns the part of a GPU that each of its instances is.
pub(super) fn slices_of(nvml: &Nvml, gpu: Gpu, slots: &[Slot]) -> Vec<Slices> {
    let instance = |slot: &Slot| match slot.gpu {
        Reading::Known(instance) => instance_size(nvml, instance),
        Reading::Unknown(_) => InstanceSize::default(),
    };
    let instances: Vec<_> = slots.iter().map(instance).collect();
    count_call();
    let compute = gpu.on(nvml).mig_device_count().ok();
    slices::divide(&instances, GpuSize { memory: memory_of(nvml, gpu), compute })
}

fn instance_size(nvml: &Nvml, instance: Gpu) -> InstanceSize {
    count_call();
    let attributes = instance.on(nvml).attributes().ok();
    let compute = attributes.as_ref().map(|attributes| {
        [attributes.gpu_instance_slice_count, attributes.compute_instance_slice_count]
    });
    let memory = attributes.map(|attributes| Bytes::from_mib(attributes.memory_size_mb));
    let memory = memory.filter(|memory| memory.0 > 0).or_else(|| memory_of(nvml, instance));
    InstanceSize { memory, compute }
}

/// Returns the size of a card's memory; `None` if it may not be read.
fn memory_of(nvml: &Nvml, gpu: Gpu) -> Option<Bytes> {
    let memory = MemoryReader::default().read(nvml, gpu, || None).known()?;
    Some(memory.total)
}
