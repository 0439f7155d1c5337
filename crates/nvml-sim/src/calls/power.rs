//! Watts and joules.

use std::ffi::{c_uint, c_ulonglong};

use scenario::Card;

use crate::abi::constants::{FEATURE_ENABLED, POWER_SOURCE_AC};
use crate::gate::Device;
use crate::pointer::Out;
use crate::reported::whole;

device_calls! {
    fn nvmlDeviceGetPowerUsage(device, milliwatts: Out<c_uint>) {
        milliwatts.put(drawn_milliwatts(device, device.whole_card()?))
    }

    fn nvmlDeviceGetTotalEnergyConsumption(device, millijoules: Out<c_ulonglong>) {
        millijoules.put(used_millijoules(device, device.whole_card()?))
    }

    fn nvmlDeviceGetPowerManagementLimit(device, milliwatts: Out<c_uint>) {
        milliwatts.put(limit_milliwatts(device.whole_card()?))
    }

    fn nvmlDeviceGetEnforcedPowerLimit(device, milliwatts: Out<c_uint>) {
        milliwatts.put(limit_milliwatts(device.whole_card()?))
    }

    fn nvmlDeviceGetPowerManagementDefaultLimit(device, milliwatts: Out<c_uint>) {
        milliwatts.put(default_limit_milliwatts(device.whole_card()?))
    }

    fn nvmlDeviceGetPowerManagementLimitConstraints(
        device,
        least: Out<c_uint>,
        most: Out<c_uint>,
    ) {
        most.check()?;
        let card = device.whole_card()?;
        least.put(least_limit_milliwatts(card))?;
        most.put(default_limit_milliwatts(card))
    }
}

fixed_calls! {
    nvmlDeviceGetPowerManagementMode = FEATURE_ENABLED;
    nvmlDeviceGetPowerSource = POWER_SOURCE_AC;
}

pub fn drawn_milliwatts(device: &Device<'_>, card: &Card) -> u32 {
    whole(device.call.scenario().watts_at(card, device.call.at) * 1000.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and energy is never negative"
)]
pub fn used_millijoules(device: &Device<'_>, card: &Card) -> u64 {
    (device.call.scenario().joules_at(card, device.call.at) * 1000.0) as u64
}

pub fn limit_milliwatts(card: &Card) -> u32 {
    whole(card.power.limit_watts * 1000.0)
}

/// What the card can take, whatever limit was set.
pub fn default_limit_milliwatts(card: &Card) -> u32 {
    whole(card.power.full_watts.max(card.power.limit_watts) * 1000.0)
}

pub fn least_limit_milliwatts(card: &Card) -> u32 {
    whole(card.power.full_watts / 4.0 * 1000.0)
}
