//! What was asked for, which is what the use is compared with.

use probe::Reading;
use probe::units::Bytes;
use serde::Serialize;
use track::Usage;
use track::usage::Machine;

/// Where a figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It was typed.
    Option,
    Slurm,
    /// The limit of a container or a job.
    Cgroup,
    /// Nothing was asked for: all that there is.
    Machine,
}

/// What was typed and what the job says, to be settled with what the measurement found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request {
    pub cores: Option<u32>,
    /// Whether cards were named.
    pub names_cards: bool,
    pub slurm: Slurm,
}

/// What a Slurm job says of itself in its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slurm {
    pub cores: Option<u32>,
    pub ram: Option<Bytes>,
    pub gpus: Option<u32>,
}

impl Slurm {
    /// Reads it from the variables that a job has; there are none outside of one.
    #[must_use]
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok().filter(|n| *n > 0);
        let mebibytes = |name: &str| number(name).map(u64::from);
        let cores = number("SLURM_CPUS_PER_TASK").or_else(|| number("SLURM_CPUS_ON_NODE"));
        let per_core = || Some(mebibytes("SLURM_MEM_PER_CPU")? * u64::from(cores?));
        let gpus = |name: &str| counted(&variable(name)?);
        Self {
            cores,
            ram: mebibytes("SLURM_MEM_PER_NODE").or_else(per_core).map(Bytes::from_mib),
            gpus: gpus("SLURM_GPUS_ON_NODE").or_else(|| gpus("SLURM_GPUS")),
        }
    }
}

/// `2` or `a100:2`.
fn counted(text: &str) -> Option<u32> {
    let number = text.rsplit(':').next()?;
    number.trim().parse().ok().filter(|count| *count > 0)
}

/// What the use is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Asked {
    pub cores: f64,
    pub cores_source: Source,
    pub ram_bytes: Option<u64>,
    pub ram_source: Source,
    /// Null where nothing is known of the GPUs.
    pub gpus: Option<u32>,
    pub gpus_source: Source,
}

impl Asked {
    #[must_use]
    pub fn new(request: &Request, usage: &Usage) -> Self {
        let (cores, cores_source) = cores(request, &usage.machine);
        let (ram_bytes, ram_source) = ram(request, &usage.machine);
        let (gpus, gpus_source) = gpus(request, usage);
        Self { cores, cores_source, ram_bytes, ram_source, gpus, gpus_source }
    }
}

fn cores(request: &Request, machine: &Machine) -> (f64, Source) {
    if let Some(cores) = request.cores {
        return (f64::from(cores), Source::Option);
    }
    // Where the limit is unknown, the machine's cores are still no fewer.
    let limit = machine.limits.cores.known().flatten();
    let limit = limit.filter(|cores| cores.is_finite() && *cores > 0.0);
    match (request.slurm.cores.map(f64::from), limit) {
        (Some(slurm), Some(limit)) if limit < slurm => (limit, Source::Cgroup),
        (Some(slurm), _) => (slurm, Source::Slurm),
        (None, Some(limit)) => (limit, Source::Cgroup),
        (None, None) => (f64::from(machine.cores), Source::Machine),
    }
}

/// The narrower of the job's and the cgroup's. Where it is unknown whether a cgroup allows less
/// than the machine has, it is unknown how much there is.
fn ram(request: &Request, machine: &Machine) -> (Option<u64>, Source) {
    match (request.slurm.ram, machine.limits.ram) {
        (Some(slurm), Reading::Known(Some(limit))) if limit < slurm => {
            (Some(limit.0), Source::Cgroup)
        }
        (Some(slurm), _) => (Some(slurm.0), Source::Slurm),
        (None, Reading::Known(Some(limit))) => (Some(limit.0), Source::Cgroup),
        (None, Reading::Known(None)) => (machine.ram.known().map(|ram| ram.0), Source::Machine),
        (None, Reading::Unknown(_)) => (None, Source::Machine),
    }
}

fn gpus(request: &Request, usage: &Usage) -> (Option<u32>, Source) {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let cards = usage.gpu.as_ref().ok().map(|gpu| gpu.cards.as_slice());
    if request.names_cards {
        let chosen = cards.map(|cards| cards.iter().filter(|card| card.is_chosen).count());
        return (chosen.map(count), Source::Option);
    }
    match request.slurm.gpus {
        Some(gpus) => (Some(gpus), Source::Slurm),
        None => (cards.map(|cards| count(cards.len())), Source::Machine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slurm(variables: &[(&str, &str)]) -> Slurm {
        Slurm::new(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_job_says_what_it_asked_for() {
        assert_eq!(slurm(&[]), Slurm::default());
        let job = slurm(&[
            ("SLURM_CPUS_PER_TASK", "16"),
            ("SLURM_MEM_PER_NODE", "16384"),
            ("SLURM_GPUS_ON_NODE", "2"),
        ]);
        let ram = Some(Bytes(16 << 30));
        assert_eq!(job, Slurm { cores: Some(16), ram, gpus: Some(2) });
    }

    #[test]
    fn memory_by_core_and_cards_by_kind_are_counted() {
        let job = slurm(&[
            ("SLURM_CPUS_ON_NODE", "4"),
            ("SLURM_MEM_PER_CPU", "2048"),
            ("SLURM_GPUS", "a100:3"),
        ]);
        let ram = Some(Bytes(8 << 30));
        assert_eq!(job, Slurm { cores: Some(4), ram, gpus: Some(3) });
    }

    #[test]
    fn what_makes_no_sense_says_nothing() {
        let job = slurm(&[
            ("SLURM_CPUS_PER_TASK", "-1"),
            ("SLURM_MEM_PER_NODE", "0"),
            ("SLURM_MEM_PER_CPU", "much"),
            ("SLURM_GPUS", "a100"),
        ]);
        assert_eq!(job, Slurm::default());
    }
}
