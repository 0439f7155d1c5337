//! The program `gpu-tracker`: the command line of gpu_tracker, the Python tool, with what it
//! measures taken from `track` and its formats from [`track::gpu_tracker`].
//!
//! | module | what it does |
//! |---|---|
//! | `cli` | what was typed |
//! | `settings` | the file of `--tconfig` |
//! | `meant` | what is meant, checked before anything starts |
//! | `refusal` | why nothing was done |
//! | `cards` | the cards that were named, held against the driver |
//! | `tracking` | runs a command and tells what it used |
//! | `report` | where the answer goes |
//! | `sub_track` | combines, analyzes, compares |

mod cards;
mod cli;
mod meant;
mod refusal;
mod report;
mod settings;
mod sub_track;
mod tracking;

use std::process::ExitCode;

use clap::Parser;

use self::cli::{Command, Typed};
use self::meant::Meant;
use self::refusal::Refusal;

/// Runs the program on the arguments of this process.
#[must_use]
pub fn run() -> ExitCode {
    let code = act(Typed::parse()).unwrap_or_else(|refusal| refusal.report());
    if probe::nvml::is_left_in_the_loader() {
        // The ordinary way out would wait for the loader for ever.
        probe::nvml::exit_at_once(code);
    }
    ExitCode::from(code)
}

fn act(typed: Typed) -> Result<u8, Refusal> {
    match typed.command {
        Some(Command::SubTrack(command)) => sub_track::run(command),
        None => tracking::run(&Meant::settle(typed.track)?),
    }
}
