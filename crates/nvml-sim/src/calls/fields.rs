//! Single values by number, each with a code of its own.

use std::ffi::c_int;

use scenario::Card;

use crate::abi::constants as nvml;
use crate::abi::structs::{FieldValue, Value};
use crate::abi::{Answer, Code};
use crate::calls::power;
use crate::gate::Device;
use crate::pointer::Out;

device_calls! {
    fn nvmlDeviceGetFieldValues(device, count: c_int, values: Out<FieldValue>) {
        let count = usize::try_from(count).map_err(|_| Code::INVALID_ARGUMENT)?;
        if count == 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        values.update(count, |asked| answered(device, asked))
    }

    fn nvmlDeviceClearFieldValues(_, count: c_int, values: Out<FieldValue>) {
        let count = usize::try_from(count).map_err(|_| Code::INVALID_ARGUMENT)?;
        values.update(count, |asked| FieldValue { nvml_return: Code::NOT_SUPPORTED, ..asked })
    }
}

fn answered(device: &Device<'_>, asked: FieldValue) -> FieldValue {
    let (value_type, nvml_return, value) = match read(device, asked.field_id) {
        Ok((value_type, value)) => (value_type, Code::SUCCESS, value),
        Err(code) => (nvml::VALUE_TYPE_UNSIGNED_INT, code, 0),
    };
    FieldValue {
        timestamp: device.call.time_stamp(device.call.at).cast_signed(),
        latency_usec: 0,
        value_type,
        nvml_return,
        value: Value(value),
        ..asked
    }
}

fn read(device: &Device<'_>, field: u32) -> Answer<(u32, u64)> {
    let card = device.whole_card()?;
    if field == nvml::FI_DEV_TOTAL_ENERGY_CONSUMPTION {
        let millijoules = power::used_millijoules(device, card);
        return Ok((nvml::VALUE_TYPE_UNSIGNED_LONG_LONG, millijoules));
    }
    let milliwatts = milliwatts(device, card, field).ok_or(Code::NOT_SUPPORTED)?;
    Ok((nvml::VALUE_TYPE_UNSIGNED_INT, milliwatts.into()))
}

fn milliwatts(device: &Device<'_>, card: &Card, field: u32) -> Option<u32> {
    Some(match field {
        nvml::FI_DEV_POWER_AVERAGE | nvml::FI_DEV_POWER_INSTANT => {
            power::drawn_milliwatts(device, card)
        }
        nvml::FI_DEV_POWER_MIN_LIMIT => power::least_limit_milliwatts(card),
        nvml::FI_DEV_POWER_MAX_LIMIT | nvml::FI_DEV_POWER_DEFAULT_LIMIT => {
            power::default_limit_milliwatts(card)
        }
        nvml::FI_DEV_POWER_CURRENT_LIMIT => power::limit_milliwatts(card),
        _ => return None,
    })
}
