//! What is laid into a directory, above all the pretend root.

use std::fs;
use std::path::Path;

use nvidia_ml::install::{InstallError, install, install_at};

fn lab() -> &'static str {
    r#"
    seed = 7
    [host]
    name = "lab"
    [driver]
    version = "535.183.01"
    [[card]]
    minor = 4
    [[card]]
    [[process]]
    pid = 4242
    cards = [0, 1]
    user = "alice"
    program = "a-very-long-program-name"
    command = ["/opt/a-very-long-program-name", "--epochs", "90 of them"]
    parent = 4200
    memory = "1GiB"
    begin = "-1h30m"
    [[process]]
    pid = 5000
    card = 1
    uid = 12345
    memory = "1GiB"
    [[process]]
    pid = 9999
    card = 1
    memory = "1GiB"
    gone = true
    "#
}

const START: i64 = 1_800_000_000_250_000;

fn installed() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("lab.toml");
    fs::write(&scenario, lab()).unwrap();
    let root = install_at(dir.path(), &scenario, START).unwrap().root;
    (dir, root)
}

fn read(root: &Path, name: &str) -> String {
    fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_process_is_as_the_kernel_shows_it() {
    let (_dir, root) = installed();
    let file = |name: &str| read(&root, &format!("proc/4242/{name}"));
    assert_eq!(file("comm"), "a-very-long-pro\n");
    assert_eq!(file("cmdline"), "/opt/a-very-long-program-name\0--epochs\090 of them\0");
    assert_eq!(file("loginuid"), "1000");
    assert!(file("stat").starts_with("4242 (a-very-long-pro) S 4200 4242 "));
    let status = file("status");
    for line in [
        "Name:\ta-very-long-pro",
        "Uid:\t1000\t1000\t1000\t1000",
        "PPid:\t4200",
        "Threads:\t8",
        "VmRSS:\t 2097152 kB",
    ] {
        assert!(status.lines().any(|found| found == line), "{line}\n{status}");
    }
    assert_eq!(read(&root, "proc/5000/loginuid"), "12345");
}

#[test]
fn boot_time_and_start_time_add_up_to_the_scenarios_begin() {
    let (_dir, root) = installed();
    let stat = read(&root, "proc/stat");
    let boot: i64 =
        stat.lines().find_map(|line| line.strip_prefix("btime ")).unwrap().parse().unwrap();
    let ticks = |pid: u32| -> i64 {
        let stat = read(&root, &format!("proc/{pid}/stat"));
        let after = stat.rsplit_once(") ").unwrap().1;
        after.split(' ').nth(19).unwrap().parse().unwrap()
    };
    assert_eq!(boot * 100 + ticks(5000), START / 10_000);
    assert_eq!(boot * 100 + ticks(4242), START / 10_000 - 90 * 60 * 100);
    assert!(boot <= START / 1_000_000 - 30 * 86_400);
    assert!(stat.starts_with("cpu  ") && stat.contains("\ncpu31 "));
}

#[test]
fn a_drivers_clock_of_its_own_does_not_move_the_hosts() {
    let begins = |time: &str| {
        let dir = tempfile::tempdir().unwrap();
        let scenario = dir.path().join("lab.toml");
        fs::write(&scenario, format!("{time}{}", lab())).unwrap();
        let root = install_at(dir.path(), &scenario, START).unwrap().root;
        ["proc/stat", "proc/uptime", "proc/4242/stat"].map(|name| read(&root, name))
    };
    let time = "time = { origin = \"2001-01-01T00:00:00Z\", speed = 60 }\n";
    assert_eq!(begins(time), begins(""));
}

#[test]
fn a_process_may_begin_a_century_ago() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("old.toml");
    fs::write(&scenario, lab().replace("-1h30m", "-100years")).unwrap();
    for start in [START, 0] {
        install_at(dir.path(), &scenario, start).unwrap();
    }
}

#[test]
fn the_driver_lists_what_the_host_no_longer_has() {
    let (_dir, root) = installed();
    let mut pids: Vec<u32> = fs::read_dir(root.join("proc"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    assert_eq!(pids, [1, 4242, 5000]);
}

#[test]
fn the_host_has_its_names_its_users_and_its_devices() {
    let (_dir, root) = installed();
    insta::assert_snapshot!(read(&root, "etc/passwd"), @r"
    root:x:0:0:root:/root:/bin/bash
    alice:x:1000:1000:alice:/home/alice:/bin/bash
    ");
    insta::assert_snapshot!(read(&root, "proc/meminfo"), @r"
    MemTotal:       134217728 kB
    MemFree:        67108864 kB
    MemAvailable:   100663296 kB
    Buffers:         2097152 kB
    Cached:         33554432 kB
    SwapTotal:             0 kB
    SwapFree:              0 kB
    ");
    insta::assert_snapshot!(read(&root, "proc/driver/nvidia/version"), @r"
    NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Fri Aug 16 21:39:15 UTC 2024
    GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)
    ");
    assert_eq!(read(&root, "proc/sys/kernel/hostname"), "lab\n");
    assert_eq!(read(&root, "proc/sys/kernel/random/boot_id").trim_end().len(), 36);
    assert!(read(&root, "etc/os-release").contains("ID=pretend"));
    assert!(read(&root, "proc/uptime").ends_with(".00\n"));
    let mut devices: Vec<_> =
        fs::read_dir(root.join("dev")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    devices.sort();
    assert_eq!(devices, ["nvidia-uvm", "nvidia1", "nvidia4", "nvidiactl"]);
}

#[test]
fn installing_again_into_the_same_place_works() {
    let (dir, _) = installed();
    let again = install(dir.path(), &dir.path().join("lab.toml")).unwrap();
    assert!(again.library.is_file());
    assert!(again.bin.join("nvidia-smi").exists());
    let envs = again.envs();
    let value = |name| envs.iter().find(|(known, _)| *known == name).unwrap().1.to_str().unwrap();
    assert!(value("LD_LIBRARY_PATH").starts_with(dir.path().join("lib").to_str().unwrap()));
    assert!(value("PATH").starts_with(&format!("{}:", dir.path().join("bin").display())));
    assert_eq!(value("GUA_HOST_ROOT"), dir.path().join("root").to_str().unwrap());
    assert!(value("NVML_SIM_START").parse::<i64>().unwrap() > START - 100_000_000_000_000);
}

#[test]
fn a_bad_scenario_installs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("bad.toml");
    fs::write(&scenario, "[[card]]\nutilization = 900\n").unwrap();
    let refused = install(dir.path(), &scenario);
    assert!(matches!(refused, Err(InstallError::Scenario(_))), "{refused:?}");
    assert!(!dir.path().join("lib").exists());
}
