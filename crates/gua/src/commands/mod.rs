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

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches};
use probe::proc::Host;

use crate::cli::{self, Color, Command, Gua, When};
use crate::config::{Files, Machine};
use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Columns of a help text, at most and where there is no terminal.
const HELP_COLUMNS: usize = 100;

/// Runs the program on its arguments. Failures are reported. Returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, context: &mut Context<'_>) -> u8 {
    let done = parse_and_run(cli::with_habits(args.into_iter()), context);
    done.unwrap_or_else(|failure| {
        // Data that was written before stands before the message. An error of it is this failure,
        // or not the first one.
        let _ = context.out.flush();
        failure.report(context)
    })
}

fn parse_and_run(args: Vec<OsString>, context: &mut Context<'_>) -> Result<u8, Failure> {
    if cli::is_without_its_command(&args) {
        return Err(no_command());
    }
    match parse(args, context) {
        Ok(typed) => run_command(typed.with_environment(&context.env), context),
        Err(error) => print_parse_error(&error, context),
    }
}

fn no_command() -> Failure {
    Failure::Usage {
        what: "there is no command after `--`".to_owned(),
        next: "Name the command to run on the cards, or leave `--` out.".to_owned(),
    }
}

fn parse(args: Vec<OsString>, context: &Context<'_>) -> Result<Gua, clap::Error> {
    let mut command = Gua::command();
    if context.stdout != Terminal::Stdout {
        // Else the parser finds out itself.
        let columns = context.columns().unwrap_or(HELP_COLUMNS).min(HELP_COLUMNS);
        command = command.term_width(columns);
    }
    let mut matches = command.try_get_matches_from_mut(args)?;
    Gua::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Prints why arguments were not understood, or the help that they ask for.
fn print_parse_error(error: &clap::Error, context: &mut Context<'_>) -> Result<u8, Failure> {
    let color = Color { color: When::Auto, no_color: false };
    let text = error.render();
    let text = |has_color| if has_color { text.ansi().to_string() } else { text.to_string() };
    if error.use_stderr() {
        let text = text(context.stderr_screen(&color).color);
        context.say_plainly(text);
    } else {
        let text = text(context.screen(&color).color);
        context.out.write_all(text.as_bytes())?;
        context.out.flush()?;
    }
    Ok(u8::try_from(error.exit_code()).unwrap_or(1))
}

fn run_command(typed: Gua, context: &mut Context<'_>) -> Result<u8, Failure> {
    let Gua { machine, files, command } = typed;
    let files = Files::new(&files, &context.env);
    // Read by who needs them: a mistake in a file stops nobody else.
    let config = || Ok::<_, Failure>(files.settings()?.settled());
    match command {
        Command::Config { command } => config::run(&files, &command, context),
        Command::Db { command } => db::run(files.settings()?, &command, context),
        Command::Demo(typed) => demo::run(&typed, context),
        Command::Doctor(typed) => {
            doctor::run(&Machine::try_from(machine)?, &files, &typed, context)
        }
        Command::Daemon(typed) => {
            daemon::run(&Machine::try_from(machine)?, &files, &typed, context)
        }
        Command::Status(typed) => status::run(&config()?, &typed, context),
        Command::Stop(typed) => stop::run(&files, &typed, context),
        Command::Query(typed) => query::run(&Machine::try_from(machine)?, &files, &typed, context),
        Command::Fleet(typed) => fleet::fleet(&typed, context),
        Command::Report(typed) => match &typed.engine.prometheus {
            Some(url) => fleet::report(&config()?, &typed, url, context),
            None => {
                let host = Host::new(machine.host_root.map(Into::into));
                report::run(&host, files.settings()?, &typed, context)
            }
        },
        Command::Serve(typed) => serve::run(&config()?, &typed, context),
        Command::Policy { command } => policy::run(machine, &files, &command, context),
        Command::Pick(typed) => {
            pick::run(&Machine::try_from(machine)?, &config()?, &typed, context)
        }
        Command::Stat(typed) => {
            stat::run(&Machine::try_from(machine)?, &config()?, &typed, context)
        }
        Command::Track(typed) => track::run(&Machine::try_from(machine)?, &typed, context),
        Command::Top(typed) => top::run(machine, &files, &typed, context),
        Command::Who(typed) => match &typed.engine.prometheus {
            Some(url) => fleet::who(&typed, url, context),
            None => who::run(&Machine::try_from(machine)?, &config()?, &typed, context),
        },
        Command::Version => version(context),
    }
}

fn version(context: &mut Context<'_>) -> Result<u8, Failure> {
    writeln!(context.out, "gua {}", env!("CARGO_PKG_VERSION"))?;
    context.out.flush()?;
    Ok(0)
}
