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
