//! One row a run, for a table of many runs.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::render::csv::{name, row};
use crate::render::words::safe;
use crate::report::tracked::Tracked;

/// The columns and where in the answer their figures are; bytes and seconds. The GPU percentages
/// and the energy are those of the cards that the command held, and of no others.
const COLUMNS: [(&str, &str); 47] = [
    ("name", "/name"),
    ("pid", "/pid"),
    ("began", "/began"),
    ("wall_seconds", "/wall_seconds"),
    ("ended_how", "/ending/how"),
    ("exit_code", "/ending/code"),
    ("signal", "/ending/signal"),
    ("asked_cores", "/asked/cores"),
    ("asked_ram_bytes", "/asked/ram_bytes"),
    ("asked_gpus", "/asked/gpus"),
    ("ram_peak_bytes", "/ram/peak/combined/total_bytes"),
    ("ram_is_lower_bound", "/ram/is_lower_bound"),
    ("ram_peak_private_bytes", "/ram/peak/combined/private_bytes"),
    ("ram_peak_shared_bytes", "/ram/peak/combined/shared_bytes"),
    ("ram_peak_main_bytes", "/ram/peak/main/total_bytes"),
    ("ram_peak_descendants_bytes", "/ram/peak/descendants/total_bytes"),
    ("ram_peak_system_bytes", "/ram/system_peak_bytes"),
    ("ram_peak_cgroup_bytes", "/ram/cgroup_peak_bytes"),
    ("cpu_seconds", "/cpu/time_seconds/combined"),
    ("cpu_main_seconds", "/cpu/time_seconds/main"),
    ("cpu_descendants_seconds", "/cpu/time_seconds/descendants"),
    ("cpu_is_exact", "/cpu/is_exact"),
    ("cpu_is_lower_bound", "/cpu/is_lower_bound"),
    ("cpu_max_percent", "/cpu/percent/combined/max"),
    ("cpu_mean_percent", "/cpu/percent/combined/mean"),
    ("cpu_mean_of_asked_percent", "/cpu/of_asked_percent/mean"),
    ("threads_max", "/cpu/threads_max/combined"),
    ("gpu_memory_peak_bytes", "/gpu/memory_peak_bytes/combined"),
    ("gpu_memory_peak_main_bytes", "/gpu/memory_peak_bytes/main"),
    ("gpu_memory_peak_descendants_bytes", "/gpu/memory_peak_bytes/descendants"),
    ("gpu_memory_peak_system_bytes", "/gpu/system_memory_peak_bytes"),
    ("gpu_max_percent", "/gpu/held/utilization_percent/max"),
    ("gpu_mean_percent", "/gpu/held/utilization_percent/mean"),
    ("gpu_own_max_percent", "/gpu/own_utilization_percent/max"),
    ("gpu_own_mean_percent", "/gpu/own_utilization_percent/mean"),
    ("gpu_energy_joules", "/gpu/held/energy_joules"),
    ("processes_seen", "/processes/seen"),
    ("processes_left_running", "/processes/left_running"),
    ("processes_hidden", "/processes/hidden"),
    ("samples", "/sampling/samples"),
    ("asked_period_seconds", "/sampling/asked_seconds"),
    ("period_seconds", "/sampling/period_seconds"),
    ("suggested_ram_bytes", "/suggestion/ram_bytes"),
    ("suggested_cores", "/suggestion/cores"),
    ("suggested_gpus", "/suggestion/gpus"),
    ("suggested_gpu_memory_bytes", "/suggestion/gpu_memory_bytes"),
    ("suggested_seconds", "/suggestion/seconds"),
];

/// Writes a header and one row; what is not known is empty.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, tracked: &Tracked) -> io::Result<()> {
    let mut answer = serde_json::to_value(tracked)?;
    if let Some(gpu) = &tracked.gpu {
        answer["gpu"]["held"] = json!({
            "utilization_percent": gpu.held_utilization_percent(),
            "energy_joules": gpu.held_energy_joules(),
        });
    }
    row(out, &COLUMNS.map(|(title, _)| title.to_owned()))?;
    row(out, &COLUMNS.map(|(_, place)| field(answer.pointer(place))))
}

fn field(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => name(&safe(text)),
        Some(other) => other.to_string(),
    }
}
