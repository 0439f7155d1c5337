//! What a scenario means: the driver, its cards, their instances and processes.

use std::time::Duration;

use wildmatch::WildMatch;

use crate::fault::Fault;
use crate::identity::{Identity, Records};
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
    pub records: Records,
}

impl Scenario {
    /// The same machine with only those processes and faults that matter between two
    /// moments, both included. Asked about that time it answers the same, and sooner; only
    /// the accounting, which knows ended processes, knows fewer.
    #[must_use]
    pub fn during(&self, from: Moment, to: Moment) -> Self {
        let runs = |process: &&Process| process.touches(from, to);
        let strikes = |fault: &&Fault| fault.touches(from, to);
        Self {
            seed: self.seed,
            host_name: self.host_name.clone(),
            driver: self.driver.clone(),
            time: self.time,
            samples: self.samples,
            cards: self.cards.clone(),
            processes: self.processes.iter().filter(runs).cloned().collect(),
            faults: self.faults.iter().filter(strikes).cloned().collect(),
            stray_samples: self.stray_samples.clone(),
            records: self.records.clone(),
        }
    }
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

    /// Returns how many bytes longer than declared this driver's list entries are.
    ///
    /// R535.43 to R535.86 append `usedGpuCcProtectedMemory` to each entry of the third version of
    /// the process lists. R535.98 reverted that.
    #[must_use]
    pub fn extra_bytes(&self, call: &str) -> u32 {
        let mut numbers = self.version.split('.').map(str::parse::<u32>);
        let version = (numbers.next(), numbers.next());
        let is_affected = matches!(version, (Some(Ok(535)), Some(Ok(43..98))));
        if is_affected && call.ends_with("RunningProcesses_v3") { 8 } else { 0 }
    }
}

/// How the pretend clock runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// What it shows at `t = 0`; the wall clock when `None`.
    pub origin_unix_micros: Option<i64>,
    pub speed: f64,
    /// Added to the time stamps of samples, in microseconds: the driver's clock as it was set.
    pub stamp_offset_micros: i64,
    pub stamps: Stamps,
}

/// The clock of the samples' time stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// Microseconds since the Unix epoch.
    Unix,
    /// Microseconds since the host's boot.
    Boot,
}

/// The ring buffers in which the driver keeps its samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleBuffer {
    pub period: Duration,
    /// Samples of a card; 0 if the driver has no buffer.
    pub capacity: u32,
    /// A period in which the card is idle leaves no utilization sample.
    pub dry_when_idle: bool,
    /// Percentage of a card's samples that never get into its buffer.
    pub lose_percent: f64,
    pub processes: ProcessUtilization,
}

/// What the driver returns as the utilization of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessUtilization {
    /// An entry per process, of the newest period.
    Newest,
    /// An entry per process and period since the caller's last one.
    Complete,
    /// An entry per process, the mean since the caller's last one, stamped seconds late.
    Mean,
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
    /// Whether the driver keeps account of each process, ended ones included.
    pub accounting: bool,
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
    /// The most it ever held, for the driver's accounting; its memory when `None`.
    pub peak: Option<u64>,
    pub sm: Load,
    pub engines: Engines,
    pub begin: Moment,
    pub end: Option<Moment>,
    pub owner: Owner,
}

/// What a process takes of a card besides its SMs.
#[derive(Debug, Clone, PartialEq)]
pub struct Engines {
    pub memory: Load,
    pub encoder: Load,
    pub decoder: Load,
}

impl Default for Engines {
    /// Nothing.
    fn default() -> Self {
        let [memory, encoder, decoder] = [(); 3].map(|()| Load::constant(0.0));
        Self { memory, encoder, decoder }
    }
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
    pub identity: Identity,
}

impl Process {
    #[must_use]
    pub fn runs_at(&self, t: Moment) -> bool {
        self.begin <= t && self.end.is_none_or(|end| t < end)
    }

    /// Whether it runs at any moment between these two, both included.
    #[must_use]
    pub fn touches(&self, from: Moment, to: Moment) -> bool {
        self.begin <= to && self.end.is_none_or(|end| from < end)
    }
}

