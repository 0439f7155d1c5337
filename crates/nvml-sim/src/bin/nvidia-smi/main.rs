//! Answers as `nvidia-smi` would on the pretend machine.

mod apps;
mod fields;
mod options;
mod overview;
mod reader;
mod table;

use std::process::ExitCode;

use nvidia_ml::abi::Code;
use nvidia_ml::machine::{self, Machine};
use scenario::parse;

use crate::options::{Options, Shown};
use crate::table::Failure;

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{}", failure.says);
            ExitCode::from(failure.exit)
        }
    }
}

const HELP: &str = "\
NVIDIA System Management Interface, as it would answer on a pretend machine

nvidia-smi [OPTION]...

  -L, --list-gpus                 list the cards
  -i, --id=ID,...                 only these: index, UUID, serial number or bus id
      --query-gpu=FIELD,...       facts about cards
      --query-compute-apps=FIELD,...
                                  facts about compute processes
      --format=csv[,noheader][,nounits]
                                  how to print a query
  -h, --help                      print this

Without options it prints a table of cards and processes. It answers from the scenario
file that NVML_SIM_SCENARIO names.
";

fn run(options: &Options) -> Result<String, Failure> {
    if options.shown == Shown::Help {
        return Ok(HELP.to_owned());
    }
    let machine = start()?;
    let cards = reader::chosen(&machine, options.ids.as_deref())?;
    match &options.shown {
        Shown::Help | Shown::Overview => overview::full(&machine, &cards),
        Shown::List => overview::list(&cards),
        Shown::Gpus(names, format) => table::gpus(&cards, names, *format),
        Shown::Apps(names, format) => table::apps(&cards, names, *format),
    }
}

/// The machine that the environment names, once its `nvmlInit` lets this in.
fn start() -> Result<Machine, Failure> {
    let no_driver = || Failure::no_driver(Code::DRIVER_NOT_LOADED);
    let path = machine::scenario_path().ok_or_else(no_driver)?;
    let scenario = parse::from_file(&path).map_err(|refused| {
        eprintln!("nvml-sim: {refused}");
        no_driver()
    })?;
    let started = machine::start_from_env().unwrap_or_else(machine::unix_micros_now);
    let machine = Machine::new(scenario, started);
    match machine.admit("nvmlInit_v2", None) {
        Ok(_) => Ok(machine),
        Err(code) => Err(Failure::no_driver(code)),
    }
}
