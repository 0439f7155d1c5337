//! How a card is set up, and its performance state.

use std::ffi::{c_uint, c_ulonglong};

use crate::abi::Answer;
use crate::abi::constants::{
    COMPUTEMODE_DEFAULT, FEATURE_DISABLED, FEATURE_ENABLED, PSTATE_0, PSTATE_8,
};
use crate::gate::Device;
use crate::pointer::Out;
use crate::reported;

/// `nvmlClocksEventReasonGpuIdle`
const REASON_IDLE: u64 = 1;

device_calls! {
    fn nvmlDeviceGetPersistenceMode(device, mode: Out<c_uint>) {
        let on = device.whole_card()?.persistence;
        mode.put(if on { FEATURE_ENABLED } else { FEATURE_DISABLED })
    }

    fn nvmlDeviceGetPerformanceState(device, state: Out<c_uint>) {
        state.put(performance_state(device)?)
    }

    /// The name that `nvmlDeviceGetPerformanceState` had before.
    fn nvmlDeviceGetPowerState(device, state: Out<c_uint>) {
        state.put(performance_state(device)?)
    }

    fn nvmlDeviceGetCurrentClocksEventReasons(device, reasons: Out<c_ulonglong>) {
        reasons.put(clock_reasons(device)?)
    }

    /// The name that `nvmlDeviceGetCurrentClocksEventReasons` had before.
    fn nvmlDeviceGetCurrentClocksThrottleReasons(device, reasons: Out<c_ulonglong>) {
        reasons.put(clock_reasons(device)?)
    }
}

fixed_calls! {
    nvmlDeviceGetComputeMode = COMPUTEMODE_DEFAULT;
    nvmlDeviceGetDisplayMode = FEATURE_DISABLED;
    nvmlDeviceGetDisplayActive = FEATURE_DISABLED;
}

fn is_busy(device: &Device<'_>) -> Answer<bool> {
    let card = device.whole_card()?;
    Ok(reported::is_busy(device.call.scenario(), card, device.call.at))
}

fn performance_state(device: &Device<'_>) -> Answer<u32> {
    Ok(if is_busy(device)? { PSTATE_0 } else { PSTATE_8 })
}

fn clock_reasons(device: &Device<'_>) -> Answer<u64> {
    Ok(if is_busy(device)? { 0 } else { REASON_IDLE })
}
