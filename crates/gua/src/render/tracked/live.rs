//! What a command uses at the moment, on one line.

use probe::Reading;
use track::Sample;

use super::figures::{length, percent, size};
use crate::cli::MemoryUnit;
use crate::render::words::{cut, safe, width};

/// The line, in at most so many columns: what does not fit is left out, last things first.
#[must_use]
pub fn line(name: &str, sample: &Sample, unit: MemoryUnit, most: usize) -> String {
    let mut parts = vec![
        length(sample.since_begin.as_secs_f64()),
        format!("RAM {}", size(sample.ram.combined.total.0, unit)),
        format!("CPU {}", percent(sample.cpu.combined.0)),
    ];
    parts.extend(gpu(sample, unit));
    while parts.len() > 1 && joined(&parts) > most {
        parts.pop();
    }
    let figures = parts.join("  ");
    let room = most.saturating_sub(width(&figures) + 2);
    // A name of a few letters says nothing.
    let name = if room >= 8 { format!("{}  ", cut(&safe(name), room)) } else { String::new() };
    cut(&format!("{name}{figures}"), most)
}

fn joined(parts: &[String]) -> usize {
    width(&parts.join("  "))
}

/// The tree's own part of the work where it is told.
fn gpu(sample: &Sample, unit: MemoryUnit) -> Vec<String> {
    let Reading::Known(gpu) = &sample.gpu else { return Vec::new() };
    let memory = gpu.memory.combined.known().map(|bytes| size(bytes.0, unit));
    let work = gpu.tree_utilization.known().or_else(|| gpu.utilization.known());
    let work = work.map(|work| format!("GPU {}", percent(work.0)));
    memory.map(|memory| format!("GPU memory {memory}")).into_iter().chain(work).collect()
}
