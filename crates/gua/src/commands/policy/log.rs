//! `gua policy log`: what have the rules done?

use super::show;
use super::simulate::window;
use crate::cli::PolicyLog;
use crate::commands::history;
use crate::config::Files;
use crate::failure::Failure;
use crate::render::policy::log as render;
use crate::report::policy::log::log;
use crate::store::History;
use crate::talk::say;

/// How far back it looks that does not say.
const DAYS: u64 = 7;

pub(super) fn run(files: &Files, typed: &PolicyLog) -> Result<u8, Failure> {
    // Also where the config is broken: the log tells what came of that.
    let (settings, errors) = files.what_can_be_used();
    if let Some(error) = errors.first() {
        say(error.to_string());
    }
    let window = window(&typed.window, DAYS)?;
    let path = history::path(typed.db.as_deref(), &settings.settled())?;
    let deeds = History::open(&path).and_then(|history| history.deeds(window));
    let answer = log(window, deeds.map_err(|error| error.failure(&path))?);
    let zone = typed.window.tz.clone();
    show(&answer, typed.json, &typed.color, zone, |view| render::lines(&answer, view))
}
