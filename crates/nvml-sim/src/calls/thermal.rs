//! Temperatures and fans.

use std::ffi::c_uint;

use scenario::state::Place;

use crate::abi::constants::{
    TEMPERATURE_GPU, TEMPERATURE_THRESHOLD_GPU_MAX, TEMPERATURE_THRESHOLD_MEM_MAX,
    TEMPERATURE_THRESHOLD_SHUTDOWN, TEMPERATURE_THRESHOLD_SLOWDOWN,
};
use crate::abi::structs::Temperature;
use crate::abi::{Answer, Code, version_of};
use crate::gate::Device;
use crate::pointer::Out;
use crate::reported::whole;

device_calls! {
    fn nvmlDeviceGetTemperature(device, sensor: c_uint, degrees: Out<c_uint>) {
        degrees.put(degrees_at(device, sensor)?)
    }

    fn nvmlDeviceGetTemperatureV(device, temperature: Out<Temperature>) {
        let asked = temperature.get()?;
        if asked.version != version_of::<Temperature>(1) {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        temperature.put(Temperature {
            temperature: degrees_at(device, asked.sensor_type)?.cast_signed(),
            ..asked
        })
    }

    fn nvmlDeviceGetTemperatureThreshold(device, threshold: c_uint, degrees: Out<c_uint>) {
        device.whole_card()?;
        degrees.put(match threshold {
            TEMPERATURE_THRESHOLD_SHUTDOWN => 92,
            TEMPERATURE_THRESHOLD_SLOWDOWN => 89,
            TEMPERATURE_THRESHOLD_MEM_MAX => 95,
            TEMPERATURE_THRESHOLD_GPU_MAX => 85,
            _ => return Err(Code::NOT_SUPPORTED),
        })
    }

    fn nvmlDeviceGetNumFans(device, fans: Out<c_uint>) {
        fans.put(device.whole_card()?.fan.map_or(0, |_| 1))
    }

    fn nvmlDeviceGetFanSpeed(device, percent: Out<c_uint>) {
        percent.put(device.whole_card()?.fan.ok_or(Code::NOT_SUPPORTED)?)
    }

    fn nvmlDeviceGetFanSpeed_v2(device, fan: c_uint, percent: Out<c_uint>) {
        let speed = device.whole_card()?.fan.ok_or(Code::NOT_SUPPORTED)?;
        if fan != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        percent.put(speed)
    }
}

fn degrees_at(device: &Device<'_>, sensor: c_uint) -> Answer<c_uint> {
    let card = device.whole_card()?;
    if sensor != TEMPERATURE_GPU {
        return Err(Code::INVALID_ARGUMENT);
    }
    let scenario = device.call.scenario();
    let utilization = scenario.utilization_at(Place::card(card), device.call.at);
    Ok(whole(card.temperature.at(utilization)))
}
