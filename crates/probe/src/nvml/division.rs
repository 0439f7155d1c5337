//! How a GPU is divided into MIG instances.

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;

use super::calls::count_call;
use super::error::{reading, reason};
use super::raw::Gpu;
use crate::reading::{Reading, Why};

/// How a GPU is divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Division {
    /// It cannot be.
    Never,
    /// It is not, or has no instances.
    Whole,
    Into(Vec<Slot>),
    /// It is, but the driver does not tell into what.
    Hidden(Why),
    /// The driver does not tell whether it is.
    Unsure,
}

impl Division {
    /// Whether it is worth asking again before long.
    pub const fn is_told(&self) -> bool {
        !matches!(self, Self::Hidden(_) | Self::Unsure)
    }
}

/// A slot that is taken, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub slot: u32,
    pub gpu: Reading<Gpu>,
    pub uuid: Reading<String>,
}

/// How a GPU is divided now.
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

/// The slots that are taken. They may have holes: it goes on past an empty one, and past
/// one that does not answer.
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
        // None answers: which of them are there at all is not known.
        Some(why) if !answers && why.concerns_the_whole_card() => return Err(why),
        Some(why) if !answers => Division::Hidden(why),
        _ if found.is_empty() => Division::Whole,
        _ => Division::Into(found),
    })
}
