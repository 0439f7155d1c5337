//! Where a card sits on the bus, and how wide its link is.

use std::ffi::c_uint;

use scenario::model::Pci;
use scenario::state::Place;

use crate::abi::constants::{BUS_TYPE_PCIE, PCIE_UTIL_RX_BYTES, PCIE_UTIL_TX_BYTES};
use crate::abi::structs::{PciInfo, PciInfoExt, PciInfoV1, PciInfoV2};
use crate::abi::{Code, version_of};
use crate::pointer::{Out, chars};
use crate::reported::{bus_id, whole};

/// An A100 as its maker and its board number it.
const DEVICE_ID: u32 = 0x20b2_10de;
const SUB_SYSTEM_ID: u32 = 0x147f_10de;
/// A 3D controller.
const BASE_CLASS: u32 = 0x03;
const SUB_CLASS: u32 = 0x02;

device_calls! {
    fn nvmlDeviceGetPciInfo(device, pci: Out<PciInfoV1>) {
        pci.put(first_info(device.card().pci))
    }

    fn nvmlDeviceGetPciInfo_v2(device, pci: Out<PciInfoV2>) {
        pci.put(PciInfoV2 {
            v1: first_info(device.card().pci),
            pci_sub_system_id: SUB_SYSTEM_ID,
        })
    }

    fn nvmlDeviceGetPciInfo_v3(device, pci: Out<PciInfo>) {
        let place = device.card().pci;
        pci.put(PciInfo {
            bus_id_legacy: chars(&short_bus_id(place)),
            domain: place.domain,
            bus: place.bus,
            device: place.device,
            pci_device_id: DEVICE_ID,
            pci_sub_system_id: SUB_SYSTEM_ID,
            bus_id: chars(&bus_id(place)),
        })
    }

    fn nvmlDeviceGetPciInfoExt(device, pci: Out<PciInfoExt>) {
        if pci.get()?.version != version_of::<PciInfoExt>(1) {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let place = device.card().pci;
        pci.put(PciInfoExt {
            version: version_of::<PciInfoExt>(1),
            domain: place.domain,
            bus: place.bus,
            device: place.device,
            pci_device_id: DEVICE_ID,
            pci_sub_system_id: SUB_SYSTEM_ID,
            base_class: BASE_CLASS,
            sub_class: SUB_CLASS,
            bus_id: chars(&bus_id(place)),
        })
    }

    /// In KB/s. A card at work is fed ten times as much as it gives back.
    fn nvmlDeviceGetPcieThroughput(device, counter: c_uint, throughput: Out<c_uint>) {
        let place = Place::card(device.whole_card()?);
        let per_percent = match counter {
            PCIE_UTIL_TX_BYTES => 2_000.0,
            PCIE_UTIL_RX_BYTES => 20_000.0,
            _ => return Err(Code::INVALID_ARGUMENT),
        };
        let utilization = device.call.scenario().utilization_at(place, device.call.at);
        throughput.put(whole(per_percent * utilization))
    }
}

fixed_calls! {
    nvmlDeviceGetBusType = BUS_TYPE_PCIE;
    nvmlDeviceGetCurrPcieLinkGeneration = 4;
    nvmlDeviceGetMaxPcieLinkGeneration = 4;
    nvmlDeviceGetGpuMaxPcieLinkGeneration = 4;
    nvmlDeviceGetCurrPcieLinkWidth = 16;
    nvmlDeviceGetMaxPcieLinkWidth = 16;
    /// In MB/s, of one lane.
    nvmlDeviceGetPcieSpeed = 16_000;
    nvmlDeviceGetPcieReplayCounter = 0;
}

fn first_info(place: Pci) -> PciInfoV1 {
    PciInfoV1 {
        bus_id: chars(&short_bus_id(place)),
        domain: place.domain,
        bus: place.bus,
        device: place.device,
        pci_device_id: DEVICE_ID,
    }
}

fn short_bus_id(place: Pci) -> String {
    format!("{:04X}:{:02X}:{:02X}.0", place.domain, place.bus, place.device)
}
