//! The fields of a card: nvidia-smi's names, and some of our own.

use gua_core::card::ComputeMode;
use gua_core::snapshot::{CardNow, Snapshot};
use gua_core::{Reason, State};

use super::field::{Field, fields};
use super::value::{Cell, NoValue, Value, percent};

/// A card at one moment.
#[derive(Debug, Clone, Copy)]
pub struct CardAt<'a> {
    pub snapshot: &'a Snapshot,
    pub card: &'a CardNow,
}

pub type CardField = Field<fn(&CardAt<'_>) -> Cell>;

pub const FIELDS: &[CardField] = fields! {
    ["timestamp"] None Nothing |at| Ok(Value::Moment(at.snapshot.time)),
        "When the card was read.";
    ["driver_version"] None Nothing |at| at.host("driver_version", at.snapshot.host.driver_version.clone().map(Value::Name)),
        "The version of the driver.";
    ["count"] None Nothing |at| at.host("gpu_count", at.snapshot.host.gpu_count.map(|count| Value::Whole(count.into()))),
        "How many GPUs the driver counts.";
    ["index"] None Nothing |at| Ok(Value::Whole(at.card.card.index.into())),
        "The number of the GPU; a MIG instance has that of its GPU.";
    ["card"] None Nothing |at| Ok(Value::Text(at.card.card.label())),
        "The card as gua shows it: its number, and the slot of a MIG instance.";
    ["mig.slot"] None Nothing slot,
        "The slot of a MIG instance; a whole GPU has none.";
    ["name" | "gpu_name"] None Nothing |at| at.name("name", at.card.card.name.as_ref()),
        "The product name.";
    ["uuid" | "gpu_uuid"] None Nothing |at| at.name("uuid", at.card.card.uuid.as_ref()),
        "What the card is known by, wherever it is plugged in.";
    ["pci.bus_id" | "gpu_bus_id"] None Nothing |at| at.name("bus_id", at.card.card.bus_id.as_ref()),
        "Its place on the bus.";
    ["state"] None Work state,
        "active, idle-held or free, as `gua stat` judges it.";
    ["pstate"] None Performance |at| {
        let state = at.card.requested.performance_state;
        at.cell("performance_state", state.map(|state| Value::Text(format!("P{state}"))))
    }, "The performance state, from P0, the highest, to P15.";
    ["temperature.gpu"] Celsius Temperature |at| at.whole("temperature_celsius", at.card.temperature_celsius), "The temperature of the chip.";
    ["utilization.gpu"] Percent Work |at| at.percent("utilization_percent", at.card.utilization_percent), "How much of the time it worked: the mean since the last look, at first of 5 s.";
    ["utilization.memory"] Percent MemoryWork |at| at.percent("memory_busy_percent", at.card.requested.memory_busy_percent),
        "How much of the driver's last period its memory was read or written.";
    ["utilization.encoder"] Percent Codecs |at| at.percent("encoder_percent", at.card.encoder_percent),
        "How much of the driver's last period the video encoder worked.";
    ["utilization.decoder"] Percent Codecs |at| at.percent("decoder_percent", at.card.decoder_percent),
        "How much of the driver's last period the video decoder worked.";
    ["memory.total"] Memory Nothing |at| at.whole("memory_total_bytes", at.card.memory_total_bytes),
        "Its memory; where it shares the host's, that of the host.";
    ["memory.reserved"] Memory Nothing |at| at.whole("memory_reserved_bytes", at.card.memory_reserved_bytes),
        "What the driver keeps for itself; an old driver counts it as used.";
    ["memory.used"] Memory Nothing |at| at.whole("memory_used_bytes", at.card.memory_used_bytes),
        "What is taken of its memory.";
    ["memory.free"] Memory Nothing |at| at.whole("memory_free_bytes", at.card.memory_free_bytes),
        "What is left of its memory.";
    ["memory.unattributed"] Memory Nothing |at| at.whole("memory_unattributed_bytes", at.card.memory_unattributed_bytes),
        "What is used by no listed holder.";
    ["holders"] None Nothing holders,
        "How many processes hold it.";
    ["power.draw"] Watts Power |at| at.real("power_watts", at.card.power_watts),
        "What it draws.";
    ["power.limit"] Watts SetPowerLimit |at| at.real("set_power_limit_watts", at.card.requested.set_power_limit_watts),
        "The limit of its power that was set.";
    ["enforced.power.limit"] Watts Nothing |at| at.real("power_limit_watts", at.card.power_limit_watts),
        "The limit of its power that holds, the lowest of all, read when it was found.";
    ["energy"] Joules Energy |at| at.real("energy_joules", at.card.energy_joules),
        "What it has used since the driver was loaded.";
    ["clocks.current.sm" | "clocks.sm"] Megahertz Clocks |at| at.whole("sm_clock_mhz", at.card.sm_clock_mhz),
        "The clock of its SMs.";
    ["clocks.current.memory" | "clocks.mem"] Megahertz Clocks |at| at.whole("memory_clock_mhz", at.card.memory_clock_mhz), "The clock of its memory.";
    ["fan.speed"] Percent Fan |at| at.percent("fan_percent", at.card.fan_percent),
        "How fast the first fan is meant to turn.";
    ["compute_mode"] None ComputeMode |at| {
        let mode = at.card.requested.compute_mode.map(mode_name);
        at.cell("compute_mode", mode.map(|name| Value::Text(name.to_owned())))
    }, "Who may compute on it.";
    ["persistence_mode"] None Persistence |at| at.switch("persistence_mode", at.card.requested.persistence_mode),
        "Whether the driver stays awake while nobody uses it.";
    ["mig.mode.current"] None Mig |at| at.switch("mig_mode", at.card.requested.mig_mode),
        "Whether it is divided into MIG instances.";
};

impl CardAt<'_> {
    /// Returns a value of the card, or why there is none.
    fn cell(&self, field: &str, value: Option<Value>) -> Cell {
        value.ok_or_else(|| NoValue::of_field(&self.card.unknown, field))
    }

    fn host(&self, field: &str, value: Option<Value>) -> Cell {
        value.ok_or_else(|| NoValue::of_field(&self.snapshot.host.unknown, field))
    }

    pub(super) fn name(&self, field: &str, name: Option<&String>) -> Cell {
        self.cell(field, name.cloned().map(Value::Name))
    }

    fn whole(&self, field: &str, value: Option<impl Into<u64>>) -> Cell {
        self.cell(field, value.map(|value| Value::Whole(value.into())))
    }

    fn real(&self, field: &str, value: Option<f64>) -> Cell {
        self.cell(field, value.map(Value::Real))
    }

    fn percent(&self, field: &str, value: Option<f64>) -> Cell {
        self.cell(field, value.map(percent))
    }

    /// Returns the driver's word for a mode that is on or off.
    fn switch(&self, field: &str, is_on: Option<bool>) -> Cell {
        let word = is_on.map(|is_on| if is_on { "Enabled" } else { "Disabled" });
        self.cell(field, word.map(|word| Value::Text(word.to_owned())))
    }
}

pub(super) fn slot(at: &CardAt<'_>) -> Cell {
    let slot = at.card.card.mig_slot.map(|slot| Value::Whole(slot.into()));
    slot.ok_or_else(|| Reason::NotSupported.into())
}

fn state(at: &CardAt<'_>) -> Cell {
    match at.card.state {
        State::Unknown(reason) => Err(NoValue::NotJudged(reason)),
        state => Ok(Value::Text(state.word().to_owned())),
    }
}

fn holders(at: &CardAt<'_>) -> Cell {
    let count = Value::Whole(at.card.holders.len() as u64);
    at.cell("holders", at.card.holders_complete.then_some(count))
}

/// Returns nvidia-smi's name of a mode.
const fn mode_name(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "Default",
        ComputeMode::ExclusiveThread => "Exclusive_Thread",
        ComputeMode::ExclusiveProcess => "Exclusive_Process",
        ComputeMode::Prohibited => "Prohibited",
    }
}
