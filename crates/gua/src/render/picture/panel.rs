//! What stands in each panel.

use probe::Reading;

use super::Picture;
use super::scale::Scale;
use super::series::Series;
use crate::render::tracked::figures::{percent, size};
use crate::render::tracked::rows;
use crate::report::tracked::{Load, Point};

/// A limit further away than this would squash the curve.
const FARTHEST_LIMIT: f64 = 2.5;

/// A peak that is so much above the highest sample was between two of them.
const BETWEEN: f64 = 1.02;

/// One measure, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Panel {
    pub title: String,
    /// Its figures in words.
    pub told: String,
    pub hue: Hue,
    pub content: Content,
}

/// Which colour; the style says what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hue {
    Ram,
    GpuMemory,
    Cpu,
    Gpu,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Curve(Curve),
    /// Nothing to draw, and why.
    Nothing(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub series: Series,
    pub scale: Scale,
    /// What the highest point says.
    pub peak: Option<String>,
    /// A peak that no sample saw.
    pub spike: Option<Level>,
    pub limit: Option<Level>,
}

/// A height with its words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Level {
    pub at: f64,
    pub label: String,
}

/// The panels from top to bottom.
pub(super) fn panels(picture: &Picture<'_>) -> Vec<Panel> {
    let mut panels = vec![ram(picture)];
    let tracked = picture.tracked;
    match &tracked.gpu {
        Some(_) => panels.extend([gpu_memory(picture), cpu(picture), gpu(picture)]),
        None => panels.push(cpu(picture)),
    }
    if let Some(error) = &tracked.gpu_error {
        panels.push(Panel {
            title: "GPU".to_owned(),
            told: String::new(),
            hue: Hue::Gpu,
            content: Content::Nothing(format!("nothing is known: {error}")),
        });
    }
    panels
}

