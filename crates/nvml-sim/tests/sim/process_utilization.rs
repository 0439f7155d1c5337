//! What each process did, and the garbage that drivers mix in.

use std::mem::{size_of, zeroed};

use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::{
    nvmlProcessUtilizationInfo_v1_t, nvmlProcessesUtilizationInfo_v1_t,
};

use crate::stage::{FROZEN, ORIGIN};

fn shared() -> String {
    format!(
        "{FROZEN}
        [samples]
        period = \"200ms\"
        [[card]]
        [[process]]
        pid = 1
        card = 0
        memory = \"1GiB\"
        sm = 60
        begin = \"-1h\"
        [[process]]
        pid = 2
        card = 0
        memory = \"1GiB\"
        begin = \"-1h\"
        [[process]]
        pid = 3
        card = 0
        memory = \"1GiB\"
        sm = 80
        begin = \"-50ms\"
        "
    )
}

#[test]
fn processes_that_did_something_in_the_last_period_have_a_sample() {
    play!(&shared(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let samples = card.process_utilization_stats(None).unwrap();
        let got: Vec<_> = samples.iter().map(|s| (s.pid, s.timestamp, s.sm_util)).collect();
        // The third ran for a quarter of the period.
        assert_eq!(got, [(1, ORIGIN, 60), (3, ORIGIN, 20)]);
        assert_eq!(card.process_utilization_stats(ORIGIN - 1).unwrap().len(), 2);
        let nothing_new = card.process_utilization_stats(ORIGIN);
        assert!(matches!(nothing_new, Err(NvmlError::NotFound)), "{nothing_new:?}");
    });
}

#[test]
fn a_card_on_which_nothing_ran_has_none() {
    play!("[[card]]", |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        assert!(matches!(card.process_utilization_stats(None), Err(NvmlError::NotFound)));
    });
}

#[test]
fn stray_samples_come_whatever_was_seen_already() {
    let text = format!(
        "{}\n[[stray_sample]]\ncard = 0\npid = 4000000\nsm = 4294967295\nage = \"3h\"\n\
         [[stray_sample]]\ncard = 0\npid = 5\nsm = 150\n",
        shared()
    );
    play!(&text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let old = (4_000_000, ORIGIN - 3 * 3_600_000_000, u32::MAX);
        let got = |seen: u64| {
            let samples = card.process_utilization_stats(seen).unwrap();
            samples.iter().map(|s| (s.pid, s.timestamp, s.sm_util)).collect::<Vec<_>>()
        };
        assert_eq!(got(0), [(1, ORIGIN, 60), (3, ORIGIN, 20), old, (5, ORIGIN, 150)]);
        assert_eq!(got(ORIGIN), [old]);
    });
}

#[test]
fn the_newer_structure_checks_its_version_and_its_room() {
    play!(&shared(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        // SAFETY: as the header says; the array is as long as the count says.
        unsafe {
            let mut infos = [zeroed::<nvmlProcessUtilizationInfo_v1_t>(); 4];
            let mut asked: nvmlProcessesUtilizationInfo_v1_t = zeroed();
            let ask = |asked: &mut nvmlProcessesUtilizationInfo_v1_t| {
                nvml.lib().nvmlDeviceGetProcessesUtilizationInfo(card.handle(), asked)
            };
            assert_eq!(ask(&mut asked), 25);
            let size = size_of::<nvmlProcessesUtilizationInfo_v1_t>();
            asked.version = u32::try_from(size).unwrap() | 1 << 24;
            assert_eq!(ask(&mut asked), 7);
            assert_eq!(asked.processSamplesCount, 2);
            asked.processSamplesCount = 4;
            asked.procUtilArray = infos.as_mut_ptr();
            assert_eq!(ask(&mut asked), 0);
            assert_eq!(asked.processSamplesCount, 2);
            assert_eq!((infos[0].pid, infos[0].smUtil, infos[0].timeStamp), (1, 60, ORIGIN));
            assert_eq!((infos[1].pid, infos[1].smUtil), (3, 20));
        }
    });
}

/// Two that work in turn, each for a second: the first until 1 s ago, then the second.
fn in_turn(processes: &str) -> String {
    format!(
        "{FROZEN}
        [samples]
        period = \"500ms\"
        capacity = 4
        processes = \"{processes}\"
        [[card]]
        [[process]]
        pid = 1
        card = 0
        memory = \"1GiB\"
        sm = {{ points = [[\"0s\", 60], [\"1s\", 0]], repeat = \"2s\" }}
        begin = \"-1h\"
        [[process]]
        pid = 2
        card = 0
        memory = \"1GiB\"
        sm = {{ points = [[\"0s\", 0], [\"1s\", 40]], repeat = \"2s\" }}
        begin = \"-1h\"
        "
    )
}

#[test]
fn a_complete_driver_gives_each_period_since_the_last_one_seen() {
    play!(&in_turn("complete"), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let got = |seen: u64| {
            let samples = card.process_utilization_stats(seen).unwrap();
            samples.iter().map(|s| (s.pid, ORIGIN - s.timestamp, s.sm_util)).collect::<Vec<_>>()
        };
        let all = [(1, 1_500_000, 60), (1, 1_000_000, 60), (2, 500_000, 40), (2, 0, 40)];
        assert_eq!(got(0), all);
        assert_eq!(got(ORIGIN - 1_000_000), all[2..]);
        assert!(matches!(card.process_utilization_stats(ORIGIN), Err(NvmlError::NotFound)));
    });
}

#[test]
fn a_driver_that_gives_means_gives_them_by_either_call() {
    play!(&in_turn("mean"), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let got = |seen: u64| {
            let samples = card.process_utilization_stats(seen).unwrap();
            samples.iter().map(|s| (s.pid, s.timestamp, s.sm_util)).collect::<Vec<_>>()
        };
        let shares = |seen| got(seen).iter().map(|(pid, _, sm)| (*pid, *sm)).collect::<Vec<_>>();
        assert_eq!(shares(0), [(1, 30), (2, 20)]);
        assert_eq!(shares(ORIGIN - 1_500_000), [(1, 20), (2, 27)]);
        assert_eq!(shares(ORIGIN - 1_000_000), [(2, 40)]);
        let stamps: Vec<_> = got(0).iter().map(|(_, stamp, _)| *stamp).collect();
        assert!(stamps.iter().all(|stamp| (ORIGIN - 9_000_000..=ORIGIN).contains(stamp)));
        assert_ne!(stamps[0], stamps[1]);
        // SAFETY: as the header says; the array is as long as the count says.
        unsafe {
            let mut infos = [zeroed::<nvmlProcessUtilizationInfo_v1_t>(); 4];
            let mut asked: nvmlProcessesUtilizationInfo_v1_t = zeroed();
            let size = size_of::<nvmlProcessesUtilizationInfo_v1_t>();
            asked.version = u32::try_from(size).unwrap() | 1 << 24;
            asked.processSamplesCount = 4;
            asked.procUtilArray = infos.as_mut_ptr();
            let code = nvml.lib().nvmlDeviceGetProcessesUtilizationInfo(card.handle(), &mut asked);
            assert_eq!((code, asked.processSamplesCount), (0, 2));
            let by_info = infos[..2].iter().map(|info| (info.pid, info.timeStamp, info.smUtil));
            assert_eq!(by_info.collect::<Vec<_>>(), got(0));
        }
    });
}
