//! What a scenario means: the driver, its cards, their instances and processes.

use std::time::Duration;

use wildmatch::WildMatch;

use crate::fault::Fault;
use crate::load::Load;
use crate::moment::Moment;

/// A pretend machine. Made by [`crate::parse`], complete and consistent.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub seed: u64,
    pub host_name: String,
    pub driver: Driver,
    pub time: Time,
    pub samples: SampleBuffer,
    pub cards: Vec<Card>,
    pub processes: Vec<Process>,
    pub faults: Vec<Fault>,
    pub stray_samples: Vec<StraySample>,
}

/// The driver and its library.
#[derive(Debug, Clone, PartialEq)]
pub struct Driver {
    pub version: String,
    pub nvml_version: String,
    /// As NVML gives it: 12060 is CUDA 12.6.
    pub cuda_version: i32,
    /// Functions that this driver does not have.
    pub lacks: Vec<WildMatch>,
}

impl Driver {
    /// Whether this driver has a function of this name.
    #[must_use]
    pub fn has(&self, call: &str) -> bool {
        !self.lacks.iter().any(|pattern| pattern.matches(call))
    }
}

/// How the pretend clock runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// What it shows at `t = 0`; the wall clock when `None`.
    pub origin_unix_micros: Option<i64>,
    pub speed: f64,
}

/// The ring buffer in which the driver keeps its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleBuffer {
    pub period: Duration,
    pub capacity: u32,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub index: u32,
    /// The device minor number, which need not be the index.
    pub minor: u32,
    pub uuid: String,
    pub name: String,
    pub serial: String,
    pub pci: Pci,
    pub memory: Memory,
    /// The sum of its processes' own loads when `None`.
    pub utilization: Option<Load>,
    pub memory_utilization: Load,
    pub encoder: Load,
    pub decoder: Load,
    pub power: Power,
    pub temperature: Range,
    pub sm_clock: Range,
    pub memory_clock: Range,
    /// In percent; `None` for a card without a fan.
    pub fan: Option<u32>,
    pub persistence: bool,
    pub compute_capability: (i32, i32),
    /// Whether the card offers GPM metrics (Hopper and later).
    pub gpm: bool,
    /// `None` where the card has no MIG; empty where it is on without instances.
    pub mig: Option<Mig>,
}

/// Where a card sits on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pci {
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
}

/// A card's memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub total: u64,
    /// Kept by the driver; older calls count it as used.
    pub reserved: u64,
    /// Used by no process that anyone can see.
    pub unattributed: u64,
    /// Shared with the host, so that the driver has no memory of its own to tell.
    pub unified: bool,
}

/// Watts when idle and at full load, and the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    pub idle_watts: f64,
    pub full_watts: f64,
    pub limit_watts: f64,
}

/// A quantity that follows utilization from one end to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub idle: f64,
    pub full: f64,
}

impl Range {
    /// The value at a utilization in percent.
    #[must_use]
    pub fn at(&self, utilization: f64) -> f64 {
        self.idle + (self.full - self.idle) * utilization / 100.0
    }
}

/// MIG on a card: how many slots, and what sits in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Mig {
    pub slots: u32,
    pub instances: Vec<Instance>,
}

/// One MIG instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its place among the card's slots, which may have holes.
    pub slot: u32,
    pub uuid: String,
    pub profile: String,
    pub memory: u64,
    pub gpu_instance: u32,
    pub compute_instance: u32,
    /// The sum of its processes' own loads when `None`.
    pub utilization: Option<Load>,
}

/// How a process uses a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Compute,
    Graphics,
    Mps,
}

/// One process on one card or instance. A pid on several cards is several of these.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    pub pid: u32,
    /// The card's index.
    pub card: u32,
    /// The slot of the MIG instance it runs in.
    pub slot: Option<u32>,
    pub kinds: Vec<Kind>,
    /// In bytes; `None` where the driver cannot tell.
    pub memory: Option<u64>,
    pub sm: Load,
    pub begin: Moment,
    pub end: Option<Moment>,
    pub owner: Owner,
}

/// What the host's `/proc` says of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub user: Option<String>,
    pub uid: u32,
    pub program: String,
    pub command: Vec<String>,
    pub parent: u32,
    /// The driver still lists it, the host no longer has it.
    pub gone: bool,
}

impl Process {
    #[must_use]
    pub fn runs_at(&self, t: Moment) -> bool {
        self.begin <= t && self.end.is_none_or(|end| t < end)
    }
}

/// A process sample that the driver should not have given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StraySample {
    pub card: u32,
    pub pid: u32,
    pub sm: u32,
    /// How old its timestamp is.
    pub age: Duration,
}
