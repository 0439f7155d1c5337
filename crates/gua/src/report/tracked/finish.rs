//! From a measurement to the answer.

use jiff::Timestamp;
use probe::units::Bytes;
use track::Usage;
use track::sample;
use track::usage::{NoGpu, RamUsage};

use super::answer::{Cpu, Load, Parts, Processes, Ram, RamPeak, Sampling, Tracked};
use super::asked::{Asked, Request};
use super::ending::Ending;
use super::gpu::Gpu;
use super::remarks::remarks;
use super::subject::Subject;
use super::suggestion::{Suggestion, Used};
use crate::report::unknowns::{Reason, Unknowns};

/// A measurement, and what has to be known of it.
#[derive(Debug, Clone)]
pub struct Measured {
    pub subject: Subject,
    pub ending: Ending,
    pub usage: Usage,
    /// How many of its descendants had to be ended by force.
    pub killed: u32,
    pub request: Request,
}

/// Answers from a measurement.
#[must_use]
pub fn tracked(measured: &Measured) -> Tracked {
    let Measured { subject, ending, usage, killed, request } = measured;
    let mut unknown = Unknowns::default();
    let asked = Asked::new(request, usage);
    let ram = ram(usage, &mut unknown);
    let cpu = cpu(usage, asked.cores, &mut unknown);
    let gpu = usage.gpu.as_ref().map(Gpu::new).map_err(reason);
    if let Err(reason) = &gpu {
        unknown.note("gpu", *reason);
    }
    let used = Used {
        seconds: usage.wall.as_secs_f64(),
        ram_bytes: needed_ram(&usage.ram).0,
        cpu: cpu.percent.combined,
        gpu: gpu.as_ref().map_err(|reason| *reason),
        is_whole: !subject.is_attached && matches!(ending, Ending::Exited { .. }),
    };
    let suggestion = Suggestion::new(&used);
    let tracked = Tracked {
        schema: "gua.track/1",
        subject: subject.clone(),
        began: Timestamp::try_from(usage.began).unwrap_or_default(),
        wall_seconds: usage.wall.as_secs_f64(),
        ending: *ending,
        asked,
        ram,
        cpu,
        gpu: gpu.ok(),
        gpu_error: gpu_error(usage),
        processes: Processes {
            seen: usage.processes.seen,
            left_running: usage.processes.left_running,
            killed: *killed,
            hidden: usage.processes.hidden,
            missed: usage.processes.missed,
        },
        sampling: sampling(usage),
        suggestion,
        remarks: Vec::new(),
        unknown,
    };
    Tracked { remarks: remarks(&tracked, usage), ..tracked }
}

fn reason(no: &NoGpu) -> Reason {
    match no {
        NoGpu::NotAsked => Reason::from(probe::Why::NotAsked),
        NoGpu::NoDriver(_) => Reason::NoDriver,
        NoGpu::NotInTime => Reason::NotInTime,
    }
}

/// The first line says what is the matter; the next step is for those who want the GPUs.
fn gpu_error(usage: &Usage) -> Option<String> {
    match usage.gpu.as_ref().err()? {
        NoGpu::NotAsked => None,
        NoGpu::NoDriver(words) => {
            let words = words.lines().next().unwrap_or_default();
            Some(words.trim_end_matches('.').to_owned())
        }
        NoGpu::NotInTime => Some("it was over before the driver had answered".to_owned()),
    }
}

fn ram(usage: &Usage, unknown: &mut Unknowns) -> Ram {
    let peak = usage.ram.peak.map(|ram: sample::Ram| {
        let split = unknown.take("ram.peak.private_bytes", ram.split());
        RamPeak {
            total_bytes: ram.total.0,
            private_bytes: split.map(|(private, _)| private.0),
            shared_bytes: split.map(|(_, shared)| shared.0),
        }
    });
    let system = unknown.take("ram.system_peak_bytes", usage.ram.system_peak);
    Ram {
        peak: Parts::from(peak),
        is_lower_bound: usage.ram.at_most.is_some() || usage.processes.missed > 0,
        at_most_bytes: usage.ram.at_most.map(|Bytes(bytes)| bytes),
        system_peak_bytes: system.map(|Bytes(bytes)| bytes),
        cgroup_peak_bytes: usage.ram.cgroup_peak.map(|peak| peak.total.0),
    }
}

/// Returns the RAM to ask for, without head room. Where the peak is a lower bound, it is the most that
/// it can have been: too little memory ends a job, too much does not. It is no more than what the
/// cgroup counted with the page cache, and no less than what it counted without.
fn needed_ram(ram: &RamUsage) -> Bytes {
    let peak = ram.peak.combined.total;
    let at_most = ram.at_most.map_or(peak, |most| most.max(peak));
    let Some(cgroup) = ram.cgroup_peak else { return at_most };
    at_most.min(cgroup.total.max(peak)).max(cgroup.without_cache.unwrap_or(peak))
}

fn cpu(usage: &Usage, cores: f64, unknown: &mut Unknowns) -> Cpu {
    let percent = Parts::from(usage.cpu.percent.map(Load::from));
    Cpu {
        time_seconds: Parts::from(usage.cpu.time.map(|time| time.as_secs_f64())),
        is_exact: usage.sampling.is_cpu_exact,
        is_lower_bound: usage.cpu.is_lower_bound,
        percent,
        of_asked_percent: percent.combined.of(cores),
        system_percent: unknown.take("cpu.system_percent", usage.cpu.system).map(Load::from),
        threads_max: Parts::from(usage.cpu.threads),
    }
}

fn sampling(usage: &Usage) -> Sampling {
    let sampling = &usage.sampling;
    Sampling {
        asked_seconds: sampling.asked.as_secs_f64(),
        samples: sampling.samples,
        period_seconds: sampling.period.map(|period| period.as_secs_f64()),
        longest_seconds: sampling.longest.map(|longest| longest.as_secs_f64()),
        map_reads: sampling.map_reads,
        own_cpu_seconds: sampling.own_cpu.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use track::usage::CgroupPeak;

    use super::super::examples;
    use super::*;

    /// The cgroup's peak in GB, with and without the page cache.
    fn suggested(at_most: Option<u64>, cgroup: Option<(u64, u64)>) -> (bool, Option<String>) {
        let gb = |gb| Bytes(gb * 1_000_000_000);
        let mut measured = examples::gpu_not_asked();
        measured.usage.ram.at_most = at_most.map(gb);
        measured.usage.ram.cgroup_peak = cgroup.map(|(total, without_cache)| CgroupPeak {
            total: gb(total),
            without_cache: Some(gb(without_cache)),
        });
        let tracked = tracked(&measured);
        (tracked.ram.is_lower_bound, tracked.suggestion.mem())
    }

    /// Regression: less was suggested than what was used.
    #[test]
    fn a_lower_bound_is_not_what_to_ask_for() {
        let mem = |gib: u32| Some(format!("--mem={gib}G"));
        assert_eq!(suggested(None, None), (false, mem(4)));
        assert_eq!(suggested(Some(6), None), (true, mem(8)));
        assert_eq!(
            suggested(Some(20), Some((6, 3))),
            (true, mem(8)),
            "no more than the cgroup had"
        );
        assert_eq!(suggested(Some(6), Some((60, 3))), (true, mem(8)), "the rest is cache");
        assert_eq!(suggested(None, Some((60, 6))), (false, mem(8)), "files in tmpfs count");
    }
}
