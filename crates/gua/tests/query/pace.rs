//! When `gua query` looks again, and when it ends.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Looping, STEADY, query};
use crate::machine::{Machine, simulated};

#[test]
fn it_ends_by_itself_when_told_to() {
    let dir = tempfile::tempdir().unwrap();
    for (args, lines, waited) in [
        (&[][..], 1, 0),
        (&["-n", "3", "--every", "10ms"], 3, 20),
        (&["-n", "3", "-l", "0.01"], 3, 20),
        (&["-c", "3", "-lms", "10"], 3, 20),
        (&["-n", "11", "--every", "1h"], 11, 36_000_000),
        (&["--for", "500ms", "--every", "100ms"], 5, 400),
        (&["--for", "10ms", "--every", "1h"], 1, 0),
    ] {
        let args = [&["query", "--fields", "index", "--noheader", "-i", "0"], args].concat();
        let (run, time) = simulated(&args, STEADY, dir.path());
        assert_eq!((run.code, run.stdout.lines().count()), (Some(0), lines), "{run:?}");
        assert_eq!(time, Duration::from_millis(waited), "{args:?}");
    }
}

/// A real clock takes its time.
#[test]
fn a_beat_takes_its_time() {
    let started = Instant::now();
    query(STEADY, &["--fields", "index", "-n", "3", "--every", "50ms"]);
    assert!(started.elapsed() >= Duration::from_millis(100), "{:?}", started.elapsed());
}

/// Trap: the driver keeps half a second of samples, so a look alone sees the end of each second,
/// nothing but high or nothing but low.
#[test]
fn no_work_between_two_beats_is_missed() {
    let bursts = "[samples]\nperiod = \"50ms\"\ncapacity = 10\n[[card]]\n\
                  utilization = { duty = 40, period = \"1s\", high = 90, low = 10 }\n";
    let args = ["--fields", "utilization.gpu", "--noheader", "--nounits", "-n", "5", "-l", "1"];
    let text = query(bursts, &args);
    let looks: Vec<f64> = text.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    let mean = looks.iter().sum::<f64>() / 4.0;
    // 40 % of the time at 90 %, the rest at 10 %.
    assert!((34.0..50.0).contains(&mean), "{text}");
}

/// A line is there as soon as it is known, also in a pipe.
#[test]
fn lines_are_not_held_back() {
    let machine = Machine::new(STEADY);
    let mut looping = Looping::start(&machine, &["--fields", "index", "--every", "1h"]);
    assert_eq!([looping.line(), looping.line()], ["index", "0"]);
}

#[test]
fn an_interrupt_ends_it_at_once() {
    let machine = Machine::new(STEADY);
    let mut looping = Looping::start(&machine, &["--fields", "index", "--every", "1h"]);
    looping.wait_for(|line| line == "2");
    kill_process(Pid::from_child(&looping.child), Signal::INT).unwrap();
    assert_eq!(looping.child.wait().unwrap().signal(), Some(2));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let machine = Machine::new(STEADY);
    let mut command = machine.command(&["query", "--preset", "dmon", "-lms", "10"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

/// Only what the fields need is asked of the driver.
#[test]
fn nothing_is_read_that_nobody_asked_for() {
    let machine = Machine::new(STEADY);
    let calls = |fields: &str| {
        let path = machine.dir().join("calls");
        let mut command = machine.command(&["query", "--fields", fields]);
        assert_eq!(command.env("NVML_SIM_CALLS", &path).output().unwrap().status.code(), Some(0));
        std::fs::read_to_string(path).unwrap()
    };
    let each = [
        ("pstate", "nvmlDeviceGetPerformanceState "),
        ("power.draw", "nvmlDeviceGetPowerUsage "),
        ("power.limit", "nvmlDeviceGetPowerManagementLimit "),
        ("energy", "nvmlDeviceGetTotalEnergyConsumption "),
        ("temperature.gpu", "nvmlDeviceGetTemperature "),
        ("clocks.sm", "nvmlDeviceGetClockInfo "),
        ("utilization.memory", "nvmlDeviceGetUtilizationRates "),
        ("utilization.encoder", "nvmlDeviceGetEncoderUtilization "),
        ("fan.speed", "nvmlDeviceGetFanSpeed_v2 "),
        ("compute_mode", "nvmlDeviceGetComputeMode "),
        ("persistence_mode", "nvmlDeviceGetPersistenceMode "),
    ];
    let few = calls("index,memory.used,utilization.gpu,state");
    for (field, call) in each {
        assert!(!few.contains(call), "{call}\n{few}");
        assert!(calls(field).contains(call), "{call}");
    }
}
