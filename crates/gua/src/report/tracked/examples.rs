//! Measurements to test on.

use std::time::{Duration, SystemTime};

use probe::units::{Bytes, Millijoules, Percent};
use probe::{Reading, Why};
use track::sample::{GpuSample, Ram};
use track::usage::{
    CardUsage, CgroupPeak, CpuUsage, GpuUsage, Limits, Load, Machine, MemorySource, NoGpu,
    Processes, RamUsage, Sampling, Usage,
};
use track::{Parts, Sample};

use super::{Ending, Measured, Request, Subject};

const GB: u64 = 1_000_000_000;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small figures")]
fn bytes(gb: f64) -> Bytes {
    Bytes((gb * GB as f64) as u64)
}

fn load(max: f64, mean: f64) -> Load {
    Load { max: Percent(max), mean: Percent(mean) }
}

fn ram(gb: f64) -> Ram {
    Ram { total: bytes(gb), private: bytes(gb * 0.8), shared: bytes(gb * 0.2) }
}

/// 2026-11-15 20:04:11 UTC.
fn began() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_773_051)
}

fn card(index: u32, memory: Reading<Bytes>, utilization: Load) -> CardUsage {
    CardUsage {
        index,
        uuid: Reading::Known(format!("GPU-{index}")),
        name: Reading::Known("NVIDIA TITAN V".to_owned()),
        capacity: Reading::Known(bytes(12.0)),
        is_chosen: true,
        lost: None,
        memory,
        memory_source: MemorySource::Samples,
        utilization: Reading::Known(utilization),
        energy: Reading::Known(Millijoules(41_000_000)),
    }
}

/// Training whose card waits for its data most of the time.
pub fn training() -> Measured {
    let memory = Reading::Known(bytes(0.85));
    let gpu = GpuUsage {
        cards: vec![card(0, memory, load(4.0, 0.3))],
        memory: Parts { main: memory, descendants: Reading::Known(Bytes(0)), combined: memory },
        at_begin: Parts::default().map(|()| Reading::Known(Bytes(0))),
        at_end: Parts::default().map(|()| Reading::Known(Bytes(0))),
        system_memory: Reading::Known(bytes(0.9)),
        capacity: Reading::Known(bytes(12.0)),
        utilization: Reading::Known(load(4.0, 0.3)),
        tree_utilization: Reading::Known(load(4.0, 0.3)),
        energy: Reading::Known(Millijoules(41_000_000)),
        looks: 5_382,
        unread_looks: 0,
    };
    let usage = Usage {
        began: began(),
        wall: Duration::from_secs(5_382),
        machine: Machine {
            cores: 64,
            ram: Reading::Known(bytes(270.0)),
            limits: Limits { ram: Reading::Known(Some(bytes(17.0))), ..Limits::NONE },
        },
        ram: RamUsage {
            peak: Parts { main: ram(2.4), descendants: ram(0.2), combined: ram(2.51) },
            system_peak: Reading::Known(bytes(31.0)),
            at_most: None,
            cgroup_peak: Some(CgroupPeak { total: bytes(4.2), without_cache: Some(bytes(2.6)) }),
            at_begin: Parts::default(),
            at_end: Parts::default(),
        },
        cpu: CpuUsage {
            time: Parts {
                main: Duration::from_secs(6_000),
                descendants: Duration::from_secs(458),
                combined: Duration::from_secs(6_458),
            },
            is_lower_bound: false,
            percent: Parts {
                main: load(480.0, 111.5),
                descendants: load(90.0, 8.5),
                combined: load(512.0, 120.0),
            },
            system: Reading::Known(load(2_400.0, 900.0)),
            threads: Parts { main: 24, descendants: 4, combined: 28 },
        },
        gpu: Ok(gpu),
        processes: Processes { seen: 5, left_running: 0, hidden: 0, missed: 0 },
        sampling: Sampling {
            asked: Duration::from_secs(1),
            samples: 5_382,
            period: Some(Duration::from_millis(1_000)),
            longest: Some(Duration::from_millis(1_004)),
            map_reads: 90,
            is_cpu_exact: true,
            own_cpu: Duration::from_millis(2_100),
        },
    };
    Measured {
        subject: Subject {
            name: Some("python train.py".to_owned()),
            pid: 4711,
            is_attached: false,
        },
        ending: Ending::Exited { code: 0 },
        usage,
        killed: 0,
        request: Request { cores: Some(16), ..Request::default() },
    }
}

