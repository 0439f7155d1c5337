//! Event sets: they can be made and waited on, and nothing ever happens.

use std::ffi::{c_uint, c_ulonglong};
use std::thread;
use std::time::Duration;

use crate::abi::structs::EventData;
use crate::abi::{Answer, Code};
use crate::pointer::Out;

/// `nvmlEventSet_t`; they are all alike.
const THE_SET: usize = 0x4553_0000;

system_calls! {
    fn nvmlEventSetCreate(_, set: Out<usize>) {
        set.put(THE_SET)
    }

    fn nvmlEventSetFree(_, set: usize) {
        known(set)
    }

    fn nvmlEventSetWait(_, set: usize, _data: Out<EventData>, timeout_ms: c_uint) {
        wait(set, timeout_ms)
    }

    fn nvmlEventSetWait_v2(_, set: usize, _data: Out<EventData>, timeout_ms: c_uint) {
        wait(set, timeout_ms)
    }
}

device_calls! {
    fn nvmlDeviceGetSupportedEventTypes(device, types: Out<c_ulonglong>) {
        device.whole_card()?;
        types.put(0)
    }

    fn nvmlDeviceRegisterEvents(device, _types: c_ulonglong, set: usize) {
        device.whole_card()?;
        known(set)
    }
}

fn known(set: usize) -> Answer {
    if set == THE_SET { Ok(()) } else { Err(Code::INVALID_ARGUMENT) }
}

fn wait(set: usize, timeout_ms: c_uint) -> Answer {
    known(set)?;
    thread::sleep(Duration::from_millis(timeout_ms.into()));
    Err(Code::TIMEOUT)
}
