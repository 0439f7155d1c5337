//! The fields of a card: nvidia-smi's names, and some of our own.

use jiff::Timestamp;
use probe::card::{ComputeMode, MemoryUse};
use probe::nvml::DriverFacts;
use probe::units::Bytes;
use probe::{Reading, Why};

use super::CardTick;
use super::field::{Field, fields};
use super::value::{Cell, Value, bytes, cell, megahertz, name, percent, switched, watts};
use crate::classify::{self, State, Thresholds};
use crate::report::unknowns::Reason;

/// A card at one moment.
#[derive(Debug, Clone, Copy)]
pub struct CardAt<'a> {
    pub time: Timestamp,
    pub driver: Result<&'a DriverFacts, Why>,
    pub card: &'a CardTick,
    pub thresholds: Thresholds,
}

pub type CardField = Field<fn(&CardAt<'_>) -> Cell>;

pub const FIELDS: &[CardField] = fields! {
    ["timestamp"] None Nothing |at| Ok(Value::Moment(at.time)),
        "When the card was read.";
    ["driver_version"] None Nothing |at| name(driver_version(at)),
        "The version of the driver.";
    ["count"] None Nothing |at| cell(gpus(at), |gpus| Value::Whole(gpus.into())),
        "How many GPUs the driver counts.";
    ["index"] None Nothing |at| Ok(Value::Whole(at.card.facts.index.into())),
        "The number of the GPU; a MIG instance has that of its GPU.";
    ["card"] None Nothing |at| Ok(Value::Text(at.card.facts.label())),
        "The card as gua shows it: its number, and the slot of a MIG instance.";
    ["mig.slot"] None Nothing slot,
        "The slot of a MIG instance; a whole GPU has none.";
    ["name" | "gpu_name"] None Nothing |at| name(text(&at.card.facts.name)),
        "The product name.";
    ["uuid" | "gpu_uuid"] None Nothing |at| name(text(&at.card.facts.uuid)),
        "What the card is known by, wherever it is plugged in.";
    ["pci.bus_id" | "gpu_bus_id"] None Nothing |at| name(text(&at.card.facts.bus_id)),
        "Its place on the bus.";
    ["state"] None Work state,
        "active, idle-held or free, as `gua stat` judges it.";
    ["pstate"] None Performance |at| {
        cell(at.card.vitals.performance, |state| Value::Text(format!("P{}", state.0)))
    }, "The performance state, from P0, the highest, to P15.";
    ["temperature.gpu"] Celsius Temperature |at| {
        cell(at.card.vitals.temperature, |celsius| Value::Whole(celsius.0.into()))
    }, "The temperature of the chip.";
    ["utilization.gpu"] Percent Work |at| {
        percent(at.card.vitals.utilization.map(|work| work.percent))
    }, "How much of the time it worked: the mean since the last look, at first of 5 s.";
    ["utilization.memory"] Percent MemoryWork |at| percent(at.card.vitals.memory_work),
        "How much of the driver's last period its memory was read or written.";
    ["utilization.encoder"] Percent Codecs |at| percent(at.card.vitals.encoder),
        "How much of the driver's last period the video encoder worked.";
    ["utilization.decoder"] Percent Codecs |at| percent(at.card.vitals.decoder),
        "How much of the driver's last period the video decoder worked.";
    ["memory.total"] Memory Nothing |at| memory(at, |memory| memory.total),
        "Its memory; where it shares the host's, that of the host.";
    ["memory.reserved"] Memory Nothing reserved,
        "What the driver keeps for itself; an old driver counts it as used.";
    ["memory.used"] Memory Nothing |at| memory(at, |memory| memory.used),
        "What is taken of its memory.";
    ["memory.free"] Memory Nothing |at| memory(at, |memory| memory.free),
        "What is left of its memory.";
    ["memory.unattributed"] Memory Nothing |at| bytes(at.card.unattributed),
        "What is used by no listed holder.";
    ["holders"] None Nothing holders,
        "How many processes hold it.";
    ["power.draw"] Watts Power |at| watts(at.card.vitals.power),
        "What it draws.";
    ["power.limit"] Watts SetPowerLimit |at| watts(at.card.vitals.setup.power_limit),
        "The limit of its power that was set.";
    ["enforced.power.limit"] Watts Nothing |at| watts(at.card.facts.power_limit()),
        "The limit of its power that holds, the lowest of all, read when it was found.";
    ["energy"] Joules Energy energy,
        "What it has used since the driver was loaded.";
    ["clocks.current.sm" | "clocks.sm"] Megahertz Clocks |at| megahertz(at.card.vitals.sm_clock),
        "The clock of its SMs.";
    ["clocks.current.memory" | "clocks.mem"] Megahertz Clocks |at| {
        megahertz(at.card.vitals.memory_clock)
    }, "The clock of its memory.";
    ["fan.speed"] Percent Fan |at| percent(at.card.vitals.fan),
        "How fast the first fan is meant to turn.";
    ["compute_mode"] None ComputeMode |at| {
        cell(at.card.vitals.setup.compute_mode, |mode| Value::Text(mode_name(mode).to_owned()))
    }, "Who may compute on it.";
    ["persistence_mode"] None Persistence |at| switched(at.card.vitals.setup.persistence),
        "Whether the driver stays awake while nobody uses it.";
    ["mig.mode.current"] None Mig |at| switched(at.card.vitals.setup.mig),
        "Whether it is divided into MIG instances.";
};

pub(super) fn text(reading: &Reading<String>) -> Reading<&str> {
    reading.as_ref().map(String::as_str)
}

fn driver_version<'a>(at: &CardAt<'a>) -> Reading<&'a str> {
    match at.driver {
        Ok(driver) => text(&driver.version),
        Err(why) => Reading::Unknown(why),
    }
}

fn gpus(at: &CardAt<'_>) -> Reading<u32> {
    at.driver.map(|driver| driver.gpus).into()
}

pub(super) fn slot(at: &CardAt<'_>) -> Cell {
    match &at.card.facts.instance {
        Some(instance) => Ok(Value::Whole(instance.slot.into())),
        None => Err(Why::NotSupported.into()),
    }
}

fn state(at: &CardAt<'_>) -> Cell {
    match classify::state(&at.card.vitals, &at.thresholds) {
        State::Unknown(why) => Err(Reason::NotJudged(why)),
        state => Ok(Value::Text(state.word().to_owned())),
    }
}

fn memory(at: &CardAt<'_>, part: impl FnOnce(MemoryUse) -> Bytes) -> Cell {
    bytes(at.card.vitals.memory.map(part))
}

fn reserved(at: &CardAt<'_>) -> Cell {
    match at.card.vitals.memory {
        Reading::Known(memory) => bytes(memory.reserved),
        Reading::Unknown(why) => Err(why.into()),
    }
}

fn holders(at: &CardAt<'_>) -> Cell {
    match at.card.vitals.holders.unread {
        Some(why) => Err(why.into()),
        None => Ok(Value::Whole(at.card.holders.len() as u64)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 9 · 10^15 mJ, a gigawatt for years")]
fn energy(at: &CardAt<'_>) -> Cell {
    cell(at.card.vitals.energy, |energy| Value::Real(energy.0 as f64 / 1000.0))
}

/// As nvidia-smi has it.
const fn mode_name(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "Default",
        ComputeMode::ExclusiveThread => "Exclusive_Thread",
        ComputeMode::ExclusiveProcess => "Exclusive_Process",
        ComputeMode::Prohibited => "Prohibited",
    }
}
