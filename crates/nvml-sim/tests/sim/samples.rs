//! The ring buffers.

use std::mem::zeroed;
use std::ptr::null_mut;

use nvml_wrapper::enum_wrappers::device::Sampling;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::Sample;
use nvml_wrapper_sys::bindings::nvmlSample_t;

use crate::stage::{FROZEN, ORIGIN, until};

fn ring() -> String {
    format!(
        "{FROZEN}
        [samples]
        period = \"100ms\"
        capacity = 8
        [[card]]
        utilization = {{ points = [[\"-10s\", 20], [\"-200ms\", 80]] }}
        memory_utilization = 11
        encoder = 22
        decoder = 33
        power = {{ idle = 100, full = 300 }}
        sm_clock = {{ idle = 200, full = 1200 }}
        memory_clock = {{ idle = 1000, full = 1000 }}
        "
    )
}

fn values(samples: &[Sample]) -> Vec<u32> {
    samples
        .iter()
        .map(|sample| match sample.value {
            SampleValue::U32(value) => value,
            ref other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_ring_gives_what_it_holds_oldest_first() {
    play!(&ring(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let read = |kind| card.samples(kind, None).unwrap();
        let gpu = read(Sampling::GpuUtilization);
        assert_eq!(values(&gpu), [20, 20, 20, 20, 20, 20, 80, 80]);
        let times: Vec<u64> = gpu.iter().map(|sample| sample.timestamp).collect();
        let expected: Vec<u64> = (0..8).map(|i| ORIGIN - 700_000 + i * 100_000).collect();
        assert_eq!(times, expected);
        assert_eq!(values(&read(Sampling::MemoryUtilization)), [11; 8]);
        assert_eq!(values(&read(Sampling::EncoderUtilization)), [22; 8]);
        assert_eq!(values(&read(Sampling::DecoderUtilization)), [33; 8]);
        assert_eq!(values(&read(Sampling::Power))[4..], [140_000, 260_000, 260_000, 260_000]);
        assert_eq!(values(&read(Sampling::ProcessorClock))[4..], [400, 1000, 1000, 1000]);
        assert_eq!(values(&read(Sampling::MemoryClock)), [1000; 8]);
    });
}

#[test]
fn only_what_is_strictly_newer_than_last_seen_comes() {
    play!(&ring(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let since = |seen: u64| card.samples(Sampling::GpuUtilization, seen);
        assert_eq!(since(ORIGIN - 200_000).unwrap().len(), 2);
        assert_eq!(since(ORIGIN - 200_001).unwrap().len(), 3);
        assert!(matches!(since(ORIGIN), Err(NvmlError::NotFound)));
    });
}

#[test]
fn a_small_buffer_gets_the_oldest_so_that_none_is_missed() {
    play!(&ring(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let mut seen = 0;
        let mut times = Vec::new();
        loop {
            let (mut kind, mut count) = (99, 3);
            // SAFETY: as the header says: room for three, and a count that says so.
            let (code, samples) = unsafe {
                let mut samples = [zeroed::<nvmlSample_t>(); 3];
                let code = nvml.lib().nvmlDeviceGetSamples(
                    card.handle(),
                    1,
                    seen,
                    &raw mut kind,
                    &raw mut count,
                    samples.as_mut_ptr(),
                );
                (code, samples)
            };
            if code == 6 {
                break;
            }
            assert_eq!((code, kind), (0, 1));
            times.extend(samples[..count as usize].iter().map(|sample| sample.timeStamp));
            seen = *times.last().unwrap();
        }
        let expected: Vec<u64> = (0..8).map(|i| ORIGIN - 700_000 + i * 100_000).collect();
        assert_eq!(times, expected);
    });
}

#[test]
fn a_size_query_tells_the_rings_size() {
    play!(&ring(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let (mut kind, mut count) = (99, 0);
        // SAFETY: as the header says; NULL asks for the size.
        unsafe {
            let mut ask = |what, count: *mut u32, samples| {
                nvml.lib().nvmlDeviceGetSamples(
                    card.handle(),
                    what,
                    0,
                    &raw mut kind,
                    count,
                    samples,
                )
            };
            assert_eq!(ask(1, &raw mut count, null_mut()), 0);
            assert_eq!(count, 8);
            let mut sample = zeroed();
            count = 0;
            assert_eq!(ask(1, &raw mut count, &raw mut sample), 2);
            assert_eq!(ask(1, null_mut(), null_mut()), 2);
            assert_eq!(ask(7, &raw mut count, null_mut()), 3);
            assert_eq!(ask(77, &raw mut count, null_mut()), 2);
        }
    });
}

#[test]
fn a_stray_sample_of_the_card_is_stamped_as_it_says() {
    let text = format!("{}[[stray_sample]]\ncard = 0\nsm = 90\nahead = \"1h\"\n", ring());
    play!(&text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let ahead = ORIGIN + 3_600_000_000;
        for seen in [0, ORIGIN] {
            let samples = card.samples(Sampling::GpuUtilization, seen).unwrap();
            let last = samples.last().unwrap();
            assert_eq!((last.timestamp, values(&samples).pop()), (ahead, Some(90)));
        }
        let all = card.samples(Sampling::GpuUtilization, None).unwrap();
        assert_eq!(all.len(), 8, "in the place of the oldest");
        let power = card.samples(Sampling::Power, None).unwrap();
        assert_eq!(power.last().unwrap().timestamp, ORIGIN);
    });
}

#[test]
fn a_clock_that_was_set_shows_in_the_stamps() {
    let text = ring().replacen("[time]", "[time]\nstamp_offset = \"-600s\"", 1);
    play!(&text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let samples = card.samples(Sampling::GpuUtilization, None).unwrap();
        assert_eq!(samples.last().unwrap().timestamp, ORIGIN - 600_000_000);
        assert_eq!(values(&samples), [20, 20, 20, 20, 20, 20, 80, 80]);
    });
}

#[test]
fn utilization_samples_run_dry_while_the_card_is_idle() {
    let text = ring()
        .replace("capacity = 8", "capacity = 8\n dry_when_idle = true")
        .replace("[\"-200ms\", 80]", "[\"-300ms\", 0]");
    play!(&text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let read = |kind| values(&card.samples(kind, None).unwrap());
        assert_eq!(read(Sampling::GpuUtilization), [20; 5]);
        assert_eq!(read(Sampling::MemoryUtilization), [11; 5]);
        assert_eq!(read(Sampling::Power).len(), 8);
        let since = card.samples(Sampling::GpuUtilization, ORIGIN - 300_000);
        assert!(matches!(since, Err(NvmlError::NotFound)), "{since:?}");
        assert_eq!(card.utilization_rates().unwrap().gpu, 0);
    });
}

#[test]
fn a_card_that_is_idle_for_longer_than_the_ring_holds_has_no_samples() {
    play!("[samples]\ndry_when_idle = true\n[[card]]\n", |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let samples = card.samples(Sampling::GpuUtilization, None);
        assert!(matches!(samples, Err(NvmlError::NotFound)), "{samples:?}");
        assert_eq!(card.utilization_rates().unwrap().gpu, 0);
    });
}

#[test]
fn lost_samples_are_missing() {
    let text = ring().replace("capacity = 8", "capacity = 1000\n lose = 10");
    play!(&text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let count = || card.samples(Sampling::GpuUtilization, None).unwrap().len();
        assert!((850..950).contains(&count()), "{}", count());
        assert_eq!(count(), count());
    });
}

#[test]
fn without_a_buffer_samples_are_not_supported() {
    play!(&ring().replace("capacity = 8", "capacity = 0"), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let (mut kind, mut count) = (99, 8);
        // SAFETY: as the header says; NULL asks for the size.
        unsafe {
            let mut samples = [zeroed::<nvmlSample_t>(); 8];
            for samples in [null_mut(), samples.as_mut_ptr()] {
                let code = nvml.lib().nvmlDeviceGetSamples(
                    card.handle(),
                    1,
                    0,
                    &raw mut kind,
                    &raw mut count,
                    samples,
                );
                assert_eq!(code, 3);
            }
        }
        assert_eq!(card.utilization_rates().unwrap().gpu, 80);
    });
}

#[test]
fn samples_of_a_second_and_of_a_sixth_are_that_far_apart() {
    let scenario = |period: &str| ring().replace("100ms", period);
    play!(&scenario("1s"), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let times = || {
            let samples = card.samples(Sampling::GpuUtilization, None).unwrap();
            samples.iter().map(|sample| sample.timestamp).collect::<Vec<_>>()
        };
        let apart = |micros: u64| (0..8).map(|i| ORIGIN - (7 - i) * micros).collect::<Vec<u64>>();
        assert_eq!(times(), apart(1_000_000));
        stage.replace_scenario(&scenario("166667us"));
        until("the other period", || (times() == apart(166_667)).then_some(()));
    });
}

