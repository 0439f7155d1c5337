//! `gua serve`: answer from the history, read-only.

use std::sync::Arc;

use gua_fleet::RecordedFrames;
use gua_store::{Database, Problem};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::history;
use super::listener::Listener;
use super::served::RecordAnswers;
use crate::cli;
use crate::config::{self, Config, Listen};
use crate::context::Context;
use crate::failure::Failure;

pub(super) fn run(
    config: &Config,
    typed: &cli::Serve,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let listen = Listen::new(&typed.listen, &typed.protection)?;
    let path = history::path(typed.db.as_deref(), config)?;
    // A mistake is reported now, not with the first request.
    match Database::open(&path) {
        Err(error) if !matches!(error.problem, Problem::PythonGua) => return Err(error.into()),
        Ok(_) | Err(_) => {}
    }
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let listener = Listener::take(listen)?;
    let frames = Arc::new(RecordedFrames::new(path.clone()));
    let hostname = probe::proc::Host::new(None).name();
    let answers = Arc::new(RecordAnswers::of_another(
        path.clone(),
        config.clone(),
        config::home(&context.env).map(|home| home.join("gua.pid")),
    ));
    let words = listener.start(frames, answers, hostname)?;
    context.say(format_args!("{words}, from {}; Ctrl-C ends it", path.display()));
    signals.forever().next();
    Ok(0)
}
