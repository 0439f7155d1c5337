//! How busy a card is, over the driver's last sample period.

use std::ffi::c_uint;

use scenario::state::Place;
use scenario::{Card, Load, Moment, Scenario};

use crate::abi::Answer;
use crate::abi::structs::Utilization;
use crate::gate::Device;
use crate::pointer::Out;
use crate::reported::whole;

device_calls! {
    fn nvmlDeviceGetUtilizationRates(device, utilization: Out<Utilization>) {
        let card = device.undivided_card()?;
        let scenario = device.call.scenario();
        let newest = scenario.newest_sample(device.call.at);
        utilization.put(Utilization {
            gpu: whole(scenario.sampled_utilization(Place::card(card), newest)),
            memory: whole(sampled(scenario, card, &card.memory_utilization, newest)),
        })
    }

    fn nvmlDeviceGetEncoderUtilization(device, percent: Out<c_uint>, period: Out<c_uint>) {
        let card = device.undivided_card()?;
        engine(device, card, &card.encoder, percent, period)
    }

    fn nvmlDeviceGetDecoderUtilization(device, percent: Out<c_uint>, period: Out<c_uint>) {
        let card = device.undivided_card()?;
        engine(device, card, &card.decoder, percent, period)
    }
}

fn engine(
    device: &Device<'_>,
    card: &Card,
    load: &Load,
    percent: Out<c_uint>,
    period: Out<c_uint>,
) -> Answer {
    period.check()?;
    let scenario = device.call.scenario();
    let newest = scenario.newest_sample(device.call.at);
    percent.put(whole(sampled(scenario, card, load, newest)))?;
    let micros = scenario.samples.period.as_micros();
    period.put(c_uint::try_from(micros).unwrap_or(c_uint::MAX))
}

/// What the driver reports of one of a card's loads for the period that ends at `at`.
pub fn sampled(scenario: &Scenario, card: &Card, load: &Load, at: Moment) -> f64 {
    let from = at - scenario.samples.period;
    load.sampled(from, at, scenario.seed, u64::from(card.index))
}
