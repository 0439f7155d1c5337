//! What people look at: the list of cards, and the table of cards and processes.

use std::fmt::Write;

use nvidia_ml::abi::Code;
use nvidia_ml::machine::Machine;
use scenario::model::Driver;
use scenario::{Kind, Process};

use crate::apps;
use crate::fields::{self, FIELDS};
use crate::reader::Reader;
use crate::table::Failure;

/// `-L`
pub fn list(cards: &[Reader<'_>]) -> Result<String, Failure> {
    let mut text = String::new();
    for reader in cards {
        let card = reader.card;
        for call in ["nvmlDeviceGetName", "nvmlDeviceGetUUID"] {
            reader.ask(call).map_err(|code| Failure::card(card, code))?;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "GPU {}: {} (UUID: {})", card.index, card.name, card.uuid);
        for instance in card.mig.iter().flat_map(|mig| &mig.instances) {
            let _ = writeln!(
                text,
                "  MIG {:<11} Device {:>2}: (UUID: {})",
                instance.profile, instance.slot, instance.uuid
            );
        }
    }
    Ok(text)
}

const LINE: &str =
    "+-----------------------------------------------------------------------------------------+\n";

/// Without arguments: a table much like the real one, a line for each card.
pub fn full(machine: &Machine, cards: &[Reader<'_>]) -> Result<String, Failure> {
    let cards_lines = cards.iter().map(card_line).collect::<Result<Vec<_>, _>>()?;
    let mut text = String::new();
    if let Some(time) = cards.first().and_then(|card| fields::at(card, card.at)) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", time.strftime("%a %b %e %H:%M:%S %Y"));
    }
    section(&mut text, &[head(&machine.scenario.driver)]);
    section(&mut text, &[&[card_columns(CARD_TITLES)], &*cards_lines].concat());
    section(&mut text, &process_lines(cards));
    text.push_str(LINE);
    Ok(text)
}

fn section(text: &mut String, lines: &[String]) {
    text.push_str(LINE);
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {line:<87.87} |");
    }
}

fn head(driver: &Driver) -> String {
    let cuda = format!("{}.{}", driver.cuda_version / 1000, driver.cuda_version % 1000 / 10);
    let version = &driver.version;
    format!("NVIDIA-SMI {version:<22} Driver Version: {version:<14} CUDA Version: {cuda}")
}

const CARD_TITLES: [&str; 8] =
    ["GPU", "Name", "Bus-Id", "Temp", "Perf", "Power", "Memory (MiB)", "Util"];

fn card_columns([index, name, bus, temp, perf, power, memory, util]: [&str; 8]) -> String {
    format!(
        "{index:>3}  {name:<26.26} {bus:<16} {temp:>5} {perf:>4} {power:>5} {memory:>16} {util:>4}"
    )
}

fn card_line(card: &Reader<'_>) -> Result<String, Failure> {
    let value = |name: &str| match FIELDS.iter().find(|field| field.names.contains(&name)) {
        None => Ok("N/A".into()),
        Some(field) => match (field.read)(card) {
            Ok(value) => Ok(value),
            Err(Code::GPU_IS_LOST) => Err(Failure::card(card.card, Code::GPU_IS_LOST)),
            Err(_) => Ok("N/A".into()),
        },
    };
    let watts = value("power.draw")?;
    Ok(card_columns([
        &value("index")?,
        &value("name")?,
        &value("pci.bus_id")?,
        &with(value("temperature.gpu")?, "C"),
        &value("pstate")?,
        &with(watts.split('.').next().unwrap_or(&watts).to_owned(), "W"),
        &format!("{} / {:>6}", value("memory.used")?, value("memory.total")?),
        &with(value("utilization.gpu")?, "%"),
    ]))
}

fn with(value: String, unit: &str) -> String {
    if value == "N/A" { value } else { value + unit }
}

fn process_lines(cards: &[Reader<'_>]) -> Vec<String> {
    let title = process_columns(["GPU", "PID", "Type", "Process name", "Memory (MiB)"]);
    let mut lines = vec!["Processes:".to_owned(), title];
    for card in cards {
        let processes = card.scenario().processes_at(card.place(), card.at);
        lines.extend(processes.map(|process| process_line(card, process)));
    }
    lines
}

fn process_columns([gpu, pid, kinds, name, memory]: [&str; 5]) -> String {
    format!("{gpu:>3}  {pid:>10}  {kinds:>4}  {name:<48.48} {memory:>15}")
}

fn process_line(card: &Reader<'_>, process: &Process) -> String {
    let kinds: String = process.kinds.iter().map(|kind| letter(*kind)).collect();
    let memory = apps::memory(card, process).map_or("N/A".into(), |mib| mib.to_string());
    process_columns([
        &card.card.index.to_string(),
        &process.pid.to_string(),
        &kinds,
        &apps::name(process),
        &memory,
    ])
}

fn letter(kind: Kind) -> char {
    match kind {
        Kind::Compute => 'C',
        Kind::Graphics => 'G',
        Kind::Mps => 'M',
    }
}