/// The same on a host without a driver.
pub fn without_gpu() -> Measured {
    let mut measured = training();
    measured.usage.gpu = Err(NoGpu::NoDriver("libnvidia-ml.so.1 was not found".to_owned()));
    measured.usage.machine.limits = Limits::NONE;
    measured.usage.ram.cgroup_peak = None;
    measured.request = Request::default();
    measured
}

/// One that nobody wanted to know of GPUs.
pub fn gpu_not_asked() -> Measured {
    let mut measured = without_gpu();
    measured.usage.gpu = Err(NoGpu::NotAsked);
    measured
}

/// The kernel ended it at its limit.
pub fn out_of_memory() -> Measured {
    let mut measured = training();
    measured.ending = Ending::killed(9);
    measured.usage.ram.peak.combined = ram(16.9);
    measured
}

/// Over before anything could be sampled twice.
pub fn short() -> Measured {
    let mut measured = training();
    let usage = &mut measured.usage;
    measured.subject.name = Some("true".to_owned());
    usage.wall = Duration::from_micros(1_240);
    usage.gpu = Err(NoGpu::NotInTime);
    usage.ram.cgroup_peak = None;
    usage.machine.limits = Limits::NONE;
    usage.ram.peak =
        Parts { main: ram(0.001_9), descendants: Ram::default(), combined: ram(0.001_9) };
    usage.cpu.time = Parts {
        main: Duration::from_micros(700),
        descendants: Duration::ZERO,
        combined: Duration::from_micros(700),
    };
    usage.cpu.percent =
        Parts { main: load(56.5, 56.5), descendants: load(0.0, 0.0), combined: load(56.5, 56.5) };
    usage.processes.seen = 1;
    usage.sampling.samples = 1;
    usage.sampling.period = None;
    usage.sampling.longest = None;
    measured.request = Request::default();
    measured
}

/// The driver does not tell who holds what.
pub fn memory_unknown() -> Measured {
    let mut measured = training();
    let denied = Reading::Unknown(Why::NoPermission);
    if let Ok(gpu) = &mut measured.usage.gpu {
        gpu.memory = Parts { main: denied, descendants: denied, combined: denied };
        gpu.tree_utilization = Reading::Unknown(Why::NotSupported);
        gpu.energy = Reading::Unknown(Why::NotSupported);
        gpu.cards[0].memory = denied;
        gpu.cards[0].energy = Reading::Unknown(Why::NotSupported);
    }
    measured
}

/// Two cards, on which others work too.
pub fn shared() -> Measured {
    let mut measured = training();
    if let Ok(gpu) = &mut measured.usage.gpu {
        let held = |gb| Reading::Known(bytes(gb));
        gpu.cards = vec![
            card(0, held(9.1), load(98.0, 76.4)),
            CardUsage {
                memory_source: MemorySource::Accounting,
                ..card(3, held(8.7), load(97.0, 75.2))
            },
        ];
        gpu.memory = Parts { main: held(0.0), descendants: held(17.8), combined: held(17.8) };
        gpu.system_memory = held(22.0);
        gpu.capacity = held(24.0);
        gpu.utilization = Reading::Known(load(195.0, 151.6));
        gpu.tree_utilization = Reading::Unknown(Why::NotSupported);
    }
    measured
}

/// A card that works for somebody else too, and a driver that tells them apart.
pub fn told_apart() -> Measured {
    let mut measured = training();
    if let Ok(gpu) = &mut measured.usage.gpu {
        gpu.cards[0].utilization = Reading::Known(load(100.0, 91.0));
        gpu.tree_utilization = Reading::Known(load(48.0, 33.0));
    }
    measured
}

/// It failed, left some behind, and could not be seen whole.
pub fn left_running() -> Measured {
    let mut measured = without_gpu();
    measured.ending = Ending::Exited { code: 3 };
    measured.usage.processes = Processes { seen: 12, left_running: 2, hidden: 1, missed: 0 };
    measured.killed = 1;
    measured
}

