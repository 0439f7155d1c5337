//! One file a command: wiring only.

mod db;
mod doctor;
mod stat;

use std::io::{self, Write};

use crate::cli::{Command, Gua};
use crate::config::Machine;
use crate::failure::Failure;

/// Runs what was typed; gives the exit code.
///
/// # Errors
/// When the command cannot do its work; the failure knows its exit code.
pub fn run(typed: Gua) -> Result<u8, Failure> {
    let Gua { machine, command } = typed;
    match command {
        Command::Db { command } => db::run(&command),
        Command::Doctor(typed) => doctor::run(&Machine::try_from(machine)?, &typed),
        Command::Stat(typed) => stat::run(&Machine::try_from(machine)?, &typed),
        Command::Version => version(),
    }
}

fn version() -> Result<u8, Failure> {
    writeln!(io::stdout(), "gua {}", env!("CARGO_PKG_VERSION"))?;
    Ok(0)
}
