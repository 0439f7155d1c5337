//! The pretend root: what a host's `/proc`, `/etc` and `/dev` would say of the machine.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use scenario::identity::{Container, Identity};
use scenario::model::Owner;
use scenario::{Moment, Scenario};

use crate::install::process::{self, Entry};
use crate::install::{At, InstallError};

/// How long before the scenario the pretend host was booted, in seconds.
const UP_BEFORE: i64 = 30 * 86_400;
const MEMORY_KIB: u64 = 128 << 20;
const CPUS: u32 = 32;

/// Writes all of it, for a scenario that begins when the wall clock shows `start`. The
/// scenario's own origin and speed are the driver's clock: whoever reads `/proc` compares
/// it with the wall clock.
pub fn write(root: &Path, scenario: &Scenario, start: i64) -> Result<(), InstallError> {
    let boot = boot_seconds(scenario, start);
    for (name, text) in files(scenario, start, boot) {
        put(root, &name, &text)?;
    }
    write_processes(&root.join("proc"), scenario, start, boot)
}

fn put(root: &Path, name: &str, text: &str) -> Result<(), InstallError> {
    let path = root.join(name);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).at(dir)?;
    }
    fs::write(&path, text).at(&path)
}

/// Earlier than any process of the scenario.
fn boot_seconds(scenario: &Scenario, start: i64) -> i64 {
    let begins = scenario.processes.iter().map(|process| process.begin);
    let earliest = begins.fold(Moment::ORIGIN, Moment::min);
    start.saturating_add(earliest.as_micros()).div_euclid(1_000_000) - UP_BEFORE
}

fn write_processes(
    proc: &Path,
    scenario: &Scenario,
    start: i64,
    boot: i64,
) -> Result<(), InstallError> {
    let up = start.saturating_sub(boot.saturating_mul(1_000_000));
    let ticks = |at: Moment| up.saturating_add(at.as_micros()) / 10_000;
    let init = Owner {
        user: Some("root".into()),
        uid: 0,
        program: "systemd".into(),
        command: vec!["/sbin/init".into()],
        parent: 0,
        gone: false,
        identity: Identity::default(),
    };
    process::write(proc, &Entry { pid: 1, owner: &init, start_ticks: 1 })?;
    for process in scenario.processes.iter().filter(|process| !process.owner.gone) {
        let start_ticks = ticks(process.begin);
        process::write(proc, &Entry { pid: process.pid, owner: &process.owner, start_ticks })?;
    }
    Ok(())
}

fn files(scenario: &Scenario, start: i64, boot: i64) -> Vec<(String, String)> {
    let up = (start / 1_000_000).saturating_sub(boot);
    let driver = &scenario.driver.version;
    let mut files: Vec<(String, String)> = [
        ("proc/stat", kernel_stat(boot)),
        ("proc/uptime", format!("{up}.00 {}.00\n", up.saturating_mul(i64::from(CPUS)))),
        ("proc/meminfo", meminfo()),
        ("proc/sys/kernel/hostname", format!("{}\n", scenario.host_name)),
        ("proc/sys/kernel/osrelease", "6.8.0-45-generic\n".into()),
        ("proc/sys/kernel/random/boot_id", boot_id(scenario.seed)),
        (
            "proc/driver/nvidia/version",
            format!(
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Fri Aug 16 21:39:15 \
                 UTC 2024\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
            ),
        ),
        ("etc/passwd", passwd(scenario)),
        ("etc/hostname", format!("{}\n", scenario.host_name)),
        (
            "etc/os-release",
            "PRETTY_NAME=\"Pretend Linux 1\"\nNAME=\"Pretend Linux\"\nVERSION_ID=\"1\"\n\
             ID=pretend\n"
                .into(),
        ),
        ("dev/nvidiactl", String::new()),
        ("dev/nvidia-uvm", String::new()),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into();
    let cards = scenario.cards.iter();
    files.extend(cards.map(|card| (format!("dev/nvidia{}", card.minor), String::new())));
    files.extend(records(scenario));
    files
}

/// What Docker and the node keep of containers and pods.
fn records(scenario: &Scenario) -> impl Iterator<Item = (String, String)> {
    let containers = scenario.records.containers.iter().map(|container| {
        let Container { id, name } = container;
        let file = format!("var/lib/docker/containers/{id}/config.v2.json");
        (file, format!("{{\"ID\":\"{id}\",\"Name\":\"/{name}\"}}"))
    });
    let pods = scenario.records.pods.iter();
    let pods =
        pods.map(|pod| (format!("var/log/pods/{}/main/0.log", pod.log_folder()), String::new()));
    containers.chain(pods)
}

/// The kernel's totals: one line for all CPUs, one for each, and the boot time.
fn kernel_stat(boot: i64) -> String {
    let times = "36000 0 12000 8000000 400 0 120 0 0 0";
    let mut text = format!("cpu  {times}\n");
    for cpu in 0..CPUS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "cpu{cpu} {times}");
    }
    let _ = writeln!(
        text,
        "intr 0\nctxt 1990473\nbtime {boot}\nprocesses 50000\nprocs_running 1\nprocs_blocked 0"
    );
    text
}

fn meminfo() -> String {
    let lines = [
        ("MemTotal", MEMORY_KIB),
        ("MemFree", MEMORY_KIB / 2),
        ("MemAvailable", MEMORY_KIB / 4 * 3),
        ("Buffers", 2 << 20),
        ("Cached", MEMORY_KIB / 4),
        ("SwapTotal", 0),
        ("SwapFree", 0),
    ];
    lines.iter().fold(String::new(), |mut text, (name, kib)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<16}{kib:>8} kB", format!("{name}:"));
        text
    })
}

fn boot_id(seed: u64) -> String {
    format!("5ce9a210-0000-4000-8000-{:012x}\n", seed & 0xffff_ffff_ffff)
}

fn passwd(scenario: &Scenario) -> String {
    let owners = scenario.processes.iter().map(|process| &process.owner);
    let named = owners.filter_map(|owner| Some((owner.uid, owner.user.as_deref()?)));
    let users: BTreeMap<u32, &str> = named.filter(|(uid, _)| *uid != 0).collect();
    let root = "root:x:0:0:root:/root:/bin/bash\n".to_owned();
    users.iter().fold(root, |mut text, (uid, name)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}:x:{uid}:{uid}:{name}:/home/{name}:/bin/bash");
        text
    })
}
