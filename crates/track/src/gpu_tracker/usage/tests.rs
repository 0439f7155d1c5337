//! What a measurement becomes, held against the paper.

use std::time::{Duration, UNIX_EPOCH};

use probe::units::{Bytes, Millijoules, Percent};
use probe::{Reading, Why};

use super::*;
use crate::gpu_tracker::json::json;
use crate::gpu_tracker::text::text;
use crate::gpu_tracker::units::Units;
use crate::sample::Ram;
use crate::usage::{
    CardUsage, CpuUsage, GpuUsage, Limits, Load, Machine, MemorySource, Processes, RamUsage,
    Sampling, Usage,
};

fn ram(total: u64, private: u64, shared: u64) -> Ram {
    Ram { total: Bytes(total), private: Bytes(private), shared: Bytes(shared) }
}

const fn load(max: f64, mean: f64) -> Load {
    Load { max: Percent(max), mean: Percent(mean) }
}

fn card(index: u32, is_chosen: bool) -> CardUsage {
    CardUsage {
        index,
        uuid: Reading::Known(format!("GPU-{index}")),
        name: Reading::Known("Quadro".to_owned()),
        capacity: Reading::Known(Bytes(2_048_000_000)),
        is_chosen,
        lost: None,
        memory: Reading::Known(Bytes(277_000_000)),
        memory_source: MemorySource::Samples,
        utilization: Reading::Known(load(6.0, 0.5)),
        energy: Reading::Unknown(Why::NotSupported),
    }
}

fn gpu() -> GpuUsage {
    GpuUsage {
        cards: vec![card(0, true), card(1, true), card(2, false)],
        memory: Parts {
            main: Reading::Known(Bytes(277_000_000)),
            descendants: Reading::Known(Bytes(0)),
            combined: Reading::Known(Bytes(277_000_000)),
        },
        at_begin: Parts::default().map(|()| Reading::Unknown(Why::NotTold)),
        at_end: Parts::default().map(|()| Reading::Unknown(Why::NotTold)),
        system_memory: Reading::Known(Bytes(353_000_000)),
        capacity: Reading::Known(Bytes(6_144_000_000)),
        utilization: Reading::Known(load(6.0, 0.5)),
        tree_utilization: Reading::Unknown(Why::NotSupported),
        energy: Reading::Known(Millijoules(12)),
        looks: 3,
        unread_looks: 0,
    }
}

fn measured() -> Usage {
    Usage {
        began: UNIX_EPOCH,
        wall: Duration::from_micros(3_345_628),
        machine: Machine {
            cores: 12,
            ram: Reading::Known(Bytes(63_088_230_400)),
            limits: Limits::NONE,
        },
        ram: RamUsage {
            peak: Parts {
                main: ram(890_703_872, 674_058_240, 216_924_160),
                descendants: Ram::default(),
                combined: ram(901_263_360, 684_617_728, 216_678_400),
            },
            system_peak: Reading::Known(Bytes(2_399_920_128)),
            at_most: None,
            cgroup_peak: None,
            at_begin: Parts::default(),
            at_end: Parts::default(),
        },
        cpu: CpuUsage {
            time: Parts::default(),
            percent: Parts {
                main: load(102.6, 91.258_333),
                descendants: Load::default(),
                combined: load(102.6, 91.258_333),
            },
            system: Reading::Known(load(164.3, 152.325)),
            is_lower_bound: false,
            threads: Parts { main: 24, descendants: 0, combined: 24 },
        },
        gpu: Ok(gpu()),
        processes: Processes::default(),
        sampling: Sampling {
            asked: Duration::from_secs(1),
            samples: 4,
            period: None,
            longest: None,
            map_reads: 4,
            is_cpu_exact: true,
            own_cpu: Duration::ZERO,
        },
    }
}

const MEGABYTES: Units =
    Units { ram: RamUnit::Megabytes, gpu_ram: RamUnit::Megabytes, time: TimeUnit::Seconds };

#[test]
fn the_text_is_as_in_the_paper() {
    let usage = ResourceUsage::new(&measured(), MEGABYTES, Expected::default());
    insta::assert_snapshot!(text(&usage.tree(Spelling::Descendents, Gap::Zero)));
}

#[test]
fn the_json_is_as_in_the_paper() {
    let usage = ResourceUsage::new(&measured(), MEGABYTES, Expected { cores: Some(2) });
    insta::assert_snapshot!(json(&usage.tree(Spelling::Descendents, Gap::Zero)));
}

#[test]
fn the_newer_spelling_is_the_only_difference() {
    let usage = ResourceUsage::new(&measured(), Units::default(), Expected::default());
    let (old, new) = (
        usage.tree(Spelling::Descendents, Gap::Zero),
        usage.tree(Spelling::Descendants, Gap::Zero),
    );
    assert_eq!(json(&old).replace("descendents", "descendants"), json(&new));
    assert_eq!(json(&old).matches("descendents").count(), 4);
    assert_eq!(text(&new).matches("Descendants").count(), 4);
}

#[test]
fn what_is_not_known_is_nothing_and_said() {
    let mut gpu = gpu();
    gpu.memory.main = Reading::Unknown(Why::NotTold);
    let usage =
        ResourceUsage::new(&Usage { gpu: Ok(gpu), ..measured() }, MEGABYTES, Expected::default());
    assert_eq!(usage.max_gpu_ram.tree.main, None);
    assert_eq!(usage.max_gpu_ram.tree.combined, Some(277.0));
    assert_eq!(usage.unknown, [Unknown::Figure("main GPU RAM", Why::NotTold)]);
    let told = |gap| json(&usage.tree(Spelling::Descendents, gap));
    assert!(told(Gap::Zero).contains("\"system\": 353.0,\n  \"main\": 0.0,"));
    assert!(told(Gap::Missing).contains("\"system\": 353.0,\n  \"main\": null,"));
    assert!(
        text(&usage.tree(Spelling::Descendents, Gap::Missing)).contains("\n   Main: unknown\n")
    );
}

#[test]
fn a_card_that_was_lost_is_in_no_share_and_said() {
    let mut gpu = gpu();
    gpu.cards[1].lost = Some(Why::Lost);
    let usage =
        ResourceUsage::new(&Usage { gpu: Ok(gpu), ..measured() }, MEGABYTES, Expected::default());
    let cards = &usage.gpu_utilization;
    assert_eq!((cards.system_gpu_count, cards.n_expected_gpus), (Some(3), Some(1)));
    let percentages = cards.gpu_percentages.unwrap();
    assert_eq!(percentages.max_hardware.to_bits(), percentages.max_sum.to_bits());
    assert_eq!(usage.unknown, [Unknown::Card(1, Why::Lost)]);
}

#[test]
fn without_a_driver_the_gpu_figures_are_nothing() {
    let why = NoGpu::NoDriver("no library".to_owned());
    let usage = Usage { gpu: Err(why.clone()), ..measured() };
    let usage = ResourceUsage::new(&usage, MEGABYTES, Expected::default());
    assert_eq!(usage.max_gpu_ram, MaxGpuRam::none(RamUnit::Megabytes));
    assert_eq!(usage.gpu_utilization, GpuUtilization::none());
    assert_eq!(usage.unknown, [Unknown::Gpu(why)]);
    let zeros = json(&usage.tree(Spelling::Descendents, Gap::Zero));
    assert!(zeros.contains("\"system_gpu_count\": 0,\n  \"n_expected_gpus\": 0,"));
    assert!(!zeros.contains("null"));
}
