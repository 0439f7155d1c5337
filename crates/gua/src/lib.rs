//! `gua` tells the people who share GPUs which cards work, which are held without
//! being used, which are free, and by whom.
//!
//! # Layout
//!
//! What was typed becomes what is meant once, in [`cli`] and [`config`]; what comes from
//! outside is made fit to be shown in [`mod@safe`], quantities are put in few characters in
//! [`quantity`] and moments into a [`calendar`], sentences are put in lines in [`wrap`], [`mod@env`] is
//! the environment, [`terminal`] says how large a screen is, and names like a wrong one are found in
//! [`mod@near`]; all may use them. Then the data flows in one direction, and a
//! module imports only from those above it:
//!
//! | module | what it does |
//! |---|---|
//! | [`interval`] | when to look again |
//! | [`shared_folder`] | a folder in which users leave files for each other |
//! | [`context`] | what a command uses of its surroundings: streams, environment, clock, cards |
//! | [`failure`] | why a command could not do its work, in words and as an exit code |
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
//! | [`doctor`] | checks whether this host is ready |
//! | [`commands`] | one file or folder a command, wiring only |
//! | [`mod@gpu_tracker`] | the second program, gpu_tracker's command line |

// It panics when nobody reads stderr any more; `Context::say` does not.
#![deny(clippy::print_stderr)]

pub mod calendar;
pub mod cli;
pub mod commands;
pub mod config;
pub mod context;
pub mod demo;
pub mod destination;
pub mod doctor;
pub mod env;
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
pub mod terminal;
pub mod tui;
pub mod web;
pub mod wrap;

use std::io::{self, BufWriter};
use std::process::ExitCode;

use context::Context;

/// Runs the program on the arguments of this process.
#[must_use]
pub fn run() -> ExitCode {
    let (mut out, mut err) = (BufWriter::new(io::stdout()), io::stderr());
    let mut context = Context::of_process(&mut out, &mut err);
    let code = commands::run(std::env::args_os(), &mut context);
    if probe::nvml::is_left_in_the_loader() {
        // The ordinary way out would wait for the loader for ever.
        probe::nvml::exit_at_once(code);
    }
    ExitCode::from(code)
}
