//! What a card is: its name, numbers and kind.

use std::ffi::{c_char, c_int, c_uint};

use scenario::Card;

use crate::abi::constants as nvml;
use crate::pointer::Out;

device_calls! {
    fn nvmlDeviceGetName(device, name: Out<c_char>, length: c_uint) {
        match device.place.instance {
            Some(instance) => {
                let full = format!("{} MIG {}", device.card().name, instance.profile);
                name.put_text(length, &full)
            }
            None => name.put_text(length, &device.card().name),
        }
    }

    fn nvmlDeviceGetUUID(device, uuid: Out<c_char>, length: c_uint) {
        uuid.put_text(length, device.place.uuid())
    }

    /// For an instance, the index that `nvmlDeviceGetMigDeviceHandleByIndex` takes.
    fn nvmlDeviceGetIndex(device, index: Out<c_uint>) {
        let slot = device.place.instance.map(|instance| instance.slot);
        index.put(slot.unwrap_or(device.card().index))
    }

    fn nvmlDeviceGetMinorNumber(device, minor: Out<c_uint>) {
        minor.put(device.whole_card()?.minor)
    }

    fn nvmlDeviceGetSerial(device, serial: Out<c_char>, length: c_uint) {
        serial.put_text(length, &device.whole_card()?.serial)
    }

    fn nvmlDeviceGetBoardId(device, id: Out<c_uint>) {
        id.put(device.whole_card()?.pci.bus << 8)
    }

    fn nvmlDeviceGetVbiosVersion(device, version: Out<c_char>, length: c_uint) {
        device.whole_card()?;
        version.put_text(length, "92.00.45.00.03")
    }

    fn nvmlDeviceGetBrand(device, brand: Out<c_uint>) {
        brand.put(brand_of(&device.card().name))
    }

    fn nvmlDeviceGetArchitecture(device, architecture: Out<c_uint>) {
        architecture.put(architecture_of(device.card()))
    }

    fn nvmlDeviceGetCudaComputeCapability(device, major: Out<c_int>, minor: Out<c_int>) {
        minor.check()?;
        let (card_major, card_minor) = device.card().compute_capability;
        major.put(card_major)?;
        minor.put(card_minor)
    }
}

fixed_calls! {
    nvmlDeviceGetMultiGpuBoard = 0;
}

fn brand_of(name: &str) -> u32 {
    let brands = [
        ("GeForce", nvml::BRAND_GEFORCE_RTX),
        ("TITAN", nvml::BRAND_TITAN),
        ("RTX", nvml::BRAND_NVIDIA_RTX),
        ("Tesla", nvml::BRAND_TESLA),
        ("NVIDIA", nvml::BRAND_NVIDIA),
    ];
    let found = brands.iter().find(|(word, _)| name.contains(word));
    found.map_or(nvml::BRAND_UNKNOWN, |(_, brand)| *brand)
}

fn architecture_of(card: &Card) -> u32 {
    match card.compute_capability {
        (5, _) => nvml::DEVICE_ARCH_MAXWELL,
        (6, _) => nvml::DEVICE_ARCH_PASCAL,
        (7, 5) => nvml::DEVICE_ARCH_TURING,
        (7, _) => nvml::DEVICE_ARCH_VOLTA,
        (8, 9) => nvml::DEVICE_ARCH_ADA,
        (8, _) => nvml::DEVICE_ARCH_AMPERE,
        (9, _) => nvml::DEVICE_ARCH_HOPPER,
        (10..=12, _) => nvml::DEVICE_ARCH_BLACKWELL,
        _ => nvml::DEVICE_ARCH_UNKNOWN,
    }
}
