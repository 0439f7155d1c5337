//! `gua` tells the people who share GPUs which cards work, which are held without
//! being used, which are free, and by whom.
//!
//! # Layout
//!
//! What was typed becomes what is meant once, in [`cli`] and [`config`]; what comes from
//! outside is made fit to be shown in [`mod@safe`], quantities are put in few characters in
//! [`quantity`] and moments into a [`calendar`], sentences are put in lines in [`wrap`] for what
//! [`terminal`] says of the screen, what is said besides the data goes through [`talk`], and names
//! like a wrong one are found in [`mod@near`]; all may use them. Then the data flows in one direction, and a
//! module imports only from those above it:
//!
//! | module | what it does |
//! |---|---|
//! | [`interval`] | when to look again |
//! | [`failure`] | why a command could not do its work, in words and as an exit code |
//! | [`shared_folder`] | a folder in which users leave files for each other |
//! | [`destination`] | a file that is written at the end, checked at the beginning |
//! | [`line_file`] | a file that lines are added to, and that makes room when it is full |
//! | [`following`] | follows a command to its end, signals and all |
//! | [`process_handle`] | a handle on one process, so that a signal reaches no other |
//! | [`reservation`] | cards that somebody was given and does not hold yet |
//! | [`simulated`] | snapshots of a scenario, without a library |
//! | [`policy`] | rules for cards that are held idle: notice first, end last |
//! | [`demo`] | makes a history of a machine that does not exist |
//! | [`report`] | one file or folder a question, plain structs as answers (pure) |
//! | [`render`] | answers as text, JSON, CSV, Markdown, a page or a picture (pure) |
//! | [`tui`] | the live view: a state made of looks and keys, drawn on a screen of any size |
//! | [`web`] | what listens: the page, its interface, metrics; async lives only here |
//! | [`checkup`] | gathers what `gua doctor` reports |
//! | [`commands`] | one file or folder a command, wiring only |
//! | [`mod@gpu_tracker`] | the second program, gpu_tracker's command line |

// It panics when nobody reads stderr any more; `talk` does not.
#![deny(clippy::print_stderr)]

pub mod calendar;
pub mod checkup;
pub mod cli;
pub mod commands;
pub mod config;
pub mod demo;
pub mod destination;
pub mod failure;
pub mod following;
pub mod gpu_tracker;
pub mod interval;
pub mod line_file;
pub mod near;
pub mod policy;
pub mod process_handle;
pub mod quantity;
pub mod render;
pub mod report;
pub mod reservation;
pub mod safe;
pub mod shared_folder;
pub mod simulated;
pub mod talk;
pub mod terminal;
pub mod tui;
pub mod web;
pub mod wrap;

use std::process::ExitCode;

use clap::Parser;

/// Runs the program on the arguments of this process.
#[must_use]
pub fn run() -> ExitCode {
    let args = cli::with_habits(std::env::args_os());
    let done = if cli::is_without_its_command(&args) {
        Err(no_command())
    } else {
        commands::run(cli::Gua::parse_from(args))
    };
    let code = done.unwrap_or_else(|failure| failure.report());
    if probe::nvml::is_left_in_the_loader() {
        // The ordinary way out would wait for the loader for ever.
        probe::nvml::exit_at_once(code);
    }
    ExitCode::from(code)
}

fn no_command() -> failure::Failure {
    failure::Failure::Usage {
        what: "there is no command after `--`".to_owned(),
        next: "Name the command to run on the cards, or leave `--` out.".to_owned(),
    }
}
