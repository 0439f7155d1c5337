//! Clock rates in MHz.

use std::ffi::c_uint;

use scenario::model::Range;
use scenario::state::Place;
use scenario::{Card, Moment, Scenario};

use crate::abi::constants::{
    CLOCK_GRAPHICS, CLOCK_ID_CURRENT, CLOCK_ID_CUSTOMER_BOOST_MAX, CLOCK_MEM, CLOCK_SM, CLOCK_VIDEO,
};
use crate::abi::{Answer, Code};
use crate::gate::Device;
use crate::pointer::Out;
use crate::reported::whole;

device_calls! {
    fn nvmlDeviceGetClockInfo(device, kind: c_uint, mhz: Out<c_uint>) {
        mhz.put(current(device, kind)?)
    }

    fn nvmlDeviceGetMaxClockInfo(device, kind: c_uint, mhz: Out<c_uint>) {
        mhz.put(highest(device, kind)?)
    }

    fn nvmlDeviceGetMaxCustomerBoostClock(device, kind: c_uint, mhz: Out<c_uint>) {
        mhz.put(highest(device, kind)?)
    }

    fn nvmlDeviceGetApplicationsClock(device, kind: c_uint, mhz: Out<c_uint>) {
        mhz.put(highest(device, kind)?)
    }

    fn nvmlDeviceGetDefaultApplicationsClock(device, kind: c_uint, mhz: Out<c_uint>) {
        mhz.put(highest(device, kind)?)
    }

    fn nvmlDeviceGetClock(device, kind: c_uint, id: c_uint, mhz: Out<c_uint>) {
        mhz.put(match id {
            CLOCK_ID_CURRENT => current(device, kind)?,
            1..=CLOCK_ID_CUSTOMER_BOOST_MAX => highest(device, kind)?,
            _ => return Err(Code::INVALID_ARGUMENT),
        })
    }
}

fn current(device: &Device<'_>, kind: c_uint) -> Answer<c_uint> {
    let card = device.whole_card()?;
    let range = range_of(card, kind)?;
    Ok(whole(mhz_at(device.call.scenario(), card, range, device.call.at)))
}

fn highest(device: &Device<'_>, kind: c_uint) -> Answer<c_uint> {
    Ok(whole(range_of(device.whole_card()?, kind)?.full))
}

fn range_of(card: &Card, kind: c_uint) -> Answer<Range> {
    match kind {
        CLOCK_GRAPHICS | CLOCK_SM | CLOCK_VIDEO => Ok(card.sm_clock),
        CLOCK_MEM => Ok(card.memory_clock),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

/// A clock's rate at a moment; it follows the card's utilization.
pub fn mhz_at(scenario: &Scenario, card: &Card, range: Range, at: Moment) -> f64 {
    range.at(scenario.utilization_at(Place::card(card), at))
}
