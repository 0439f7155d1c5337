//! What goes wrong, and only where and as often as the scenario says.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use nvml_wrapper::error::NvmlError;

use crate::stage::until;

#[test]
fn a_lost_card_is_lost_and_the_others_are_not() {
    let text = "[[card]]\n[[card]]\n[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"GPU_IS_LOST\"\n";
    play!(text, |stage| {
        let nvml = stage.nvml();
        assert_eq!(nvml.device_count().unwrap(), 2);
        assert!(nvml.device_by_index(0).unwrap().name().is_ok());
        assert!(matches!(nvml.device_by_index(1), Err(NvmlError::GpuLost)));
    });
}

#[test]
fn a_fault_strikes_as_often_as_it_says_also_after_the_library_was_closed() {
    let text = "[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = \"DRIVER_NOT_LOADED\"\ntimes = 2\n\
                [[fault]]\ncall = \"nvmlDeviceGetName\"\ncode = 4\ntimes = 1\n";
    play!(text, |stage| {
        for _ in 0..2 {
            assert!(matches!(stage.try_nvml(), Err(NvmlError::DriverNotLoaded)));
        }
        let ask = || stage.nvml().device_by_index(0).unwrap().name();
        assert!(matches!(ask(), Err(NvmlError::NoPermission)));
        assert!(ask().is_ok());
    });
}

#[test]
fn a_fault_has_a_time() {
    let text = "[time]\nspeed = 100\n[[card]]\n[[fault]]\ncall = \"*GetUUID\"\n\
                code = \"LIB_RM_VERSION_MISMATCH\"\nfrom = \"2s\"\nto = \"30s\"\n";
    play!(text, &[("NVML_SIM_START", "")], |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let ask = || card.uuid();
        assert!(ask().is_ok());
        until("the fault to begin", || ask().is_err().then_some(()));
        assert!(matches!(ask(), Err(NvmlError::LibRmVersionMismatch)));
        until("the fault to end", || ask().is_ok().then_some(()));
    });
}

#[test]
fn latency_delays_the_answer_and_nobody_else() {
    let text = "[[card]]\n[[card]]\n[[fault]]\ncall = \"nvmlDeviceGetSerial\"\ncard = 1\nlatency = \"300ms\"\n";
    play!(text, |stage| {
        let nvml = stage.nvml();
        let (quick, slow) = (nvml.device_by_index(0).unwrap(), nvml.device_by_index(1).unwrap());
        let begin = Instant::now();
        std::thread::scope(|scope| {
            let delayed = scope.spawn(|| slow.serial().map(|_| begin.elapsed()));
            quick.serial().unwrap();
            assert!(!delayed.is_finished());
            let took = delayed.join().unwrap().unwrap();
            assert!(took >= Duration::from_millis(300), "{took:?}");
        });
    });
}

#[test]
fn a_call_that_hangs_holds_nothing_that_others_need() {
    let text = "[[card]]\n[[card]]\n[[fault]]\ncall = \"nvmlDeviceGetTemperature*\"\ncard = 1\nhang = true\n";
    play!(text, &[("NVML_SIM_CALLS", "DIR/calls")], |stage| {
        let nvml: &'static _ = Box::leak(Box::new(stage.nvml()));
        let (tell, told) = mpsc::channel();
        let hung = std::thread::spawn(move || {
            let card = nvml.device_by_index(1).unwrap();
            tell.send(()).unwrap();
            card.temperature(nvml_wrapper::enum_wrappers::device::TemperatureSensor::Gpu)
        });
        told.recv().unwrap();
        let sensor = nvml_wrapper::enum_wrappers::device::TemperatureSensor::Gpu;
        for _ in 0..1000 {
            nvml.device_by_index(0).unwrap().temperature(sensor).unwrap();
            nvml.device_by_index(1).unwrap().name().unwrap();
        }
        stage.replace_scenario("[[card]]\n");
        until("the scenario to be read again", || {
            (nvml.device_count().unwrap() == 1).then_some(())
        });
        assert!(!hung.is_finished());
    });
}

#[test]
fn the_calls_that_are_not_modelled_fail_like_the_others() {
    let text =
        "[[card]]\n[[fault]]\ncall = \"*Inforom*\"\ncard = 0\ncode = \"CORRUPTED_INFOROM\"\n";
    play!(text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        assert!(matches!(card.config_checksum(), Err(NvmlError::CorruptedInfoROM)));
        assert!(matches!(card.irq_num(), Err(NvmlError::NotSupported)));
    });
}
