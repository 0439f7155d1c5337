//! `gua policy log`: what have the rules done?

use gua_store::Database;

use super::show;
use super::simulate::window;
use crate::cli::PolicyLog;
use crate::commands::history;
use crate::config::Files;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::policy::log as render;
use crate::report::policy::log::log;

/// Days before now if no time is given.
const DAYS: u64 = 7;

pub(super) fn run(
    files: &Files,
    typed: &PolicyLog,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    // The log must be readable while the config is broken.
    let (settings, errors) = files.what_can_be_used();
    if let Some(error) = errors.first() {
        context.say(error);
    }
    let window = window(&typed.window, DAYS, context.now())?;
    let path = history::path(typed.db.as_deref(), &settings.settled())?;
    let answer = log(window, Database::open(&path)?.policy_log(window)?);
    let zone = typed.window.tz.zone.clone();
    show(&answer, typed.json, &typed.color, zone, context, |view| render::lines(&answer, view))
}
