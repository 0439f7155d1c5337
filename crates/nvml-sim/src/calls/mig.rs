//! Cards that are divided into instances.

use std::ffi::c_uint;

use scenario::Instance;
use scenario::state::Place;

use crate::abi::constants::{DEVICE_MIG_DISABLE, DEVICE_MIG_ENABLE};
use crate::abi::structs::DeviceAttributes;
use crate::abi::{Answer, Code};
use crate::gate::Device;
use crate::handle::Handle;
use crate::pointer::Out;
use crate::reported::mig_mode;

device_calls! {
    fn nvmlDeviceGetMigMode(device, current: Out<c_uint>, pending: Out<c_uint>) {
        pending.check()?;
        let is_on = mig_mode(device.whole_card()?).ok_or(Code::NOT_SUPPORTED)?;
        let mode = if is_on { DEVICE_MIG_ENABLE } else { DEVICE_MIG_DISABLE };
        current.put(mode)?;
        pending.put(mode)
    }

    fn nvmlDeviceGetMaxMigDeviceCount(device, count: Out<c_uint>) {
        count.put(device.whole_card()?.mig.as_ref().map_or(0, |mig| mig.slots))
    }

    /// Slots may be empty; a caller has to go on past them.
    fn nvmlDeviceGetMigDeviceHandleByIndex(device, index: c_uint, instance: Out<Handle>) {
        let card = device.whole_card()?;
        let mig = card.mig.as_ref().ok_or(Code::NOT_SUPPORTED)?;
        if index >= mig.slots {
            return Err(Code::INVALID_ARGUMENT);
        }
        let found = card.instance(index).ok_or(Code::NOT_FOUND)?;
        instance.put(Handle::of(&found.uuid))
    }

    fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device, parent: Out<Handle>) {
        instance_of(device)?;
        parent.put(Handle::of(&device.card().uuid))
    }

    fn nvmlDeviceIsMigDeviceHandle(device, is_mig: Out<c_uint>) {
        is_mig.put(device.place.instance.map_or(0, |_| 1))
    }

    fn nvmlDeviceGetGpuInstanceId(device, id: Out<c_uint>) {
        id.put(instance_of(device)?.gpu_instance)
    }

    fn nvmlDeviceGetComputeInstanceId(device, id: Out<c_uint>) {
        id.put(instance_of(device)?.compute_instance)
    }

    fn nvmlDeviceGetAttributes(device, attributes: Out<DeviceAttributes>) {
        attributes.put(attributes_of(device.place)?)
    }

    fn nvmlDeviceGetAttributes_v2(device, attributes: Out<DeviceAttributes>) {
        attributes.put(attributes_of(device.place)?)
    }
}

fn instance_of<'a>(device: &Device<'a>) -> Answer<&'a Instance> {
    device.place.instance.ok_or(Code::INVALID_ARGUMENT)
}

fn attributes_of(place: Place<'_>) -> Answer<DeviceAttributes> {
    let instance = place.instance.ok_or(Code::NOT_SUPPORTED)?;
    let [slices, compute_slices] = slices_of(&instance.profile);
    Ok(DeviceAttributes {
        multiprocessor_count: compute_slices.saturating_mul(14),
        shared_copy_engine_count: slices,
        shared_decoder_count: slices / 2,
        shared_encoder_count: 0,
        shared_jpeg_count: 0,
        shared_ofa_count: 0,
        gpu_instance_slice_count: slices,
        compute_instance_slice_count: compute_slices,
        memory_size_mb: instance.memory >> 20,
    })
}

/// Returns the compute slices of the GPU instance and of the compute instance: 3 and 3 of `3g.40gb`, 3 and 1
/// of `1c.3g.40gb`.
fn slices_of(profile: &str) -> [u32; 2] {
    let number = |part: &str| part.parse().ok();
    let (compute, gpu) = match profile.split_once("c.") {
        Some((compute, gpu)) => (number(compute), gpu),
        None => (None, profile),
    };
    let slices = gpu.split('g').next().and_then(number).unwrap_or(1);
    [slices, compute.unwrap_or(slices)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_slices_of_both_instances() {
        let profiles = ["3g.40gb", "1g.10gb", "1c.3g.40gb", "7g.80gb", "odd"];
        assert_eq!(profiles.map(slices_of), [[3, 3], [1, 1], [3, 1], [7, 7], [1, 1]]);
    }
}
