//! How `gua doctor` reads, for a person and for a program.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use super::{TWO_CARDS, doctor, json, machine, machine_with_smi};
use crate::machine::{Machine, Run, run};

/// The output with what differs from host to host replaced.
fn stable(run: &Run, machine: &Machine) -> String {
    let text = run.stdout.replace(machine.dir().to_str().unwrap(), "DIR");
    text.replace(", in a container", "")
}

macro_rules! assert_output {
    ($run:expr, $machine:expr, @$expected:literal) => {
        insta::with_settings!({filters => vec![
            (r"Linux \S+, (x86_64|aarch64)", "Linux KERNEL, ARCH"),
            (r"[<\d.]+ GiB free", "N GiB free"),
        ]}, {
            insta::assert_snapshot!(stable(&$run, &$machine), @$expected);
        });
    };
}

#[test]
fn a_host_that_is_ready() {
    let machine = machine(TWO_CARDS);
    let run = run(doctor(&machine, &[]));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_output!(run, machine, @"
    ready: 2 cards can be audited
    ok       system      Pretend Linux 1, Linux KERNEL, ARCH
    ok       devices     2 cards, nvidiactl, nvidia-uvm in /dev, open to this user
    ok       nvidia-smi  lists 2 GPUs
    ok       nvml        libnvidia-ml.so.1: driver 560.35.05, NVML 12.560.35.05, CUDA 12.6, 2 GPUs
    ok       card 0      A100-SXM4-80GB: everything can be read; no fan
    ok       card 1      RTX 4090: everything can be read
    ok       processes   both processes on the cards can be named
    ok       config      no config file; the defaults count
    ok       database    DIR/home/.gua/gua.db: none yet, can be made; N GiB free
    ok       daemon      no recorder is running
    ");
}

#[test]
fn a_host_without_a_driver() {
    let machine = machine_with_smi(TWO_CARDS, None);
    fs::remove_dir_all(machine.root().join("dev")).unwrap();
    let run = run(doctor(&machine, &["--nvml", "/nowhere/libnvidia-ml.so.1"]));
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    assert_output!(run, machine, @"
    not ready: 2 errors, 1 warning
    ok       system      Pretend Linux 1, Linux KERNEL, ARCH
    error    devices     there is no /dev/nvidia*
                         → Load the driver with `modprobe nvidia`; in a container, pass the cards in (`docker run --gpus all`).
    warning  nvidia-smi  not found in PATH; gua does not need it
                         → Nothing to do for gua; it comes with the driver's own tools.
    error    nvml        /nowhere/libnvidia-ml.so.1 was not found
                         → Is the NVIDIA driver installed on this host? If it is elsewhere, name it with --nvml PATH.
    skipped  cards       the library did not start
    skipped  processes   the library did not start
    ok       config      no config file; the defaults count
    ok       database    DIR/home/.gua/gua.db: none yet, can be made; N GiB free
    ok       daemon      no recorder is running
    ");
}

#[test]
fn json_has_numbers_as_numbers_and_says_the_same() {
    let machine = machine(TWO_CARDS);
    let (code, checkup) = json(doctor(&machine, &[]));
    assert_eq!(code, Some(0));
    assert_eq!((&checkup["schema"], &checkup["ready"]), (&"gua.doctor/1".into(), &true.into()));
    let checks: Vec<_> =
        checkup["findings"].as_array().unwrap().iter().map(|finding| &finding["check"]).collect();
    let order = [
        "system",
        "devices",
        "nvidia-smi",
        "nvml",
        "card",
        "card",
        "processes",
        "config",
        "database",
        "daemon",
    ];
    assert_eq!(checks, order);
    let facts = &checkup["facts"];
    assert_eq!(facts["os"], "Pretend Linux 1");
    assert!(facts["kernel"].is_string());
    assert_eq!(facts["driver_version"], "560.35.05");
    assert_eq!(facts["nvml_version"], "12.560.35.05");
    assert_eq!(facts["cuda_version"], "12.6");
    assert_eq!((&facts["gpu_count"], &facts["nvidia_smi"]["gpu_count"]), (&2.into(), &2.into()));
    assert_eq!(facts["cards"][0]["index"], 0);
    assert_eq!(facts["cards"][1]["name"], "NVIDIA GeForce RTX 4090");
    assert_eq!(facts["cards"][0]["unreadable"], serde_json::json!({"fan": "not_supported"}));
    assert_eq!(facts["cards"][1]["readable"].as_array().unwrap().len(), 13);
    assert_eq!(facts["processes"]["listed_count"], 2);
    assert_eq!(facts["processes"]["named_count"], 2);
    assert!(facts["database"]["free_bytes"].as_u64().is_some());
    assert_eq!(facts["daemon"]["running"], false);
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let machine = Machine::bundled("lab.toml");
    let name = "非常に長い名前-".repeat(20);
    let path = machine.dir().join(name.chars().take(80).collect::<String>());
    for columns in [20, 40, 60, 80, 120, 300] {
        let mut command = machine.command(&["doctor", "--db", path.to_str().unwrap()]);
        command.env("COLUMNS", columns.to_string());
        let run = run(command);
        assert_eq!(run.code, Some(0));
        for line in run.stdout.lines() {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= columns, "{width} > {columns}: {line}");
        }
    }
}

#[test]
fn colour_repeats_the_words_where_it_is_wanted() {
    let machine = machine(TWO_CARDS);
    let plain = run(doctor(&machine, &[])).stdout;
    let mut colored = run(doctor(&machine, &["--color", "always"])).stdout;
    assert!(!plain.contains('\x1b') && colored.contains("\x1b[32mok\x1b[0m"), "{colored}");
    for code in ["\x1b[32m", "\x1b[1;33m", "\x1b[31m", "\x1b[2m", "\x1b[0m"] {
        colored = colored.replace(code, "");
    }
    // Others may fill or free the disk between the two runs.
    let settled = |text: &str| {
        text.lines().filter(|line| !line.contains(" free")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(settled(&colored), settled(&plain));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let machine = machine(TWO_CARDS);
    let mut command = doctor(&machine, &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}
