//! Questions about the driver and the machine as a whole.

use std::ffi::{c_char, c_int, c_uint};

use crate::abi::Code;
use crate::pointer::Out;

system_calls! {
    fn nvmlSystemGetDriverVersion(call, version: Out<c_char>, length: c_uint) {
        version.put_text(length, &call.scenario().driver.version)
    }

    fn nvmlSystemGetNVMLVersion(call, version: Out<c_char>, length: c_uint) {
        version.put_text(length, &call.scenario().driver.nvml_version)
    }

    fn nvmlSystemGetCudaDriverVersion(call, version: Out<c_int>) {
        version.put(call.scenario().driver.cuda_version)
    }

    fn nvmlSystemGetCudaDriverVersion_v2(call, version: Out<c_int>) {
        version.put(call.scenario().driver.cuda_version)
    }

    /// What the host's `/proc` would say, so nothing for a process that is gone.
    fn nvmlSystemGetProcessName(call, pid: c_uint, name: Out<c_char>, length: c_uint) {
        name.check()?;
        let mut processes = call.scenario().processes.iter();
        let process = processes
            .find(|process| {
                process.pid == pid && process.runs_at(call.at) && !process.owner.gone
            })
            .ok_or(Code::NOT_FOUND)?;
        let owner = &process.owner;
        name.put_text(length, owner.command.first().unwrap_or(&owner.program))
    }

    fn nvmlSystemGetHicVersion(_, count: Out<c_uint>, _entries: Out<c_char>) {
        count.put(0)
    }

    fn nvmlUnitGetCount(_, count: Out<c_uint>) {
        count.put(0)
    }

    fn nvmlGetExcludedDeviceCount(_, count: Out<c_uint>) {
        count.put(0)
    }

    /// The name that `nvmlGetExcludedDeviceCount` had before.
    fn nvmlGetBlacklistDeviceCount(_, count: Out<c_uint>) {
        count.put(0)
    }

    fn nvmlUnitGetHandleByIndex(_, _index: c_uint, _unit: Out<usize>) {
        Err(Code::INVALID_ARGUMENT)
    }

    fn nvmlGetExcludedDeviceInfoByIndex(_, _index: c_uint, _info: Out<c_char>) {
        Err(Code::INVALID_ARGUMENT)
    }

    fn nvmlGetBlacklistDeviceInfoByIndex(_, _index: c_uint, _info: Out<c_char>) {
        Err(Code::INVALID_ARGUMENT)
    }
}
