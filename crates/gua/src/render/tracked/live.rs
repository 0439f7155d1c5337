//! What a command uses at the moment, on one line.

use probe::Reading;
use track::Sample;

use super::figures::{length, percent, size};
use crate::cli::MemoryUnit;
use crate::render::words::{cut, safe, width};

/// The room for a length of time, a size and a load, which most figures of each fit in.
const TIME: usize = "1h29m42s".len();
const SIZE: usize = "99.9 GB".len();
const LOAD: usize = "6,400 %".len();
/// A name of a few letters says nothing.
const SHORTEST_NAME: usize = 8;
const GAP: &str = "  ";

/// A figure, and the room that is kept for it: the name must not come and go with its length.
struct Figure {
    text: String,
    room: usize,
}

impl Figure {
    fn new(label: &str, text: &str, room: usize) -> Self {
        let text = format!("{label}{text}");
        Self { room: width(&text).max(width(label) + room), text }
    }
}

/// The line, in at most so many columns: what does not fit is left out, last things first.
#[must_use]
pub fn line(name: &str, sample: &Sample, unit: MemoryUnit, most: usize) -> String {
    let mut figures = vec![
        Figure::new("", &length(sample.since_begin.as_secs_f64()), TIME),
        Figure::new("RAM ", &size(sample.ram.combined.total.0, unit), SIZE),
        Figure::new("CPU ", &percent(sample.cpu.combined.0), LOAD),
    ];
    figures.extend(gpu(sample, unit));
    let kept: usize = figures.iter().map(|figure| figure.room + GAP.len()).sum();
    while figures.len() > 1 && width(&joined(&figures)) > most {
        figures.pop();
    }
    cut(&format!("{}{}", named(name, most.saturating_sub(kept)), joined(&figures)), most)
}

/// The name in so much room, with what sets it off.
fn named(name: &str, room: usize) -> String {
    let name = safe(name);
    match room >= width(&name).min(SHORTEST_NAME) && room > 0 {
        true => format!("{}{GAP}", cut(&name, room)),
        false => String::new(),
    }
}

fn joined(figures: &[Figure]) -> String {
    let texts: Vec<&str> = figures.iter().map(|figure| figure.text.as_str()).collect();
    texts.join(GAP)
}

/// The tree's own part of the work where it is told.
fn gpu(sample: &Sample, unit: MemoryUnit) -> Vec<Figure> {
    let Reading::Known(gpu) = &sample.gpu else { return Vec::new() };
    let memory = gpu.memory.combined.known().map(|bytes| size(bytes.0, unit));
    let memory = memory.map(|memory| Figure::new("GPU memory ", &memory, SIZE));
    let work = gpu.tree_utilization.known().or_else(|| gpu.utilization.known());
    let work = work.map(|work| Figure::new("GPU ", &percent(work.0), "100 %".len()));
    memory.into_iter().chain(work).collect()
}
