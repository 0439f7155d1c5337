//! The sentences around the figures.

use super::figures::{count, length, three_figures};
use crate::render::paint::Ink;
use crate::render::words::safe;
use crate::report::tracked::{Ending, Gpu, MemorySource, Tracked};
use crate::wrap::wrapped;

/// How much longer than asked for a period may be before it is worth a word.
const LATE: f64 = 1.05;

/// Who it was, how it ended, and how long it took.
#[must_use]
pub fn headline(tracked: &Tracked) -> String {
    format!("{} {}", name(tracked), ended(tracked))
}

/// `python train.py`, or `pid 4711 (python)`.
#[must_use]
pub fn name(tracked: &Tracked) -> String {
    let subject = &tracked.subject;
    let name = subject.name.as_deref().map(safe);
    match (name, subject.is_attached) {
        (Some(name), false) => name,
        (Some(name), true) => format!("pid {} ({name})", subject.pid),
        (None, _) => format!("pid {}", subject.pid),
    }
}

/// `ended with 0 after 1h29m42s`.
#[must_use]
pub fn ended(tracked: &Tracked) -> String {
    let took = length(tracked.wall_seconds);
    match tracked.ending {
        Ending::Exited { code } => format!("ended with {code} after {took}"),
        Ending::Killed { signal, signal_name } => {
            let signal = signal_name.map_or_else(|| format!("signal {signal}"), str::to_owned);
            format!("was ended by {signal} after {took}")
        }
        Ending::Gone => format!("ended, after {took} of being followed"),
        Ending::GoesOn => format!("goes on; it was followed for {took}"),
    }
}

/// A command that did not end well stands out.
#[must_use]
pub const fn ink(ending: Ending) -> Ink {
    match ending {
        Ending::Exited { code: 0 } | Ending::Gone | Ending::GoesOn => Ink::Strong,
        Ending::Exited { .. } | Ending::Killed { .. } => Ink::Bad,
    }
}

/// What the figures rest on.
#[must_use]
pub fn basis(tracked: &Tracked) -> String {
    let mut parts = vec![samples(tracked)];
    parts.push(ram_and_cpu_basis(tracked).to_owned());
    parts.extend(tracked.gpu.as_ref().and_then(gpu_basis));
    parts.join("; ")
}

fn ram_and_cpu_basis(tracked: &Tracked) -> &'static str {
    let cpu = &tracked.cpu;
    match (tracked.ram.is_lower_bound, cpu.is_exact, cpu.is_lower_bound) {
        (false, true, _) => "RAM peaks and CPU times from the kernel, spikes included",
        (false, false, false) => {
            "RAM peaks from the kernel, spikes included; CPU times as of the last sample"
        }
        (false, false, true) => {
            "RAM peaks from the kernel, spikes included; CPU times are lower bounds"
        }
        (true, true, _) => "CPU times from the kernel; RAM peaks are lower bounds",
        (true, false, false) => "CPU times as of the last sample; RAM peaks are lower bounds",
        (true, false, true) => "RAM peaks and CPU times are lower bounds",
    }
}

fn samples(tracked: &Tracked) -> String {
    let sampling = &tracked.sampling;
    let asked = interval(sampling.asked_seconds);
    let samples = match sampling.samples {
        1 => "1 sample".to_owned(),
        samples => format!("{} samples", count(samples)),
    };
    match sampling.period_seconds {
        None => samples,
        Some(period) if period > sampling.asked_seconds * LATE => {
            format!("{samples} every {}, asked for every {asked}", interval(period))
        }
        Some(period) => format!("{samples} every {}", interval(period)),
    }
}

/// A period with its decimals, so that 1.0 s is not taken for about a second.
fn interval(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{} ms", three_figures(s * 1000.0)),
        s if s < 60.0 => format!("{s:.1} s"),
        s => length(s),
    }
}

fn gpu_basis(gpu: &Gpu) -> Option<String> {
    let is_accounted = |source| gpu.held().all(|card| card.memory_source == source);
    gpu.fullest()?;
    let looks = match gpu.looks {
        1 => "1 look".to_owned(),
        looks => format!("{} looks", count(looks)),
    };
    Some(if is_accounted(MemorySource::Accounting) {
        "GPU memory from the driver's accounting, spikes included".to_owned()
    } else {
        format!("GPU memory from {looks}: a spike between two is not seen")
    })
}

/// Broken between words, but not between a figure and its unit.
pub(super) fn in_lines(text: &str, most: usize) -> Vec<String> {
    let mut bound = text.to_owned();
    for unit in ["%", "s", "ms", "GB", "MB", "cores", "samples", "looks"] {
        for end in ["", ",", ";", ":", "."] {
            bound = bound.replace(&format!(" {unit}{end} "), &format!("\u{a0}{unit}{end} "));
        }
    }
    wrapped(&bound, most).into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}
