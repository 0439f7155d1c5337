//! `gua doctor`: checks whether cards can be audited on this host.
//!
//! Each check reads, judges and returns a finding with the facts behind it. None of them
//! changes anything on the host.
//!
//! | module | what it checks |
//! |---|---|
//! | `system` | the kernel, the distribution, containers |
//! | `devices` | the driver's files in `/dev` |
//! | `nvidia_smi` | `nvidia-smi`, run with a time limit in `subprocess` |
//! | `nvml` | the driver's library |
//! | `cards` | what can be read of each card |
//! | `processes` | who the processes on the cards belong to |
//! | `config`, `database`, `daemon` | gua's own files |
//!
//! `finding` is what they return, `text` writes all of it for people.

mod cards;
mod config;
mod daemon;
mod database;
mod devices;
mod finding;
mod nvidia_smi;
mod nvml;
mod processes;
mod subprocess;
mod system;
mod text;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use probe::proc::Host;
use serde::Serialize;

use crate::config::{Files, Machine};
use crate::render::paint::Paint;
use finding::{Entry, Finding, Verdict};

/// Places that the checks look at.
#[derive(Debug, Clone)]
pub struct Places {
    pub machine: Machine,
    /// The folders in which programs are found.
    pub search_path: OsString,
    pub config_files: Files,
    /// The history; `None` for a user without a home.
    pub database: Option<PathBuf>,
    /// Where a recorder leaves its pid.
    pub pid_file: Option<PathBuf>,
}

/// Findings of all checks, and the facts behind them.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    schema: &'static str,
    /// True if no finding is an error.
    pub ready: bool,
    findings: Vec<Entry>,
    facts: Facts,
}

/// Facts that the findings rest on.
#[derive(Debug, Serialize)]
struct Facts {
    #[serde(flatten)]
    system: system::SystemFacts,
    devices: Option<Vec<devices::DeviceFile>>,
    nvidia_smi: nvidia_smi::SmiFacts,
    #[serde(flatten)]
    driver: nvml::DriverVersions,
    cards: Vec<cards::CardReport>,
    processes: Option<processes::ProcessCounts>,
    config_files: Vec<config::ConfigFacts>,
    database: Option<database::DatabaseFacts>,
    daemon: daemon::DaemonFacts,
}

impl Diagnosis {
    /// Runs all checks. A driver that hangs is waited for some seconds, not for ever.
    #[must_use]
    pub fn of(places: &Places) -> Self {
        let host = Host::new(places.machine.host_root.clone());
        let device_root = places.machine.host_root.as_deref().unwrap_or(Path::new("/"));
        let (system, system_facts) = system::check(host.root());
        let devices = devices::list(device_root);
        // Before the library: if that leaves a thread in the loader, no other thread can start.
        let (smi, smi_facts) = nvidia_smi::check(&places.search_path);
        let (nvml, driver, looks) = nvml::check(&places.machine);
        let driver_answers = looks.is_some();
        let cards = cards::report(looks.as_deref().unwrap_or_default());
        let (processes, counts) = looks.map(|looks| processes::check(host, &looks)).unzip();
        let (config, config_files) = config::check(&places.config_files);
        let (database, database_facts) = database::check(places.database.as_deref());
        let (daemon, daemon_facts) = daemon::check(places.pid_file.as_deref());

        let mut findings = vec![
            Entry::new("system", system),
            Entry::new("devices", devices::judge(&devices, driver_answers)),
            Entry::new("nvidia-smi", smi),
            Entry::new("nvml", nvml),
        ];
        let skipped =
            |why| ["card", "processes"].map(|check| Entry::new(check, Finding::skipped(why)));
        match processes {
            None => findings.extend(skipped("the library did not start")),
            Some(_) if cards.is_empty() => findings.extend(skipped("there is no card")),
            Some(processes) => {
                findings.extend(cards::judge(&cards));
                findings.push(Entry::new("processes", processes));
            }
        }
        findings.push(Entry::new("config", config));
        findings.push(Entry::new("database", database));
        findings.push(Entry::new("daemon", daemon));
        let facts = Facts {
            system: system_facts,
            devices: devices.ok(),
            nvidia_smi: smi_facts,
            driver,
            cards,
            processes: counts,
            config_files,
            database: database_facts,
            daemon: daemon_facts,
        };
        Self::new(findings, facts)
    }

    fn new(findings: Vec<Entry>, facts: Facts) -> Self {
        let ready = findings.iter().all(|entry| entry.finding.verdict != Verdict::Error);
        Self { schema: "gua.doctor/1", ready, findings, facts }
    }

    /// Writes the findings as text, in lines of at most `width` columns.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(
        &self,
        out: &mut impl Write,
        width: Option<usize>,
        paint: Paint,
    ) -> io::Result<()> {
        let lines = text::lines(self, width.unwrap_or(usize::MAX), paint);
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}
