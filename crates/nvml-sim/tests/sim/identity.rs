//! Finding cards and telling them apart.

use std::ffi::c_char;

use nvml_wrapper::enums::device::DeviceArchitecture;
use nvml_wrapper::error::NvmlError;

use crate::stage::FROZEN;

fn two_cards() -> String {
    format!(
        "{FROZEN}
        [[card]]
        uuid = \"GPU-00112233-4455-6677-8899-aabbccddeeff\"
        name = \"NVIDIA H100 80GB HBM3\"
        compute_capability = \"9.0\"
        minor = 3
        serial = \"1654922000001\"
        bus_id = \"00000000:3B:00.0\"
        [[card]]
        uuid = \"GPU-two\"
        [[process]]
        pid = 9
        card = 0
        memory = \"1GiB\"
        command = [\"/usr/bin/python3\", \"train.py\"]
        [[process]]
        pid = 10
        card = 0
        memory = \"1GiB\"
        gone = true
        "
    )
}

#[test]
#[expect(deprecated, reason = "serial numbers are still asked for")]
fn a_card_is_found_by_index_uuid_serial_and_bus_id() {
    play!(&two_cards(), |stage| {
        let nvml = stage.nvml();
        assert_eq!(nvml.device_count().unwrap(), 2);
        let uuid = "GPU-00112233-4455-6677-8899-aabbccddeeff";
        let found = [
            nvml.device_by_index(0).unwrap(),
            nvml.device_by_uuid(uuid).unwrap(),
            nvml.device_by_serial("1654922000001").unwrap(),
            nvml.device_by_pci_bus_id("0000:3b:00.0").unwrap(),
        ];
        for card in found {
            assert_eq!(card.uuid().unwrap(), uuid);
            assert_eq!((card.index().unwrap(), card.minor_number().unwrap()), (0, 3));
            assert_eq!(card.name().unwrap(), "NVIDIA H100 80GB HBM3");
            assert_eq!(card.serial().unwrap(), "1654922000001");
            assert_eq!(card.architecture().unwrap(), DeviceArchitecture::Hopper);
            let capability = card.cuda_compute_capability().unwrap();
            assert_eq!((capability.major, capability.minor), (9, 0));
            let pci = card.pci_info().unwrap();
            assert_eq!((pci.bus_id.as_str(), pci.bus), ("00000000:3B:00.0", 0x3b));
        }
        assert!(matches!(nvml.device_by_index(2), Err(NvmlError::InvalidArg)));
        assert!(matches!(nvml.device_by_uuid("GPU-three"), Err(NvmlError::NotFound)));
    });
}

#[test]
fn a_uuid_can_come_as_a_structure() {
    play!(&two_cards(), |stage| {
        let nvml = stage.nvml();
        let mut uuid = [0_u8; 52];
        let mut ask = |version: u32, kind: u32, value: &[u8]| {
            uuid[..4].copy_from_slice(&version.to_ne_bytes());
            uuid[4..8].copy_from_slice(&kind.to_ne_bytes());
            uuid[8..].fill(0);
            uuid[8..8 + value.len()].copy_from_slice(value);
            let mut device = std::ptr::null_mut();
            // SAFETY: the bytes are laid out as the header's `nvmlUUID_v1_t`.
            unsafe { nvml.lib().nvmlDeviceGetHandleByUUIDV(uuid.as_ptr().cast(), &raw mut device) }
        };
        let v1 = 52 | 1 << 24;
        assert_eq!(ask(v1, 1, b"GPU-two"), 0);
        assert_eq!(
            ask(
                v1,
                2,
                &[
                    0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
                    0xdd, 0xee, 0xff
                ]
            ),
            0
        );
        assert_eq!(ask(v1, 2, &[7; 16]), 6);
        assert_eq!(ask(v1, 3, b""), 2);
        assert_eq!(ask(1, 1, b"GPU-two"), 25);
    });
}

#[test]
fn what_is_no_handle_and_what_does_not_fit_is_refused() {
    play!(&two_cards(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let mut name: [c_char; 96] = [0; 96];
        // SAFETY: as the header says, but for handles, which the library has to check.
        unsafe {
            let ask =
                |handle, out: *mut c_char, room| nvml.lib().nvmlDeviceGetName(handle, out, room);
            let name = name.as_mut_ptr();
            assert_eq!(ask(card.handle(), name, 21), 7);
            assert_eq!(ask(card.handle(), name, 22), 0);
            assert_eq!(ask(card.handle(), std::ptr::null_mut(), 22), 2);
            for wrong in [0_usize, 8, 0x4e56_0001, usize::MAX] {
                assert_eq!(ask(wrong as *mut _, name, 96), 2);
                assert_eq!(nvml.lib().nvmlDeviceClearAccountingPids(wrong as *mut _), 2);
            }
        }
    });
}

#[test]
fn a_process_has_a_name_while_the_host_has_it() {
    play!(&two_cards(), |stage| {
        let nvml = stage.nvml();
        assert_eq!(nvml.sys_process_name(9, 64).unwrap(), "/usr/bin/python3");
        assert!(matches!(nvml.sys_process_name(10, 64), Err(NvmlError::NotFound)));
        assert!(matches!(nvml.sys_process_name(11, 64), Err(NvmlError::NotFound)));
    });
}
