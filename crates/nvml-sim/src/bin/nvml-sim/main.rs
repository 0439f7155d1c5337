//! Runs programs on a pretend GPU machine.

mod run;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use nvidia_ml::abi::layout;
use nvidia_ml::functions;
use nvidia_ml::install::{self, InstallError};
use scenario::Scenario;

/// A pretend GPU machine: NVML, nvidia-smi and /proc answered from a scenario file
///
/// A scenario is a TOML file that says which cards there are, what runs on them over
/// time and what goes wrong. Programs that read GPUs through NVML or nvidia-smi see that
/// machine, as the driver would show it. No GPU is needed.
#[derive(Parser)]
#[command(name = "nvml-sim", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program on the pretend machine
    ///
    /// The exit status is the program's; 128 + N when signal N ended it, 127 when it was
    /// not found, 2 when the scenario was refused.
    #[command(after_help = "Example: nvml-sim run lab.toml -- nvidia-smi -L")]
    Run {
        /// The scenario file; it may be changed while the program runs
        scenario: PathBuf,
        /// The program and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<std::ffi::OsString>,
    },
    /// Lay the library, nvidia-smi and a pretend root into a directory
    ///
    /// Prints the environment in which programs see the pretend machine, as lines for a
    /// shell.
    #[command(after_help = "Example: eval \"$(nvml-sim install /tmp/lab lab.toml)\"")]
    Install {
        /// Where to put them; made when missing
        dir: PathBuf,
        /// The scenario file; it may be changed while programs run
        scenario: PathBuf,
    },
    /// Say whether a scenario file is right, and what it describes
    Check {
        /// The scenario file
        scenario: PathBuf,
    },
    /// Print sizes, offsets and constants of the NVML interface this library was built with
    ///
    /// One line each: `STRUCT SIZE`, `STRUCT.FIELD OFFSET`, `CONSTANT VALUE`, by their
    /// names in NVIDIA's header.
    Abi,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("nvml-sim: {error}");
            match error {
                InstallError::Scenario(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn run(command: &Command) -> Result<ExitCode, InstallError> {
    match command {
        Command::Run { scenario, command } => return run::run(scenario, command),
        Command::Install { dir, scenario } => install_and_tell(dir, scenario)?,
        Command::Check { scenario } => {
            let meant = functions::scenario_from_file(scenario)?;
            println!("{}: {}", scenario.display(), summary(&meant));
        }
        Command::Abi => print!("{}", layout::lines()),
    }
    Ok(ExitCode::SUCCESS)
}

fn install_and_tell(dir: &Path, scenario: &Path) -> Result<(), InstallError> {
    for (name, value) in install::install(dir, scenario)?.envs() {
        let quoted = value.to_string_lossy().replace('\'', r"'\''");
        println!("export {name}='{quoted}'");
    }
    Ok(())
}

fn summary(scenario: &Scenario) -> String {
    let instances = scenario.cards.iter().flat_map(|card| &card.mig).map(|mig| mig.instances.len());
    format!(
        "{}, {}, {}, {}, driver {}",
        counted(scenario.cards.len(), "card", "cards"),
        counted(instances.sum(), "MIG instance", "MIG instances"),
        counted(scenario.processes.len(), "process", "processes"),
        counted(scenario.faults.len(), "fault", "faults"),
        scenario.driver.version
    )
}

fn counted(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
