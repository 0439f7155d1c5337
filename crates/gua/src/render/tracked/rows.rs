//! The table of the summary: a row a measure.

use super::figures::{length, percent, size, three_figures};
use crate::cli::MemoryUnit;
use crate::render::words::{card_name, safe};
use crate::report::tracked::{Card, Gpu, Source, Tracked};

/// The titles of the columns.
pub const HEAD: [&str; 5] = ["", "peak", "mean", "out of", "next time ask for (+20 %)"];

/// More cards have no row of their own.
const MOST_CARDS: usize = 8;

/// A card's work differs by as much from the command's part of it: somebody else's work.
const NOTICEABLE_PERCENT: f64 = 5.0;

/// One measure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    pub label: String,
    pub peak: String,
    pub mean: String,
    pub out_of: String,
    pub ask: String,
}

impl Row {
    fn new(label: &str) -> Self {
        Self { label: label.to_owned(), ..Self::default() }
    }

    /// All but what to ask for.
    #[must_use]
    pub fn figures(&self) -> [String; 4] {
        [&self.label, &self.peak, &self.mean, &self.out_of].map(String::clone)
    }

    #[must_use]
    pub fn cells(&self) -> [String; 5] {
        [&self.label, &self.peak, &self.mean, &self.out_of, &self.ask].map(String::clone)
    }
}

/// All measures of which something is known; why others are missing is a remark.
#[must_use]
pub fn rows(tracked: &Tracked, unit: MemoryUnit) -> Vec<Row> {
    let mut rows = vec![time(tracked), ram(tracked, unit)];
    rows.extend(ram_at_most(tracked, unit));
    rows.extend(with_cache(tracked, unit));
    rows.push(cpu(tracked));
    rows.extend(tracked.gpu.iter().flat_map(|gpu| cards(tracked, gpu, unit)));
    rows
}

fn time(tracked: &Tracked) -> Row {
    let ask = tracked.suggestion.time().unwrap_or_default();
    Row { peak: length(tracked.wall_seconds), ask, ..Row::new("time") }
}

pub(in crate::render) fn ram(tracked: &Tracked, unit: MemoryUnit) -> Row {
    let asked = &tracked.asked;
    let out_of = asked.ram_bytes.map(|bytes| sourced(size(bytes, unit), asked.ram_source));
    let peak = match tracked.ram.peak.combined.total_bytes {
        // Nobody uses none: it was not seen.
        0 => "?".to_owned(),
        bytes => at_least(size(bytes, unit), tracked.ram.is_lower_bound),
    };
    Row {
        peak,
        out_of: out_of.unwrap_or_else(|| "?".to_owned()),
        ask: tracked.suggestion.mem().unwrap_or_default(),
        ..Row::new("RAM")
    }
}

/// A figure that is a lower bound is marked.
fn at_least(figure: String, is_lower_bound: bool) -> String {
    if is_lower_bound { format!("≥ {figure}") } else { figure }
}

fn ram_at_most(tracked: &Tracked, unit: MemoryUnit) -> Option<Row> {
    let bytes = tracked.ram.at_most_bytes?;
    Some(Row { peak: size(bytes, unit), ..Row::new("  at most") })
}

/// What a job's own account shows: files that were read count there until the room is needed.
fn with_cache(tracked: &Tracked, unit: MemoryUnit) -> Option<Row> {
    let bytes = tracked.ram.cgroup_peak_bytes?;
    Some(Row { peak: size(bytes, unit), ..Row::new("  + cache") })
}

pub(in crate::render) fn cpu(tracked: &Tracked) -> Row {
    let asked = &tracked.asked;
    let load = tracked.cpu.percent.combined;
    let cores = format!("{:.2}", asked.cores);
    let cores = cores.trim_end_matches('0').trim_end_matches('.');
    let plural = if cores == "1" { "" } else { "s" };
    Row {
        peak: at_least(percent(load.max), tracked.cpu.is_lower_bound),
        mean: at_least(percent(load.mean), tracked.cpu.is_lower_bound),
        out_of: sourced(format!("{cores} core{plural}"), asked.cores_source),
        ask: tracked.suggestion.cpus_per_task().unwrap_or_default(),
        ..Row::new("CPU")
    }
}