#[expect(clippy::cast_precision_loss, reason = "a picture shows three figures")]
fn ram(picture: &Picture<'_>) -> Panel {
    let tracked = picture.tracked;
    let bytes = tracked.ram.peak.combined.total_bytes;
    let series = Series::memory(picture.points, |point| Reading::Known(point.ram.0));
    let row = rows::ram(tracked, picture.unit);
    let limit = tracked.asked.ram_bytes.map(|limit| limit as f64);
    Panel {
        title: "RAM".to_owned(),
        told: told(&[("peak", &row.peak), ("", &out_of(&row.out_of))]),
        hue: Hue::Ram,
        content: memory(picture, series, bytes as f64, limit, &row.out_of),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture shows three figures")]
fn gpu_memory(picture: &Picture<'_>) -> Panel {
    let gpu = picture.tracked.gpu.as_ref();
    let bytes = gpu.and_then(|gpu| gpu.memory_peak_bytes.combined);
    let series = Series::memory(picture.points, |point| point.gpu_memory.map(|bytes| bytes.0));
    // Of the cards that it held; a curve of one card is no share of eight.
    let held = gpu.map(|gpu| gpu.held().map(|card| card.capacity_bytes).sum::<Option<u64>>());
    let capacity = held.flatten().filter(|capacity| *capacity > 0);
    let shown = capacity.map(|capacity| size(capacity, picture.unit)).unwrap_or_default();
    let peak = bytes.map_or_else(|| "?".to_owned(), |bytes| size(bytes, picture.unit));
    let is_none = bytes == Some(0) && series.peak().is_none_or(|peak| peak.most == 0.0);
    let content = if is_none {
        Content::Nothing("it held none".to_owned())
    } else {
        let most = bytes.unwrap_or_default() as f64;
        memory(picture, series, most, capacity.map(|capacity| capacity as f64), &shown)
    };
    let told =
        if is_none { String::new() } else { told(&[("peak", &peak), ("", &out_of(&shown))]) };
    Panel { title: "GPU memory".to_owned(), told, hue: Hue::GpuMemory, content }
}

fn memory(
    picture: &Picture<'_>,
    series: Series,
    known_peak: f64,
    limit: Option<f64>,
    shown_limit: &str,
) -> Content {
    if series.is_empty() {
        return nothing(&series);
    }
    let sampled = series.peak().map_or(0.0, |peak| peak.most);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let shown = |bytes: f64| size(bytes.round() as u64, picture.unit);
    let is_spike = known_peak > sampled * BETWEEN;
    let most = known_peak.max(sampled);
    let limit = limit.filter(|limit| *limit > 0.0 && *limit <= most * FARTHEST_LIMIT);
    Content::Curve(Curve {
        series,
        scale: Scale::memory(limit.map_or(most, |limit| limit.max(most)), picture.unit),
        peak: (!is_spike).then(|| shown(sampled)),
        spike: is_spike.then(|| Level {
            at: known_peak,
            label: format!("{}, between two samples", shown(known_peak)),
        }),
        limit: limit.map(|at| Level { at, label: shown_limit.to_owned() }),
    })
}

fn cpu(picture: &Picture<'_>) -> Panel {
    let tracked = picture.tracked;
    let row = rows::cpu(tracked);
    let series = Series::load(picture.points, |point| Reading::Known(point.cpu));
    Panel {
        title: "CPU".to_owned(),
        told: loaded(tracked.cpu.percent.combined, &row.out_of),
        hue: Hue::Cpu,
        content: load(series, tracked.cpu.percent.combined.max, tracked.asked.cores, &row.out_of),
    }
}

/// The command's own part where it is told, else everybody's work on the chosen cards.
fn gpu(picture: &Picture<'_>) -> Panel {
    let gpu = picture.tracked.gpu.as_ref();
    let own = Series::load(picture.points, |point: &Point| point.own_gpu);
    let is_own = !own.is_empty();
    let series = if is_own { own } else { Series::load(picture.points, |point| point.gpu) };
    let figures = gpu
        .and_then(|gpu| if is_own { gpu.own_utilization_percent } else { gpu.utilization_percent });
    let chosen = gpu.map_or(0, |gpu| gpu.cards.iter().filter(|card| card.is_chosen).count());
    let cards = rows::some_cards(chosen);
    let whose = if is_own { "its own part" } else { "everybody's work" };
    let title = if chosen == 1 && !is_own { "GPU".to_owned() } else { format!("GPU, {whose}") };
    #[expect(clippy::cast_precision_loss, reason = "a host has a few cards")]
    let content = load(series, figures.map_or(0.0, |load| load.max), chosen as f64, &cards);
    let told = figures.map(|figures| loaded(figures, &cards)).unwrap_or_default();
    Panel { title, told, hue: Hue::Gpu, content }
}

/// Over a very short time a load is all or nothing; what is more than the load that is told
/// gets no mark.
fn load(series: Series, told_max: f64, count: f64, shown_limit: &str) -> Content {
    if series.is_empty() {
        return nothing(&series);
    }
    let peak = series.peak().map_or(0.0, |peak| peak.most);
    let limit = count * 100.0;
    // One core or card is on the axis as a tick.
    let is_near = limit > 100.0 && limit <= peak.max(100.0) * FARTHEST_LIMIT;
    let limit = is_near.then(|| Level { at: limit, label: shown_limit.to_owned() });
    Content::Curve(Curve {
        series,
        scale: Scale::load(limit.as_ref().map_or(peak, |limit| limit.at.max(peak))),
        peak: (peak <= told_max * BETWEEN).then(|| percent(peak)),
        spike: None,
        limit,
    })
}

fn nothing(series: &Series) -> Content {
    Content::Nothing(match series.gaps.first() {
        Some(gap) => format!("unknown: {}", gap.why),
        None => "it was over before the first sample".to_owned(),
    })
}

fn loaded(load: Load, out_of_what: &str) -> String {
    let (mean, max) = (percent(load.mean), percent(load.max));
    told(&[("mean", &mean), ("peak", &max), ("", &out_of(out_of_what))])
}

fn out_of(what: &str) -> String {
    if what.is_empty() { String::new() } else { format!("out of {what}") }
}

fn told(parts: &[(&str, &str)]) -> String {
    let parts = parts.iter().filter(|(_, figure)| !figure.is_empty());
    let parts: Vec<_> = parts.map(|(word, figure)| format!("{word} {figure}")).collect();
    parts.iter().map(|part| part.trim()).collect::<Vec<_>>().join(", ")
}