#[test]
fn stamps_on_the_boot_clock_are_stable_and_can_be_handed_back() {
    let text = "[time]\nstamps = \"boot\"\n[samples]\nperiod = \"1s\"\ncapacity = 8\n\
                [[card]]\naccounting = true\n[[process]]\npid = 1\ncard = 0\n\
                memory = \"1GiB\"\nsm = 60\nbegin = \"-1h\"\n";
    play!(text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let read = |seen: Option<u64>| {
            let samples = card.samples(Sampling::GpuUtilization, seen).unwrap_or_default();
            samples.into_iter().map(|sample| sample.timestamp).collect::<Vec<_>>()
        };
        let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let boot = u64::try_from(boot.tv_sec).unwrap() * 1_000_000;
        let first = read(None);
        let newest = *first.last().unwrap();
        assert!(newest.abs_diff(boot) < 10_000_000, "{newest} {boot}");
        let of_processes = card.process_utilization_stats(None).unwrap();
        assert!(of_processes[0].timestamp.abs_diff(newest) < 10_000_000);
        // At most the beginning of the next period lies between the two reads.
        assert!(read(Some(newest)).iter().all(|stamp| *stamp >= newest + 1_000_000));
        let second = read(None);
        assert!(second.iter().all(|stamp| (stamp.abs_diff(newest)).is_multiple_of(1_000_000)));
        // The account of processes stays on the wall clock.
        let account = card.accounting_stats_for(1).unwrap();
        assert!(account.start_time > 1_000_000_000_000_000, "{}", account.start_time);
    });
}
