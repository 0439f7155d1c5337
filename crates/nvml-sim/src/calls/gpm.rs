//! GPM: what a card or an instance did between two samples that the caller took.

use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::sync::{Mutex, PoisonError};

use scenario::{Card, Moment};

use crate::abi::constants as nvml;
use crate::abi::structs::{GpmMetric, GpmMetricsGet, GpmSupport};
use crate::abi::{Answer, Code};
use crate::gate::Device;
use crate::handle::Handle;
use crate::pointer::Out;

/// `nvmlGpmSample_t`. A number, not an address.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleHandle(usize);

/// What was sampled, and when.
#[derive(Debug, Clone, PartialEq)]
struct Taken {
    uuid: String,
    at: Moment,
}

/// All samples that were allocated and not freed, empty until they are taken.
static SAMPLES: Mutex<BTreeMap<SampleHandle, Option<Taken>>> = Mutex::new(BTreeMap::new());

/// `NVML_GPM_METRIC_MAX` of the newest header; older ones have room for fewer.
const MOST_METRICS: u32 = 477;

const FIRST: usize = 0x4750_0000;
const STEP: usize = 0x10;

system_calls! {
    fn nvmlGpmSampleAlloc(_, sample: Out<SampleHandle>) {
        sample.check()?;
        let mut samples = SAMPLES.lock().unwrap_or_else(PoisonError::into_inner);
        let last = samples.last_key_value().map_or(FIRST, |(handle, _)| handle.0);
        let fresh = SampleHandle(last + STEP);
        samples.insert(fresh, None);
        sample.put(fresh)
    }

    fn nvmlGpmSampleFree(_, sample: SampleHandle) {
        let mut samples = SAMPLES.lock().unwrap_or_else(PoisonError::into_inner);
        samples.remove(&sample).map(|_| ()).ok_or(Code::INVALID_ARGUMENT)
    }
}

device_calls! {
    fn nvmlGpmQueryDeviceSupport(device, support: Out<GpmSupport>) {
        if support.get()?.version != nvml::GPM_SUPPORT_VERSION {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        support.put(GpmSupport {
            version: nvml::GPM_SUPPORT_VERSION,
            is_supported_device: device.card().gpm.into(),
        })
    }

    fn nvmlGpmQueryIfStreamingEnabled(device, state: Out<c_uint>) {
        supported(device)?;
        state.put(nvml::FEATURE_DISABLED)
    }

    fn nvmlGpmSampleGet(device, sample: SampleHandle) {
        supported(device)?;
        take(sample, device.place.uuid(), device.call.at)
    }

    fn nvmlGpmMigSampleGet(device, gpu_instance: c_uint, sample: SampleHandle) {
        supported(device)?;
        let instances = device.card().mig.iter().flat_map(|mig| &mig.instances);
        let found = instances.into_iter().find(|i| i.gpu_instance == gpu_instance);
        let instance = found.ok_or(Code::INVALID_ARGUMENT)?;
        take(sample, &instance.uuid, device.call.at)
    }
}

/// The two samples say which device it concerns.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmMetricsGet(request: Out<GpmMetricsGet>) -> Code {
    let name = "nvmlGpmMetricsGet";
    let sampled = || Ok((request.get()?, span(request.get()?)?));
    match sampled() {
        Ok((asked, (uuid, from, to))) => crate::gate::device(name, Handle::of(&uuid), |device| {
            if asked.version != nvml::GPM_METRICS_GET_VERSION {
                return Err(Code::ARGUMENT_VERSION_MISMATCH);
            }
            if asked.num_metrics > MOST_METRICS {
                return Err(Code::INVALID_ARGUMENT);
            }
            let mean = device.call.scenario().mean_utilization(device.place, from, to);
            let metrics: Out<GpmMetric> = request.followed_by();
            metrics.update(asked.num_metrics as usize, |asked| metric(asked.metric_id, mean))
        }),
        Err(code) => crate::gate::system(name, |_| Err(code)),
    }
}

fn supported<'a>(device: &Device<'a>) -> Answer<&'a Card> {
    let card = device.card();
    if card.gpm { Ok(card) } else { Err(Code::NOT_SUPPORTED) }
}

fn take(sample: SampleHandle, uuid: &str, at: Moment) -> Answer {
    let mut samples = SAMPLES.lock().unwrap_or_else(PoisonError::into_inner);
    let slot = samples.get_mut(&sample).ok_or(Code::INVALID_ARGUMENT)?;
    *slot = Some(Taken { uuid: uuid.to_owned(), at });
    Ok(())
}

/// The device and the time between two samples of it, the earlier one first.
fn span(asked: GpmMetricsGet) -> Answer<(String, Moment, Moment)> {
    let samples = SAMPLES.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = |handle| samples.get(&handle).and_then(Option::as_ref);
    match (taken(asked.sample1), taken(asked.sample2)) {
        (Some(one), Some(two)) if one.uuid == two.uuid && one.at <= two.at => {
            Ok((one.uuid.clone(), one.at, two.at))
        }
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

fn metric(id: c_uint, mean: f64) -> GpmMetric {
    match id {
        nvml::GPM_METRIC_GRAPHICS_UTIL | nvml::GPM_METRIC_SM_UTIL => {
            GpmMetric::unnamed(id, Code::SUCCESS, mean)
        }
        _ => GpmMetric::unnamed(id, Code::NOT_SUPPORTED, 0.0),
    }
}
