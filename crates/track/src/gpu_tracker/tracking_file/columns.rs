//! The columns of a tracking file, and a sample's values for them.

use std::time::UNIX_EPOCH;

use probe::Reading;
use probe::units::{Bytes, Percent};

use super::facts::Static;
use crate::gpu_tracker::units::RamUnit;
use crate::parts::Parts;
use crate::sample::{GpuSample, Sample};

/// What a sample measures, in the file's order. After them comes the time.
pub const MEASURES: [&str; 21] = [
    "main_ram",
    "descendants_ram",
    "combined_ram",
    "system_ram",
    "main_gpu_ram",
    "descendants_gpu_ram",
    "combined_gpu_ram",
    "system_gpu_ram",
    "gpu_sum_utilization_percent",
    "gpu_hardware_utilization_percent",
    "main_n_threads",
    "descendants_n_threads",
    "combined_n_threads",
    "cpu_system_sum_utilization_percent",
    "cpu_system_hardware_utilization_percent",
    "cpu_main_sum_utilization_percent",
    "cpu_main_hardware_utilization_percent",
    "cpu_descendants_sum_utilization_percent",
    "cpu_descendants_hardware_utilization_percent",
    "cpu_combined_sum_utilization_percent",
    "cpu_combined_hardware_utilization_percent",
];

/// When a sample was taken: seconds since the epoch, with a fraction.
pub(super) const TIME: &str = "timestamp";

/// All columns of a row.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    MEASURES.into_iter().chain([TIME])
}

/// Whether a column counts, and is not a quantity.
pub(super) fn is_count(column: &str) -> bool {
    column.ends_with("_n_threads")
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Count(u32),
    /// Not known: an empty cell, which both tools leave out of their statistics.
    Missing,
}

/// A sample's row, in the order of [`all`].
pub(super) fn row(sample: &Sample, facts: &Static) -> Vec<Value> {
    let ram = facts.units.ram;
    let cores = f64::from(facts.expected_cores);
    let mut row = Vec::with_capacity(MEASURES.len() + 1);
    row.extend(in_order(sample.ram).map(|part| Value::Number(ram.of(part.total))));
    row.push(bytes(sample.system_ram, ram));
    row.extend(gpu_values(&sample.gpu, facts));
    row.extend(in_order(sample.threads).map(Value::Count));
    row.extend(loads(sample.system_cpu, f64::from(facts.cores)));
    row.extend(
        in_order(sample.cpu).into_iter().flat_map(|load| loads(Reading::Known(load), cores)),
    );
    row.push(Value::Number(seconds(sample)));
    row
}

fn in_order<T>(parts: Parts<T>) -> [T; 3] {
    [parts.main, parts.descendants, parts.combined]
}

/// Where there is no card, nothing is held and nothing works: that is known to be 0.
fn gpu_values(gpu: &Reading<GpuSample>, facts: &Static) -> [Value; 6] {
    let unit = facts.units.gpu_ram;
    match gpu {
        Reading::Known(gpu) => {
            let [main, descendants, combined] = in_order(gpu.memory).map(|part| bytes(part, unit));
            let [sum, share] = card_loads(gpu.utilization, facts.expected_cards);
            [main, descendants, combined, bytes(gpu.system_memory, unit), sum, share]
        }
        Reading::Unknown(_) if facts.cards == Some(0) => [Value::Number(0.0); 6],
        Reading::Unknown(_) => [Value::Missing; 6],
    }
}

fn bytes(reading: Reading<Bytes>, unit: RamUnit) -> Value {
    reading.known().map_or(Value::Missing, |bytes| Value::Number(unit.of(bytes)))
}

/// The share is not known where the number of cards is not.
fn card_loads(load: Reading<Percent>, cards: Option<u32>) -> [Value; 2] {
    let [sum, share] = loads(load, f64::from(cards.unwrap_or_default()));
    [sum, cards.map_or(Value::Missing, |_| share)]
}

/// A sum and its share of so many cores or cards.
fn loads(load: Reading<Percent>, of: f64) -> [Value; 2] {
    load.known().map_or([Value::Missing; 2], |Percent(sum)| {
        [Value::Number(sum), Value::Number(if of > 0.0 { sum / of } else { 0.0 })]
    })
}

fn seconds(sample: &Sample) -> f64 {
    sample.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
