//! The driver's account of each process, kept beyond its end.

use std::ffi::c_uint;

use scenario::Process;

use crate::abi::constants::{FEATURE_DISABLED, FEATURE_ENABLED, VALUE_NOT_AVAILABLE};
use crate::abi::structs::AccountingStats;
use crate::abi::{Answer, Code};
use crate::calls::processes::hand_out;
use crate::gate::Device;
use crate::pointer::Out;
use crate::reported::whole;

/// How many processes data-centre cards have been seen to keep account of.
const BUFFER_SIZE: u32 = 4000;

device_calls! {
    fn nvmlDeviceGetAccountingMode(device, mode: Out<c_uint>) {
        let on = device.whole_card()?.accounting;
        mode.put(if on { FEATURE_ENABLED } else { FEATURE_DISABLED })
    }

    fn nvmlDeviceGetAccountingBufferSize(device, size: Out<c_uint>) {
        check_mode(device)?;
        size.put(BUFFER_SIZE)
    }

    fn nvmlDeviceGetAccountingPids(device, count: Out<c_uint>, pids: Out<c_uint>) {
        check_mode(device)?;
        let room = count.get()?;
        let found: Vec<c_uint> = accounted(device).map(|process| process.pid).collect();
        hand_out(device, &found, room, count, pids)
    }

    fn nvmlDeviceGetAccountingStats(device, pid: c_uint, stats: Out<AccountingStats>) {
        check_mode(device)?;
        let process = accounted(device).find(|process| process.pid == pid);
        stats.put(account(device, process.ok_or(Code::NOT_FOUND)?))
    }
}

/// Refuses where nothing is kept, since the mode is off.
fn check_mode(device: &Device<'_>) -> Answer {
    if device.whole_card()?.accounting { Ok(()) } else { Err(Code::NOT_SUPPORTED) }
}

fn accounted<'a>(device: &Device<'a>) -> impl Iterator<Item = &'a Process> {
    device.call.scenario().accounted_at(device.place, device.call.at)
}

/// What a process did in its life until now.
fn account(device: &Device<'_>, process: &Process) -> AccountingStats {
    let call = &device.call;
    let end = process.end.filter(|end| *end <= call.at);
    let until = end.unwrap_or(call.at);
    let millis = (until.as_micros() - process.begin.as_micros()) / 1000;
    AccountingStats {
        gpu_utilization: whole(process.sm.mean(process.begin, until)),
        memory_utilization: 0,
        max_memory_usage: process.peak.or(process.memory).unwrap_or(VALUE_NOT_AVAILABLE),
        time: end.map_or(0, |_| u64::try_from(millis).unwrap_or(0)),
        start_time: call.time_stamp(process.begin),
        is_running: u32::from(end.is_none()),
        reserved: [0; 5],
    }
}
