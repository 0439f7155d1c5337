//! The fields of `--query-gpu`.

use std::fmt::Display;

use nvidia_ml::abi::{Answer, Code};
use nvidia_ml::reported::{bus_id, is_busy, mig_mode, whole};
use scenario::{Load, Moment};

use crate::reader::Reader;

/// One field: its names, the first of which is printed, its unit, and how it is read.
pub struct Field {
    pub names: &'static [&'static str],
    pub unit: Option<&'static str>,
    pub read: fn(&Reader<'_>) -> Answer<String>,
}

macro_rules! fields {
    ($([$($name:literal)|+] $($unit:literal)? = $read:expr;)*) => {
        &[$(Field { names: &[$($name),+], unit: fields!(@ $($unit)?), read: $read }),*]
    };
    (@) => { None };
    (@ $unit:literal) => { Some($unit) };
}

pub const FIELDS: &[Field] = fields! {
    ["timestamp"] = |card| Ok(time_stamp(card));
    ["driver_version"] = |card| Ok(card.scenario().driver.version.clone());
    ["count"] = |card| Ok(card.scenario().cards.len().to_string());
    ["name" | "gpu_name"] = |card| told(card, "nvmlDeviceGetName", &card.card.name);
    ["serial" | "gpu_serial"] = |card| told(card, "nvmlDeviceGetSerial", &card.card.serial);
    ["uuid" | "gpu_uuid"] = |card| told(card, "nvmlDeviceGetUUID", &card.card.uuid);
    ["index"] = |card| Ok(card.card.index.to_string());
    ["pci.bus_id" | "gpu_bus_id"] = |card| told(card, "nvmlDeviceGetPciInfo_v3", bus_id(card.card.pci));
    ["persistence_mode"] = |card| {
        told(card, "nvmlDeviceGetPersistenceMode", switched(card.card.persistence))
    };
    ["display_mode"] = |card| told(card, "nvmlDeviceGetDisplayMode", switched(false));
    ["display_active"] = |card| told(card, "nvmlDeviceGetDisplayActive", switched(false));
    ["compute_mode"] = |card| told(card, "nvmlDeviceGetComputeMode", "Default");
    ["compute_cap"] = |card| {
        let (major, minor) = card.card.compute_capability;
        told(card, "nvmlDeviceGetCudaComputeCapability", format!("{major}.{minor}"))
    };
    ["mig.mode.current"] = told_mig_mode;
    ["mig.mode.pending"] = told_mig_mode;
    ["pstate"] = |card| {
        let is_busy = is_busy(card.scenario(), card.card, card.at);
        let state = if is_busy { "P0" } else { "P8" };
        told(card, "nvmlDeviceGetPerformanceState", state)
    };
    ["fan.speed"] "%" = |card| {
        card.ask("nvmlDeviceGetFanSpeed")?;
        card.card.fan.map(|percent| percent.to_string()).ok_or(Code::NOT_SUPPORTED)
    };
    ["memory.total"] "MiB" = |card| card.memory().map(|[total, ..]| total.to_string());
    ["memory.reserved"] "MiB" = |card| card.memory().map(|[_, reserved, ..]| reserved.to_string());
    ["memory.used"] "MiB" = |card| card.memory().map(|[_, _, used, _]| used.to_string());
    ["memory.free"] "MiB" = |card| card.memory().map(|[.., free]| free.to_string());
    ["utilization.gpu"] "%" = |card| {
        card.undivided()?;
        let newest = card.scenario().newest_sample(card.at);
        let percent = card.scenario().sampled_utilization(card.place(), newest);
        told(card, "nvmlDeviceGetUtilizationRates", whole(percent))
    };
    ["utilization.memory"] "%" = |card| {
        load(card, "nvmlDeviceGetUtilizationRates", &card.card.memory_utilization)
    };
    ["utilization.encoder"] "%" = |card| {
        load(card, "nvmlDeviceGetEncoderUtilization", &card.card.encoder)
    };
    ["utilization.decoder"] "%" = |card| {
        load(card, "nvmlDeviceGetDecoderUtilization", &card.card.decoder)
    };
    ["temperature.gpu"] = |card| {
        told(card, "nvmlDeviceGetTemperature", whole(card.card.temperature.at(card.load())))
    };
    ["power.draw"] "W" = |card| {
        let watts = card.scenario().watts_at(card.card, card.at);
        told(card, "nvmlDeviceGetPowerUsage", format!("{watts:.2}"))
    };
    ["power.limit"] "W" = |card| {
        let watts = card.card.power.limit_watts;
        told(card, "nvmlDeviceGetPowerManagementLimit", format!("{watts:.2}"))
    };
    ["enforced.power.limit"] "W" = |card| {
        let watts = card.card.power.limit_watts;
        told(card, "nvmlDeviceGetEnforcedPowerLimit", format!("{watts:.2}"))
    };
    ["clocks.current.graphics" | "clocks.gr"] "MHz" = |card| {
        told(card, "nvmlDeviceGetClockInfo", whole(card.card.sm_clock.at(card.load())))
    };
    ["clocks.current.sm" | "clocks.sm"] "MHz" = |card| {
        told(card, "nvmlDeviceGetClockInfo", whole(card.card.sm_clock.at(card.load())))
    };
    ["clocks.current.memory" | "clocks.mem"] "MHz" = |card| {
        told(card, "nvmlDeviceGetClockInfo", whole(card.card.memory_clock.at(card.load())))
    };
};

/// A value that stands, once the call it comes from lets it through.
fn told(card: &Reader<'_>, call: &str, value: impl Display) -> Answer<String> {
    card.ask(call)?;
    Ok(format!("{value}"))
}

fn load(card: &Reader<'_>, call: &str, load: &Load) -> Answer<String> {
    card.undivided()?;
    let scenario = card.scenario();
    let newest = scenario.newest_sample(card.at);
    let from = newest - scenario.samples.period;
    let percent = load.sampled(from, newest, scenario.seed, card.card.index.into());
    told(card, call, whole(percent))
}

fn told_mig_mode(card: &Reader<'_>) -> Answer<String> {
    let is_on = mig_mode(card.card).ok_or(Code::NOT_SUPPORTED)?;
    told(card, "nvmlDeviceGetMigMode", switched(is_on))
}

fn switched(is_on: bool) -> &'static str {
    if is_on { "Enabled" } else { "Disabled" }
}

fn time_stamp(card: &Reader<'_>) -> String {
    at(card, card.at).map_or_else(
        || "[N/A]".into(),
        |time| {
            let millis = time.subsec_microsecond() / 1000;
            format!("{}.{millis:03}", time.strftime("%Y/%m/%d %H:%M:%S"))
        },
    )
}

/// What the pretend clock shows, in UTC.
pub fn at(card: &Reader<'_>, at: Moment) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_microsecond(card.machine.clock.unix_micros(at)).ok()
}
