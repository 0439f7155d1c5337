//! Beginning and ending, and what is said when there is nothing to answer from.

use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::NvmlLib;

use crate::stage::{FROZEN, Stage};

fn raw(stage: &Stage) -> NvmlLib {
    // SAFETY: the library is this crate's own, whose constructors do nothing.
    unsafe { NvmlLib::new(&stage.library) }.unwrap()
}

#[test]
fn uses_are_counted_and_calls_refused_outside_of_them() {
    play!("[[card]]", |stage| {
        let lib = raw(stage);
        let mut count = 0;
        // SAFETY: as the header says; `count` outlives the calls.
        unsafe {
            assert_eq!(lib.nvmlShutdown(), 1);
            assert_eq!(lib.nvmlDeviceGetCount_v2(&raw mut count), 1);
            assert_eq!(lib.nvmlInit_v2(), 0);
            assert_eq!(lib.nvmlInitWithFlags(0), 0);
            assert_eq!(lib.nvmlShutdown(), 0);
            assert_eq!(lib.nvmlDeviceGetCount_v2(&raw mut count), 0);
            assert_eq!(lib.nvmlShutdown(), 0);
            assert_eq!(lib.nvmlDeviceGetCount_v2(&raw mut count), 1);
            assert_eq!(lib.nvmlInit(), 0);
            assert_eq!(lib.nvmlDeviceGetCount_v2(&raw mut count), 0);
        }
        assert_eq!(count, 1);
    });
}

#[test]
fn without_a_scenario_there_is_no_driver_and_that_is_said_once() {
    let played = play!("", &[("NVML_SIM_SCENARIO", "")], |stage| {
        for _ in 0..3 {
            assert!(matches!(stage.try_nvml(), Err(NvmlError::DriverNotLoaded)));
        }
    });
    assert_eq!(
        played.stderr.matches("nvml-sim: NVML_SIM_SCENARIO is not set").count(),
        1,
        "{}",
        played.stderr
    );
}

#[test]
fn a_bad_scenario_is_refused_with_its_line_once() {
    let played = play!("[[card]]\n", |stage| {
        stage.replace_scenario("[[card]]\nutilization = 120\n");
        for _ in 0..3 {
            assert!(matches!(stage.try_nvml(), Err(NvmlError::Unknown)));
        }
    });
    let said = "scenario.toml:2: 120 is not a percentage";
    assert_eq!(played.stderr.matches(said).count(), 1, "{}", played.stderr);
    assert!(played.stderr.contains("nvml-sim: /"), "{}", played.stderr);
}

#[test]
fn every_code_has_its_words_even_before_init() {
    play!("", |stage| {
        let lib = raw(stage);
        let words = |code| {
            // SAFETY: the function takes any number and returns a string that stays.
            unsafe { std::ffi::CStr::from_ptr(lib.nvmlErrorString(code)) }.to_str().unwrap()
        };
        assert_eq!(words(0), "Success");
        assert_eq!(words(15), "GPU is lost");
        assert_eq!(words(18), "RM has detected an NVML/RM version mismatch.");
        assert_eq!(words(999), "Unknown Error");
        assert_eq!(words(12345), "Unknown Error");
        let known = (0..=30).filter(|code| words(*code) != "Unknown Error");
        assert_eq!(known.count(), 31);
    });
}

#[test]
fn the_driver_is_the_scenarios() {
    let text = format!(
        "{FROZEN}\n[driver]\nversion = \"470.82.01\"\nnvml_version = \"11.470.82.01\"\ncuda = \"11.4\"\n"
    );
    play!(&text, |stage| {
        let nvml = stage.nvml();
        assert_eq!(nvml.sys_driver_version().unwrap(), "470.82.01");
        assert_eq!(nvml.sys_nvml_version().unwrap(), "11.470.82.01");
        assert_eq!(nvml.sys_cuda_driver_version().unwrap(), 11040);
        assert_eq!(nvml.device_count().unwrap(), 0);
        assert_eq!(nvml.unit_count().unwrap(), 0);
    });
}

#[test]
fn calls_are_counted_into_a_file_when_the_process_ends() {
    let played = play!("[[card]]", &[("NVML_SIM_CALLS", "DIR/calls")], |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        for _ in 0..3 {
            card.name().unwrap();
        }
        assert!(card.fan_speed(0).is_err());
        // Never shut down: the file is written all the same.
        std::mem::forget(nvml);
    });
    let calls = std::fs::read_to_string(played.dir.path().join("calls")).unwrap();
    // The wrapper asks for the driver's version by itself.
    assert_eq!(
        calls,
        "nvmlDeviceGetFanSpeed_v2 1\nnvmlDeviceGetHandleByIndex_v2 1\nnvmlDeviceGetName 3\n\
         nvmlInit_v2 1\nnvmlSystemGetDriverVersion 1\n"
    );
}
