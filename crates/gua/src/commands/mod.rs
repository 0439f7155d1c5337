//! One file a command: wiring only. What some of them answer can be had as values, too
//! ([`answers`]).

mod already;
pub mod answers;
mod config;
mod daemon;
mod db;
mod demo;
mod doctor;
mod fleet;
mod history;
mod listener;
mod live;
mod pace;
mod pick;
mod places;
mod policy;
mod query;
mod record;
mod redraw;
mod remote_write;
mod report;
mod reserved;
mod schedule;
mod serve;
mod served;
mod stat;
mod status;
mod stop;
mod top;
mod track;
mod who;

use std::io::{self, Write};

use probe::proc::Host;

use crate::cli::{Command, Gua};
use crate::config::{Files, Machine};
use crate::failure::Failure;

/// Runs what was typed; gives the exit code.
///
/// # Errors
/// When the command cannot do its work; the failure knows its exit code.
pub fn run(typed: Gua) -> Result<u8, Failure> {
    let Gua { machine, files, command } = typed;
    let files = Files::new(&files);
    // Read by who needs them: a mistake in a file stops nobody else.
    let config = || Ok::<_, Failure>(files.settings()?.settled());
    match command {
        Command::Config { command } => config::run(&files, &command),
        Command::Db { command } => db::run(files.settings()?, &command),
        Command::Demo(typed) => demo::run(&typed),
        Command::Doctor(typed) => doctor::run(&Machine::try_from(machine)?, &files, &typed),
        Command::Daemon(typed) => daemon::run(&Machine::try_from(machine)?, &files, &typed),
        Command::Status(typed) => status::run(&config()?, &typed),
        Command::Stop(typed) => stop::run(&files, &typed),
        Command::Query(typed) => query::run(&Machine::try_from(machine)?, &files, &typed),
        Command::Fleet(typed) => fleet::fleet(&typed),
        Command::Report(typed) => match &typed.engine.prometheus {
            Some(url) => fleet::report(&config()?, &typed, url),
            None => {
                let host = Host::new(machine.host_root.map(Into::into));
                report::run(&host, files.settings()?, &typed)
            }
        },
        Command::Serve(typed) => serve::run(&config()?, &typed),
        Command::Policy { command } => policy::run(machine, &files, &command),
        Command::Pick(typed) => pick::run(&Machine::try_from(machine)?, &config()?, &typed),
        Command::Stat(typed) => stat::run(&Machine::try_from(machine)?, &config()?, &typed),
        Command::Track(typed) => track::run(&Machine::try_from(machine)?, &typed),
        Command::Top(typed) => top::run(machine, &files, &typed),
        Command::Who(typed) => match &typed.engine.prometheus {
            Some(url) => fleet::who(&typed, url),
            None => who::run(&Machine::try_from(machine)?, &config()?, &typed),
        },
        Command::Version => version(),
    }
}

fn version() -> Result<u8, Failure> {
    writeln!(io::stdout(), "gua {}", env!("CARGO_PKG_VERSION"))?;
    Ok(0)
}
