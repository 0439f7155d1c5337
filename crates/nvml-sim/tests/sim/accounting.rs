//! The driver's account of processes, running and ended.

use std::mem::zeroed;
use std::ptr::null_mut;

use nvml_wrapper::error::NvmlError;

use crate::stage::{FROZEN, ORIGIN};

const NOT_FOUND: u32 = 6;
const INSUFFICIENT_SIZE: u32 = 7;

fn accounts() -> String {
    format!(
        "{FROZEN}
        [[card]]
        accounting = true
        [[card]]
        [[process]]
        pid = 100
        cards = [0, 1]
        memory = \"3GiB\"
        peak = \"5GiB\"
        sm = 40
        begin = \"-10s\"
        [[process]]
        pid = 101
        card = 0
        memory = \"2GiB\"
        begin = \"-30s\"
        end = \"-20s\"
        [[process]]
        pid = 102
        card = 0
        memory = \"unknown\"
        begin = \"-1s\"
        [[process]]
        pid = 103
        card = 0
        memory = \"1GiB\"
        begin = \"1h\"
        "
    )
}

#[test]
fn a_process_has_an_account_of_its_life_until_now() {
    play!(&accounts(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        assert!(card.is_accounting_enabled().unwrap());
        let stats = card.accounting_stats_for(100).unwrap();
        assert_eq!(stats.max_memory_usage, Some(5 << 30));
        assert_eq!((stats.is_running, stats.time), (true, 0));
        assert_eq!(stats.gpu_utilization, Some(40));
        assert_eq!(stats.start_time, ORIGIN - 10_000_000);
        assert_eq!(card.accounting_stats_for(102).unwrap().max_memory_usage, None);
    });
}

/// Trap: after a process has ended, its account is still there.
#[test]
fn an_ended_process_is_still_accounted_for() {
    play!(&accounts(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        assert!(card.running_compute_processes().unwrap().iter().all(|process| process.pid != 101));
        let stats = card.accounting_stats_for(101).unwrap();
        assert_eq!(stats.max_memory_usage, Some(2 << 30));
        assert_eq!((stats.is_running, stats.time), (false, 10_000));
        assert!(matches!(card.accounting_stats_for(103), Err(NvmlError::NotFound)));
    });
}

#[test]
fn the_pids_are_those_that_have_an_account() {
    play!(&accounts(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        assert_eq!(card.accounting_buffer_size().unwrap(), 4000);
        assert_eq!(card.accounting_pids().unwrap(), [100, 101, 102]);
        // SAFETY: as the header says; without a buffer only the count is written.
        unsafe {
            let (mut count, handle) = (0, card.handle());
            let code = nvml.lib().nvmlDeviceGetAccountingPids(handle, &raw mut count, null_mut());
            assert_eq!((code, count), (INSUFFICIENT_SIZE, 3));
            let mut stats = zeroed();
            let code = nvml.lib().nvmlDeviceGetAccountingStats(handle, 9, &raw mut stats);
            assert_eq!(code, NOT_FOUND);
        }
    });
}

#[test]
fn a_card_whose_accounting_is_off_keeps_nothing() {
    play!(&accounts(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(1).unwrap();
        assert!(!card.is_accounting_enabled().unwrap());
        assert!(matches!(card.accounting_stats_for(100), Err(NvmlError::NotSupported)));
        assert!(matches!(card.accounting_pids(), Err(NvmlError::NotSupported)));
        assert!(matches!(card.accounting_buffer_size(), Err(NvmlError::NotSupported)));
    });
}
