//! `gua policy log`: what have the rules done?

use super::show;
use super::simulate::window;
use crate::cli::PolicyLog;
use crate::commands::history;
use crate::config::Config;
use crate::failure::Failure;
use crate::render::policy::log as render;
use crate::report::policy::log::log;
use crate::store::History;

/// How far back it looks that does not say.
const DAYS: u64 = 7;

pub(super) fn run(config: &Config, typed: &PolicyLog) -> Result<u8, Failure> {
    let window = window(&typed.window, DAYS)?;
    let path = history::path(typed.db.as_deref(), config)?;
    let deeds = History::open(&path).and_then(|history| history.deeds(window));
    let answer = log(window, deeds.map_err(|error| error.failure(&path))?);
    show(&answer, typed.json, &typed.color, |view| render::lines(&answer, view))
}
