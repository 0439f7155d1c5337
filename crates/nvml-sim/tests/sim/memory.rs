//! A card's memory in its two versions, and where there is none to tell.

use std::mem::zeroed;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::{nvmlMemory_t, nvmlMemory_v2_t};

use crate::stage::FROZEN;

const GIB: u64 = 1 << 30;

#[test]
fn the_first_version_counts_the_reserve_as_used_and_the_second_does_not() {
    let text = format!(
        "{FROZEN}\n[[card]]\nmemory = \"40GiB\"\nreserved = \"2GiB\"\nunattributed = \"3GiB\"\n\
         [[process]]\npid = 1\ncard = 0\nmemory = \"5GiB\"\n"
    );
    play!(&text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let v2 = card.memory_info().unwrap();
        assert_eq!(
            (v2.total, v2.reserved, v2.used, v2.free),
            (40 * GIB, 2 * GIB, 8 * GIB, 30 * GIB)
        );
        // SAFETY: as the header says.
        unsafe {
            let mut v1: nvmlMemory_t = zeroed();
            assert_eq!(nvml.lib().nvmlDeviceGetMemoryInfo(card.handle(), &raw mut v1), 0);
            assert_eq!((v1.total, v1.used, v1.free), (40 * GIB, 10 * GIB, 30 * GIB));
            let mut unversioned: nvmlMemory_v2_t = zeroed();
            let out = &raw mut unversioned;
            assert_eq!(nvml.lib().nvmlDeviceGetMemoryInfo_v2(card.handle(), out), 25);
        }
        assert_eq!(card.bar1_memory_info().unwrap().total, 64 * GIB);
    });
}

#[test]
fn more_held_than_there_is_leaves_nothing_free() {
    let text = "[[card]]\nmemory = \"8GiB\"\nreserved = \"1GiB\"\n\
                [[process]]\npid = 1\ncard = 0\nmemory = \"50GiB\"\n";
    play!(text, |stage| {
        let nvml = stage.nvml();
        let memory = nvml.device_by_index(0).unwrap().memory_info().unwrap();
        assert_eq!((memory.free, memory.used, memory.reserved), (0, 7 * GIB, GIB));
    });
}

#[test]
fn a_card_that_shares_the_hosts_memory_has_none_to_tell() {
    play!("[[card]]\nunified_memory = true", |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        assert!(matches!(card.memory_info(), Err(NvmlError::NotSupported)));
    });
}
