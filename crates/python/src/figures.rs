//! What was measured, as Python's values. What is not known is `None`.

use std::time::Duration;

use probe::units::Bytes;
use probe::{Reading, Why};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use track::gpu_tracker::text::text;
use track::gpu_tracker::usage::Unknown;
use track::gpu_tracker::{Expected, Gap, ResourceUsage, Spelling, Tree, Units};
use track::usage::{NoGpu, Usage};

use crate::values;

/// Seconds since the begin, bytes of RAM, percent of CPU, bytes of GPU memory, percent of GPU.
pub type Point = (f64, u64, f64, Option<u64>, Option<f64>);

pub fn point(point: &gua::report::tracked::Point) -> Point {
    (
        point.until.as_secs_f64(),
        point.ram.0,
        point.cpu.mean.0,
        point.gpu_memory.known().map(|bytes| bytes.0),
        point.gpu.known().map(|load| load.mean.0),
    )
}

/// In gpu_tracker's shape and as its text, what is not known and why, and what it has no place for.
pub fn told<'py>(
    py: Python<'py>,
    usage: &Usage,
    units: Units,
    expected: Expected,
) -> PyResult<Bound<'py, PyDict>> {
    let shaped = ResourceUsage::new(usage, units, expected);
    let tree = shaped.tree(Spelling::Descendents, Gap::Missing);
    let told = PyDict::new(py);
    told.set_item("resource_usage", values::of_tree(py, &tree)?)?;
    told.set_item("text", Text(tree))?;
    told.set_item("unknown", shaped.unknown.iter().map(reason).collect::<Vec<_>>())?;
    told.set_item("unknown_details", unknown_ends(usage))?;
    told.set_item("details", values::of_tree(py, &details(usage))?)?;
    Ok(told)
}

/// What was used, as gpu_tracker writes it. It is put together when somebody wants to read it.
#[pyclass(frozen, module = "gua._native")]
#[derive(Debug)]
pub struct Text(Tree);

#[pymethods]
impl Text {
    fn __str__(&self) -> String {
        text(&self.0)
    }
}

fn reason(unknown: &Unknown) -> (String, String) {
    match unknown {
        Unknown::Card(index, why) => (format!("card {index}"), why.to_string()),
        Unknown::Figure(name, why) => ((*name).to_owned(), why.to_string()),
        Unknown::Gpu(why) => {
            let why = match why {
                NoGpu::NoDriver(why) => why.clone(),
                NoGpu::NotInTime => "it was over before the driver had answered".to_owned(),
                NoGpu::NotAsked => "nobody asked".to_owned(),
            };
            ("all of the GPUs".to_owned(), why)
        }
    }
}

/// What is not known of the two ends, where the rest of the cards is.
fn unknown_ends(usage: &Usage) -> Vec<(&'static str, String)> {
    let Ok(gpu) = &usage.gpu else { return Vec::new() };
    let words = |why| match why {
        Why::TimedOut => "the driver had not answered by then".to_owned(),
        why => why.to_string(),
    };
    let ends = [
        ("GPU RAM at the begin", gpu.at_begin.combined),
        ("GPU RAM at the end", gpu.at_end.combined),
    ];
    ends.iter().filter_map(|(name, held)| Some((*name, words(held.why()?)))).collect()
}

/// Bytes and seconds, whatever the units.
fn details(usage: &Usage) -> Tree {
    let gpu = usage.gpu.as_ref().ok();
    let memory = |of: fn(&track::usage::GpuUsage) -> Reading<Bytes>| bytes(gpu.map(of));
    let ram = usage.ram.peak.combined.total;
    let sampling = &usage.sampling;
    Tree::group([
        ("wall_seconds", seconds(Some(usage.wall))),
        ("cpu_seconds", seconds(Some(usage.cpu.time.combined))),
        ("ram_begin_bytes", count(usage.ram.at_begin.combined.total.0)),
        ("ram_end_bytes", count(usage.ram.at_end.combined.total.0)),
        ("ram_peak_bytes", count(ram.0)),
        ("ram_peak_at_most_bytes", usage.ram.at_most.map_or(Tree::Missing, |most| count(most.0))),
        ("gpu_begin_bytes", memory(|gpu| gpu.at_begin.combined)),
        ("gpu_end_bytes", memory(|gpu| gpu.at_end.combined)),
        ("gpu_peak_bytes", memory(|gpu| gpu.memory.combined)),
        (
            "cards",
            Tree::List(gpu.map_or_else(Vec::new, |gpu| gpu.cards.iter().map(card).collect())),
        ),
        ("processes", usage.processes.seen.into()),
        ("left_running", usage.processes.left_running.into()),
        ("samples", count(sampling.samples)),
        ("period_seconds", seconds(sampling.period)),
        ("longest_seconds", seconds(sampling.longest)),
        ("own_cpu_seconds", seconds(Some(sampling.own_cpu))),
    ])
}

fn card(card: &track::usage::CardUsage) -> Tree {
    let text = |reading: &Reading<String>| {
        reading.as_ref().known().map_or(Tree::Missing, |text| text.as_str().into())
    };
    Tree::group([
        ("index", card.index.into()),
        ("uuid", text(&card.uuid)),
        ("name", text(&card.name)),
        ("memory_peak_bytes", bytes(Some(card.memory))),
        ("memory_total_bytes", bytes(Some(card.capacity))),
        ("utilization_max_percent", card.utilization.known().map(|load| load.max.0).into()),
        ("utilization_mean_percent", card.utilization.known().map(|load| load.mean.0).into()),
    ])
}

const fn count(count: u64) -> Tree {
    Tree::Count(count)
}

fn bytes(reading: Option<Reading<Bytes>>) -> Tree {
    reading.and_then(Reading::known).map_or(Tree::Missing, |bytes| count(bytes.0))
}

fn seconds(time: Option<Duration>) -> Tree {
    time.map(|time| time.as_secs_f64()).into()
}
