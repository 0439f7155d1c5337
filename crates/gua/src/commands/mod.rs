//! One file a command: wiring only. What some of them answer can be had as values, too
//! ([`answers`]).

pub mod answers;
mod chosen;
mod daemon;
mod db;
mod demo;
mod doctor;
mod history;
mod pick;
mod query;
mod redraw;
mod report;
mod stat;
mod status;
mod stop;
mod top;
mod track;
mod who;

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
        Command::Demo(typed) => demo::run(&typed),
        Command::Doctor(typed) => doctor::run(&Machine::try_from(machine)?, &typed),
        Command::Daemon(typed) => daemon::run(&Machine::try_from(machine)?, &typed),
        Command::Status(typed) => status::run(&typed),
        Command::Stop(typed) => stop::run(&typed),
        Command::Query(typed) => query::run(&Machine::try_from(machine)?, &typed),
        Command::Report(typed) => report::run(&typed),
        Command::Pick(typed) => pick::run(&Machine::try_from(machine)?, &typed),
        Command::Stat(typed) => stat::run(&Machine::try_from(machine)?, &typed),
        Command::Track(typed) => track::run(&Machine::try_from(machine)?, &typed),
        Command::Top(typed) => top::run(machine, &typed),
        Command::Who(typed) => who::run(&Machine::try_from(machine)?, &typed),
        Command::Version => version(),
    }
}

fn version() -> Result<u8, Failure> {
    writeln!(io::stdout(), "gua {}", env!("CARGO_PKG_VERSION"))?;
    Ok(0)
}