/// A process that was there already, and goes on.
pub fn attached() -> Measured {
    let mut measured = training();
    measured.subject.is_attached = true;
    measured.subject.name = Some("python".to_owned());
    measured.ending = Ending::GoesOn;
    measured.usage.sampling.is_cpu_exact = false;
    measured.usage.sampling.period = Some(Duration::from_millis(1_820));
    measured
}

/// A simulation with one thread.
pub fn single_threaded() -> Measured {
    let mut measured = gpu_not_asked();
    measured.usage.cpu.percent.combined = load(101.0, 99.2);
    measured
}

/// Forked workers that wrote to what they shared, of a program that ignores their end.
pub fn lower_bounds() -> Measured {
    let mut measured = gpu_not_asked();
    measured.usage.ram.at_most = Some(bytes(3.6));
    measured.usage.sampling.is_cpu_exact = false;
    measured.usage.cpu.is_lower_bound = true;
    measured
}

/// Figures beyond all sense.
pub fn extreme() -> Measured {
    let mut measured = shared();
    let usage = &mut measured.usage;
    let huge = Ram { total: Bytes(u64::MAX), private: Bytes(u64::MAX), shared: Bytes(u64::MAX) };
    usage.wall = Duration::MAX;
    usage.ram.peak = Parts { main: huge, descendants: huge, combined: huge };
    usage.cpu.percent.combined = load(f64::INFINITY, f64::NAN);
    usage.cpu.time.combined = Duration::MAX;
    usage.cpu.is_lower_bound = true;
    usage.ram.at_most = Some(Bytes(u64::MAX));
    usage.machine.limits =
        Limits { ram: Reading::Known(Some(Bytes(0))), cores: Reading::Known(Some(f64::NAN)) };
    usage.sampling.samples = u64::MAX;
    usage.sampling.period = Some(Duration::MAX);
    usage.processes =
        Processes { seen: u32::MAX, left_running: u32::MAX, hidden: u32::MAX, missed: u32::MAX };
    if let Ok(gpu) = &mut usage.gpu {
        gpu.cards[0].memory = Reading::Known(Bytes(u64::MAX));
        gpu.cards[0].name = Reading::Known("<b>\x1b[2J| 学習機".repeat(9));
    }
    measured.subject.name = Some("evil\x1b[2J\n<script>& | `x`".repeat(9));
    measured.request = Request::default();
    measured
}

/// All of them by name.
pub fn all() -> Vec<(&'static str, Measured)> {
    vec![
        ("training", training()),
        ("without_gpu", without_gpu()),
        ("gpu_not_asked", gpu_not_asked()),
        ("out_of_memory", out_of_memory()),
        ("short", short()),
        ("memory_unknown", memory_unknown()),
        ("shared", shared()),
        ("told_apart", told_apart()),
        ("left_running", left_running()),
        ("attached", attached()),
        ("single_threaded", single_threaded()),
        ("lower_bounds", lower_bounds()),
    ]
}

/// One sample at a second, with so much RAM and CPU and no GPU.
pub fn sample(second: u64, ram_bytes: u64, cpu: f64) -> Sample {
    let ram = Ram { total: Bytes(ram_bytes), private: Bytes(ram_bytes), shared: Bytes(0) };
    let cpu = Percent(cpu);
    Sample {
        at: began() + Duration::from_secs(second.min(1 << 30)),
        since_begin: Duration::from_secs(second),
        ram: Parts { main: ram, descendants: Ram::default(), combined: ram },
        system_ram: Reading::Unknown(Why::NotAsked),
        cpu: Parts { main: cpu, descendants: Percent(0.0), combined: cpu },
        system_cpu: Reading::Unknown(Why::NotAsked),
        threads: Parts { main: 1, descendants: 0, combined: 1 },
        processes: 1,
        gpu: Reading::Unknown(Why::NotAsked),
    }
}

/// The same with cards.
pub fn sample_with_gpu(second: u64, ram: u64, cpu: f64, memory: u64, utilization: f64) -> Sample {
    let memory = Reading::Known(Bytes(memory));
    let gpu = GpuSample {
        memory: Parts { main: memory, descendants: Reading::Known(Bytes(0)), combined: memory },
        system_memory: memory,
        utilization: Reading::Known(Percent(utilization)),
        tree_utilization: Reading::Unknown(Why::NotSupported),
    };
    Sample { gpu: Reading::Known(gpu), ..sample(second, ram, cpu) }
}