fn cards(tracked: &Tracked, gpu: &Gpu, unit: MemoryUnit) -> Vec<Row> {
    let mut rows = vec![memory(tracked, gpu, unit)];
    let held: Vec<_> = gpu.held().collect();
    match held.as_slice() {
        [] if gpu.is_told() => {}
        [] => rows.push(all_cards(gpu)),
        [one] => rows.push(work("GPU", one, asked_cards(tracked))),
        several => {
            let row = |card: &&Card| {
                let name = card.name.as_deref().map(|name| safe(card_name(name)));
                work(&format!("GPU {}", card.index), card, name.unwrap_or_default())
            };
            rows.extend(several.iter().take(MOST_CARDS).map(row));
            if let Some(more) = several.len().checked_sub(MOST_CARDS + 1) {
                let label = format!("and {} more", more + 1);
                rows.push(Row { ask: "--json has all".to_owned(), ..Row::new(&label) });
            }
        }
    }
    if let Some(row) = rows.get_mut(1) {
        row.ask = tracked.suggestion.gpu_count().unwrap_or_default();
    }
    rows.extend(own_part(gpu, &held));
    rows.extend(energy(gpu).filter(|_| !held.is_empty()));
    rows
}

/// Told where the cards worked for others too.
fn own_part(gpu: &Gpu, held: &[&Card]) -> Option<Row> {
    let own = gpu.own_utilization_percent?;
    let cards = held.iter().map(|card| card.utilization_percent.map(|load| load.mean));
    let cards: f64 = cards.sum::<Option<f64>>()?;
    (cards - own.mean >= NOTICEABLE_PERCENT).then(|| {
        let (peak, mean) = (percent(own.max), percent(own.mean));
        Row { peak, mean, ..Row::new("  its part") }
    })
}

fn energy(gpu: &Gpu) -> Option<Row> {
    let hours = match gpu.held_energy_joules()? / 3600.0 {
        watts if watts < 1000.0 => format!("{} Wh", three_figures(watts)),
        watts => format!("{} kWh", three_figures(watts / 1000.0)),
    };
    Some(Row { peak: hours, ..Row::new("GPU energy") })
}

fn memory(tracked: &Tracked, gpu: &Gpu, unit: MemoryUnit) -> Row {
    let suggestion = &tracked.suggestion;
    let row = Row::new("GPU memory");
    let Some(card) = gpu.fullest() else {
        let peak = if gpu.is_told() { "none" } else { "?" };
        let ask = if suggestion.gpus == Some(0) { "no GPU" } else { "" };
        return Row { peak: peak.to_owned(), ask: ask.to_owned(), ..row };
    };
    let peak = size(card.memory_peak_bytes.unwrap_or_default(), unit);
    let enough = |bytes| match size(bytes, MemoryUnit::Auto) {
        size if gpu.held().count() == 1 => format!("a card with {size} is enough"),
        size => format!("cards with {size} are enough"),
    };
    Row {
        peak: format!("{peak} (card {})", card.index),
        out_of: card.capacity_bytes.map_or_else(|| "?".to_owned(), |bytes| size(bytes, unit)),
        ask: suggestion.gpu_memory_bytes.map(enough).unwrap_or_default(),
        ..row
    }
}

fn work(label: &str, card: &Card, out_of: String) -> Row {
    let load = card.utilization_percent;
    Row {
        peak: load.map_or_else(|| "?".to_owned(), |load| percent(load.max)),
        mean: load.map(|load| percent(load.mean)).unwrap_or_default(),
        out_of,
        ..Row::new(label)
    }
}

/// Where it is not known which of them it held: its part of their work, or else everybody's,
/// called so.
fn all_cards(gpu: &Gpu) -> Row {
    let (label, load) = match gpu.own_utilization_percent {
        Some(own) => ("GPU", Some(own)),
        None => ("GPU, anybody", gpu.utilization_percent),
    };
    let is_there = |card: &&Card| card.is_chosen && card.lost.is_none();
    let chosen = gpu.cards.iter().filter(is_there).count();
    Row {
        peak: load.map_or_else(|| "?".to_owned(), |load| percent(load.max)),
        mean: load.map(|load| percent(load.mean)).unwrap_or_default(),
        out_of: some_cards(chosen),
        ..Row::new(label)
    }
}

fn asked_cards(tracked: &Tracked) -> String {
    let gpus = tracked.asked.gpus.and_then(|gpus| usize::try_from(gpus).ok());
    gpus.map(|gpus| sourced(some_cards(gpus), tracked.asked.gpus_source)).unwrap_or_default()
}

pub(in crate::render) fn some_cards(count: usize) -> String {
    if count == 1 { "1 card".to_owned() } else { format!("{count} cards") }
}

/// What there is, and whether it was asked for or allowed.
fn sourced(amount: String, source: Source) -> String {
    match source {
        Source::Option | Source::Slurm => format!("{amount} asked"),
        Source::Cgroup => format!("{amount} allowed"),
        Source::Machine => amount,
    }
}