/// A sample that the driver should not have given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StraySample {
    pub card: u32,
    /// The process of a process sample; `None` for a sample of the card's utilization.
    pub pid: Option<u32>,
    pub sm: u32,
    /// Age of its time stamp.
    pub age: Duration,
    /// Distance of its time stamp from now, in the future.
    pub ahead: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Place;
    use proptest::prelude::*;

    const BUSY: &str = r#"
        [[card]]
        [[card]]
        utilization = { duty = 40, period = "10s", high = 90, low = 2 }
        [[process]]
        pid = 1
        card = 0
        memory = "1GiB"
        sm = 30
        begin = "10s"
        end = "20s"
        [[process]]
        pid = 2
        cards = [0, 1]
        memory = "2GiB"
        sm = { duty = 50, period = "8s" }
        begin = "-5s"
        end = "12s"
        [[process]]
        pid = 3
        card = 0
        memory = "4GiB"
        sm = 7
        begin = "18s"
        [[fault]]
        call = "nvmlDeviceGet*"
        card = 0
        code = "GPU_IS_LOST"
        from = "5s"
        to = "15s"
    "#;

    #[test]
    fn only_some_r535_drivers_have_longer_process_entries() {
        let extra = |version: &str, call: &str| {
            let text = format!("[driver]\nversion = \"{version}\"\n");
            crate::parse::from_str("old.toml", &text).unwrap().driver.extra_bytes(call)
        };
        let v3 = "nvmlDeviceGetComputeRunningProcesses_v3";
        for (version, bytes) in [
            ("530.30.02", 0),
            ("535.43.02", 8),
            ("535.54.03", 8),
            ("535.86.10", 8),
            ("535.98", 0),
            ("535.183.01", 0),
            ("545.54", 0),
        ] {
            assert_eq!(extra(version, v3), bytes, "{version}");
        }
        assert_eq!(extra("535.54.03", "nvmlDeviceGetComputeRunningProcesses_v2"), 0);
    }

    #[test]
    fn what_is_over_or_yet_to_come_is_left_out() {
        let all = crate::parse::from_str("busy.toml", BUSY).unwrap();
        let s = Moment::from_secs;
        let counts = |from, to| {
            let part = all.during(s(from), s(to));
            (part.processes.len(), part.faults.len())
        };
        assert_eq!(counts(-9, -6), (0, 0));
        assert_eq!(counts(-9, -5), (2, 0));
        assert_eq!(counts(12, 17), (1, 1));
        assert_eq!(counts(20, 30), (1, 0));
        assert_eq!(counts(-9, 30), (4, 1));
    }

    proptest! {
        /// The law: asked about that time, the part answers as the whole does.
        #[test]
        fn a_part_answers_as_the_whole(from in -20_i64..40, length in 0_i64..30, at in 0_i64..30) {
            let all = crate::parse::from_str("busy.toml", BUSY).unwrap();
            let (from, to) = (Moment::from_secs(from), Moment::from_secs(from + length));
            let at = (from + Duration::from_secs(at.unsigned_abs())).min(to);
            let part = all.during(from, to);
            for (a, b) in part.cards.iter().zip(&all.cards) {
                let (a, b) = (Place::card(a), Place::card(b));
                let processes = all.processes_at(b, at).collect::<Vec<_>>();
                prop_assert_eq!(part.processes_at(a, at).collect::<Vec<_>>(), processes);
                prop_assert_eq!(part.utilization_at(a, at), all.utilization_at(b, at));
                prop_assert_eq!(part.memory_used_at(a, at), all.memory_used_at(b, at));
                let mean = part.mean_utilization(a, from, at);
                prop_assert_eq!(mean, all.mean_utilization(b, from, at));
            }
            let strikes = |scenario: &Scenario| {
                let uuid = scenario.cards[0].uuid.clone();
                scenario.faults.iter().any(|fault| fault.strikes("nvmlDeviceGetName", Some(&uuid), at))
            };
            prop_assert_eq!(strikes(&part), strikes(&all));
        }
    }
}
