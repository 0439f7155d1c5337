//! Gathers what `gua doctor` reports, one file a check.
//!
//! Each check reads at the edge, in `gather`, and decides in `judge`, which touches
//! nothing. Nothing here changes anything on the host.

mod brief_run;
mod cards;
mod config;
mod daemon;
mod database;
mod devices;
mod nvml;
mod processes;
pub mod report;
mod smi;
mod system;
pub mod text;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use probe::nvml::OpenError;
use probe::proc::Host;

use self::report::{
    CardReport, Check, Checkup, DeviceFacts, DriverVersions, Facts, Finding, SystemFacts, Verdict,
};
use crate::config::{Files, Machine};

/// Where to look.
#[derive(Debug, Clone)]
pub struct Places {
    pub machine: Machine,
    /// The folders in which programs are found.
    pub search_path: OsString,
    pub config_files: Files,
    /// The history; `None` for a user without a home.
    pub database: Option<PathBuf>,
    /// Where a recorder leaves its number.
    pub pid_file: Option<PathBuf>,
}

/// Checks everything. It takes as long as a failing driver is waited for, and no longer.
#[must_use]
pub fn examine(places: &Places) -> Checkup {
    let gathered = Gathered::from(places);
    Checkup::new(gathered.findings(places), gathered.facts())
}

/// All that was read, not yet judged.
struct Gathered {
    system: SystemFacts,
    devices: io::Result<Vec<DeviceFacts>>,
    smi: smi::Smi,
    answer: Result<nvml::Answer, OpenError>,
    cards: Vec<CardReport>,
    processes: Option<processes::Seen>,
    config_files: Vec<config::Found>,
    database: Option<database::Found>,
    recorder: daemon::Recorder,
}

impl Gathered {
    fn from(places: &Places) -> Self {
        let host = Host::new(places.machine.host_root.clone());
        let device_root = places.machine.host_root.as_deref().unwrap_or(Path::new("/"));
        // Before the library: a thread that it leaves in the loader lets no other begin.
        let smi = smi::gather(&places.search_path);
        let answer = nvml::gather(&places.machine);
        Self {
            system: system::gather(host.root()),
            devices: devices::gather(device_root),
            smi,
            cards: answer.iter().flat_map(|answer| &answer.cards).map(cards::report).collect(),
            processes: answer.as_ref().ok().map(|answer| processes::gather(host, &answer.cards)),
            answer,
            config_files: config::gather(&places.config_files),
            database: places.database.as_deref().map(database::gather),
            recorder: daemon::gather(places.pid_file.as_deref()),
        }
    }

    fn findings(&self, places: &Places) -> Vec<Finding> {
        let driver = self.answer.as_ref().map(|answer| &answer.driver);
        let mut findings = vec![
            system::judge(&self.system),
            devices::judge(&self.devices, driver.is_ok()),
            smi::judge(&self.smi),
            nvml::judge(driver, places.machine.nvml.as_deref()),
        ];
        findings.extend(self.of_cards());
        let own_uid = rustix::process::geteuid().as_raw();
        findings.push(config::judge(&self.config_files, own_uid));
        findings.push(database::judge(self.database.as_ref()));
        findings.push(daemon::judge(&self.recorder));
        findings
    }

    /// The cards and who is on them, or why there is nothing to say of them.
    fn of_cards(&self) -> Vec<Finding> {
        let skipped = |reason: &str| {
            let skipped = |check| Finding::new(check, Verdict::Skipped, reason);
            vec![skipped(Check::Card), skipped(Check::Processes)]
        };
        match (&self.processes, self.cards.as_slice()) {
            (None, _) => skipped("the library did not start"),
            (_, []) => skipped("there is no card"),
            (Some(processes), cards) => {
                let mut findings = cards::judge(cards);
                findings.push(processes::judge(processes));
                findings
            }
        }
    }

    fn facts(self) -> Facts {
        let driver = self.answer.as_ref().map(|answer| nvml::versions(&answer.driver));
        Facts {
            system: self.system,
            devices: self.devices.ok(),
            nvidia_smi: smi::facts(&self.smi),
            driver: driver.unwrap_or_else(|_| DriverVersions::default()),
            cards: self.cards,
            processes: self.processes.map(|processes| processes.counts),
            config_files: config::facts(&self.config_files),
            database: self.database.map(|found| found.facts),
            daemon: daemon::facts(&self.recorder),
        }
    }
}
