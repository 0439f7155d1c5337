//! SM use of each process, in the driver's last sample period or since the caller's last query.

use std::ffi::{c_uint, c_ulonglong};

use scenario::samples::ProcessSample;

use crate::abi::structs::{
    ProcessUtilizationInfo, ProcessUtilizationSample, ProcessesUtilizationInfo,
};
use crate::abi::{Answer, Code, version_of};
use crate::calls::processes::hand_out;
use crate::gate::{Call, Device};
use crate::pointer::Out;
use crate::reported::whole;

device_calls! {
    fn nvmlDeviceGetProcessUtilization(
        device,
        samples: Out<ProcessUtilizationSample>,
        count: Out<c_uint>,
        last_seen: c_ulonglong,
    ) {
        let room = count.get()?;
        let found = newer(device, last_seen)?;
        // Unlike the lists of processes, this call takes only NULL for a size query.
        if !samples.is_null() && room == 0 {
            count.put(c_uint::try_from(found.len()).unwrap_or(c_uint::MAX))?;
            return Err(Code::INSUFFICIENT_SIZE);
        }
        hand_out(device, &found, room, count, samples)
    }

    fn nvmlDeviceGetProcessesUtilizationInfo(device, info: Out<ProcessesUtilizationInfo>) {
        let asked = info.get()?;
        if asked.version != version_of::<ProcessesUtilizationInfo>(1) {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let found = newer(device, asked.last_seen_time_stamp)?;
        let needed = c_uint::try_from(found.len()).unwrap_or(c_uint::MAX);
        let is_size_query = asked.proc_util_array.is_null() || asked.process_samples_count == 0;
        let short_by = if is_size_query { device.call.flaws.short_by } else { 0 };
        info.put(ProcessesUtilizationInfo {
            process_samples_count: needed.saturating_sub(short_by),
            ..asked
        })?;
        if is_size_query || asked.process_samples_count < needed {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        let infos: Vec<_> = found.into_iter().map(ProcessUtilizationInfo::from).collect();
        asked.proc_util_array.fill(&infos)
    }
}

impl From<ProcessUtilizationSample> for ProcessUtilizationInfo {
    fn from(sample: ProcessUtilizationSample) -> Self {
        Self {
            time_stamp: sample.time_stamp,
            pid: sample.pid,
            sm_util: sample.sm_util,
            mem_util: sample.mem_util,
            enc_util: sample.enc_util,
            dec_util: sample.dec_util,
            jpg_util: 0,
            ofa_util: 0,
        }
    }
}

/// The samples since `last_seen`, and those that should not be there.
fn newer(device: &Device<'_>, last_seen: u64) -> Answer<Vec<ProcessUtilizationSample>> {
    if device.place.instance.is_some() {
        return Err(Code::NOT_FOUND);
    }
    device.undivided_card()?;
    let mut found = of_processes(device, last_seen);
    found.extend(stray(device, last_seen));
    if found.is_empty() {
        return Err(Code::NOT_FOUND);
    }
    Ok(found)
}

fn of_processes(device: &Device<'_>, last_seen: u64) -> Vec<ProcessUtilizationSample> {
    let call = &device.call;
    let seen = call.moment_of_stamp(last_seen);
    let samples = call.scenario().process_samples_at(device.place, seen, call.at);
    samples.iter().map(|sample| of_process(call, sample)).filter(has_worked).collect()
}

/// Garbage as real drivers give it: an old one comes back whatever was seen already.
fn stray(device: &Device<'_>, last_seen: u64) -> impl Iterator<Item = ProcessUtilizationSample> {
    let (call, index) = (&device.call, device.card().index);
    let strays = call.scenario().stray_samples.iter();
    strays.filter(move |stray| stray.card == index).filter_map(move |stray| {
        let time_stamp = call.sample_stamp(call.at - stray.age + stray.ahead);
        let is_given = !stray.age.is_zero() || time_stamp > last_seen;
        stray.pid.filter(|_| is_given).map(|pid| sample(pid, time_stamp, stray.sm))
    })
}

fn of_process(call: &Call<'_>, of: &ProcessSample<'_>) -> ProcessUtilizationSample {
    let (process, share) = (of.process, |load| whole(of.share(load)));
    ProcessUtilizationSample {
        mem_util: share(&process.engines.memory),
        enc_util: share(&process.engines.encoder),
        dec_util: share(&process.engines.decoder),
        ..sample(process.pid, call.sample_stamp(of.stamp), share(&process.sm))
    }
}

const fn has_worked(sample: &ProcessUtilizationSample) -> bool {
    sample.sm_util > 0 || sample.mem_util > 0 || sample.enc_util > 0 || sample.dec_util > 0
}

fn sample(pid: u32, time_stamp: u64, sm_util: u32) -> ProcessUtilizationSample {
    ProcessUtilizationSample { pid, time_stamp, sm_util, mem_util: 0, enc_util: 0, dec_util: 0 }
}
