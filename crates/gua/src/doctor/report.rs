//! Is this host ready? A list of findings, each with the next step, and the facts behind.

use probe::Why;
use serde::{Serialize, Serializer};

/// Everything that was checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checkup {
    pub schema: &'static str,
    pub ready: bool,
    pub findings: Vec<Finding>,
    pub facts: Facts,
}

impl Checkup {
    /// Ready is a host on which no finding is an error.
    #[must_use]
    pub fn new(findings: Vec<Finding>, facts: Facts) -> Self {
        let ready = findings.iter().all(|finding| finding.verdict != Verdict::Error);
        Self { schema: "gua.doctor/1", ready, findings, facts }
    }

    /// How many findings have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }
}

/// One line of the checkup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: Check,
    /// Which card, where it is about one.
    pub card: Option<Place>,
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
    /// What to do about it.
    pub next_step: Option<String>,
}

impl Finding {
    #[must_use]
    pub fn new(check: Check, verdict: Verdict, detail: impl Into<String>) -> Self {
        Self { check, card: None, verdict, detail: detail.into(), next_step: None }
    }

    #[must_use]
    pub fn of_card(mut self, place: Place) -> Self {
        self.card = Some(place);
        self
    }

    #[must_use]
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next_step = Some(step.into());
        self
    }
}

/// What was checked, in the order of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    System,
    Devices,
    #[serde(rename = "nvidia-smi")]
    NvidiaSmi,
    Nvml,
    Card,
    Processes,
    Config,
    Database,
    Daemon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Ok,
    Warning,
    Error,
    Skipped,
}

/// Where a card is: its index, and the slot of a MIG instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Place {
    pub index: u32,
    pub mig_slot: Option<u32>,
}

/// What the findings rest on. What could not be found out is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    #[serde(flatten)]
    pub system: SystemFacts,
    pub devices: Option<Vec<DeviceFacts>>,
    pub nvidia_smi: SmiFacts,
    #[serde(flatten)]
    pub driver: DriverVersions,
    pub cards: Vec<CardReport>,
    pub processes: Option<ProcessFacts>,
    pub config_files: Vec<ConfigFacts>,
    pub database: Option<DatabaseFacts>,
    pub daemon: DaemonFacts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SystemFacts {
    pub kernel: String,
    pub architecture: String,
    pub os: Option<String>,
    pub is_wsl: bool,
    pub is_container: bool,
}

/// One of the driver's files in `/dev`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceFacts {
    /// As the host has it.
    pub path: String,
    /// Whether this user may read and write it.
    pub usable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SmiFacts {
    pub path: Option<String>,
    pub gpu_count: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct DriverVersions {
    pub driver_version: Option<String>,
    pub nvml_version: Option<String>,
    pub cuda_version: Option<String>,
    pub gpu_count: Option<u32>,
}

/// What can be read of one card, and what cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardReport {
    #[serde(flatten)]
    pub place: Place,
    pub uuid: Option<String>,
    pub name: Option<String>,
    pub readable: Vec<Quantity>,
    /// By quantity, the reason.
    #[serde(serialize_with = "as_slugs")]
    pub unreadable: Vec<(Quantity, Why)>,
    /// Nothing on the card could show whether they can be read.
    pub untried: Vec<Quantity>,
    /// Whether the utilization is that of the last moment only.
    pub utilization_is_instant: bool,
    /// Whether the host's memory stands in for the card's.
    pub shares_host_memory: bool,
}

/// What a card can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    Utilization,
    Memory,
    Holders,
    ProcessMemory,
    ProcessSm,
    Power,
    Energy,
    Temperature,
    SmClock,
    MemoryClock,
    Encoder,
    Decoder,
    Fan,
}

fn as_slugs<S: Serializer>(reasons: &[(Quantity, Why)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(reasons.iter().map(|(quantity, why)| (quantity, why.slug())))
}

/// The processes that the driver lists, by what the host says of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ProcessFacts {
    pub listed_count: usize,
    /// With a user and a program.
    pub named_count: usize,
    /// There, but of a user who has no name or is not told.
    pub nameless_count: usize,
    pub hidden_count: usize,
    pub foreign_count: usize,
    pub gone_count: usize,
}

/// One config file, where it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigFacts {
    pub path: String,
    /// `system` or `user`.
    pub whose: &'static str,
    /// Null where nobody can tell: it would be in a folder of somebody else.
    pub exists: Option<bool>,
    /// Whether it stops nobody: right, or not there.
    pub usable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatabaseFacts {
    pub path: String,
    pub kind: DatabaseKind,
    pub schema_version: Option<u32>,
    pub size_bytes: Option<u64>,
    /// Left for this user on the file system that it is on.
    pub free_bytes: Option<u64>,
    /// Whether this user may write it, or make it where it is missing.
    pub writable: bool,
}

/// What lies at the database's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseKind {
    Missing,
    Empty,
    Gua,
    PythonGua,
    OtherSqlite,
    Damaged,
    NotSqlite,
    Directory,
    NotAFile,
    Unreadable,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonFacts {
    pub pid_file: Option<String>,
    /// Null where it cannot be told.
    pub running: Option<bool>,
    pub pid: Option<u32>,
}
