//! One file a command: wiring only.

mod doctor;
mod stat;

use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::{Command, Gua};
use crate::config::Machine;
use crate::failure::Failure;

/// Runs what was typed.
///
/// # Errors
/// When the command cannot do its work; the failure knows its exit code.
pub fn run(typed: Gua) -> Result<ExitCode, Failure> {
    let machine = Machine::from(typed.machine);
    match typed.command {
        Command::Doctor(typed) => doctor::run(&machine, &typed),
        Command::Stat(typed) => stat::run(&machine, &typed),
        Command::Version => version(),
    }
}

fn version() -> Result<ExitCode, Failure> {
    writeln!(io::stdout(), "gua {}", env!("CARGO_PKG_VERSION"))?;
    Ok(ExitCode::SUCCESS)
}
