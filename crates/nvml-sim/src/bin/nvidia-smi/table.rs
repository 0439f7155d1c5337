//! CSV of the fields that were asked for, and what to say where there is none.

use nvidia_ml::abi::Code;
use nvidia_ml::reported::bus_id;
use scenario::{Card, Kind};

use crate::options::Format;
use crate::reader::Reader;
use crate::{apps, fields};

/// What is said instead of an answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    pub says: String,
    pub exit: u8,
}

impl Failure {
    fn new(says: impl Into<String>, code: Code) -> Self {
        Self { says: says.into(), exit: u8::try_from(code.0).unwrap_or(u8::MAX) }
    }

    pub fn usage(says: &str) -> Self {
        Self::new(format!("{says}\n\nPlease run 'nvidia-smi -h' for help."), Code::INVALID_ARGUMENT)
    }

    pub fn no_driver(code: Code) -> Self {
        let says = match code {
            Code::DRIVER_NOT_LOADED => {
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. \
                 Make sure that the latest NVIDIA driver is installed and running.\n"
                    .into()
            }
            Code::LIB_RM_VERSION_MISMATCH => {
                "Failed to initialize NVML: Driver/library version mismatch".into()
            }
            _ => format!("Failed to initialize NVML: {}", code.text().to_string_lossy()),
        };
        Self::new(says, code)
    }

    pub fn no_cards() -> Self {
        Self::new("No devices were found", Code::NOT_FOUND)
    }

    pub fn card(card: &Card, code: Code) -> Self {
        let advice = match code {
            Code::GPU_IS_LOST => "GPU is lost.  Reboot the system to recover this GPU".into(),
            _ => code.text().to_string_lossy(),
        };
        let place = bus_id(card.pci);
        let says = format!(
            "Unable to determine the device handle for GPU{}: {place}: {advice}",
            card.index
        );
        Self::new(says, code)
    }
}

/// `--query-gpu`
pub fn gpus(cards: &[Reader<'_>], names: &[String], format: Format) -> Result<String, Failure> {
    let chosen = find(names, fields::FIELDS, |field| field.names)?;
    let titles = chosen.iter().map(|field| title(field.names, field.unit));
    let mut table = Table::new(&titles.collect::<Vec<_>>(), format);
    for card in cards {
        let mut row = Vec::with_capacity(chosen.len());
        for field in &chosen {
            row.push(match (field.read)(card) {
                Ok(value) => with_unit(value, field.unit, format),
                Err(Code::GPU_IS_LOST) => return Err(Failure::card(card.card, Code::GPU_IS_LOST)),
                Err(code) => blank(code),
            });
        }
        table.add(&row);
    }
    Ok(table.text)
}

const PROCESS_LISTS: &[&str] = &[
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses",
];

/// `--query-compute-apps`
pub fn apps(cards: &[Reader<'_>], names: &[String], format: Format) -> Result<String, Failure> {
    let chosen = find(names, apps::FIELDS, |field| field.names)?;
    let titles = chosen.iter().map(|field| title(field.names, field.unit));
    let mut table = Table::new(&titles.collect::<Vec<_>>(), format);
    for card in cards {
        card.ask_newest(PROCESS_LISTS).map_err(|code| Failure::card(card.card, code))?;
        let processes = card.scenario().processes_at(card.place(), card.at);
        for process in processes.filter(|process| process.kinds.contains(&Kind::Compute)) {
            let value = |field: &&apps::Field| match (field.read)(card, process) {
                Some(value) => with_unit(value, field.unit, format),
                None => "[N/A]".into(),
            };
            table.add(&chosen.iter().map(value).collect::<Vec<_>>());
        }
    }
    Ok(table.text)
}

fn find<'a, F>(
    names: &[String],
    known: &'a [F],
    names_of: impl Fn(&'a F) -> &'static [&'static str],
) -> Result<Vec<&'a F>, Failure> {
    let find = |name: &String| {
        let found = known.iter().find(|field| names_of(field).contains(&name.as_str()));
        found.ok_or_else(|| {
            Failure::new(
                format!("Field \"{name}\" is not a valid field to query.\n"),
                Code::INVALID_ARGUMENT,
            )
        })
    };
    names.iter().map(find).collect()
}

/// The title keeps its unit even where the values do not.
fn title(names: &[&str], unit: Option<&str>) -> String {
    let name = names.first().copied().unwrap_or_default();
    match unit {
        Some(unit) => format!("{name} [{unit}]"),
        None => name.to_owned(),
    }
}

fn with_unit(value: String, unit: Option<&str>, format: Format) -> String {
    match unit {
        Some(unit) if format.units => format!("{value} {unit}"),
        _ => value,
    }
}

fn blank(code: Code) -> String {
    match code {
        Code::NOT_SUPPORTED | Code::NOT_FOUND | Code::FUNCTION_NOT_FOUND => "[N/A]".into(),
        _ => format!("[{}]", code.text().to_string_lossy()),
    }
}

struct Table {
    text: String,
}

impl Table {
    fn new(titles: &[String], format: Format) -> Self {
        let mut table = Self { text: String::new() };
        if format.header {
            table.add(titles);
        }
        table
    }

    fn add(&mut self, row: &[String]) {
        self.text.push_str(&row.join(", "));
        self.text.push('\n');
    }
}
