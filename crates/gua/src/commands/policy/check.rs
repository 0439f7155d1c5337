//! `gua policy check`: which rule is for whom now, and what comes next?

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use gua_core::Reason;
use gua_store::{Database, Problem, StoreError};
use probe::proc::Host;
use rustix::process::geteuid;

use super::show;
use crate::cli::PolicyCheck;
use crate::commands::history;
use crate::config::{self, Machine, Settings};
use crate::context::Context;
use crate::failure::Failure;
use crate::policy::input::{LiveFacts, Look, poll_once};
use crate::policy::{Engine, SnoozePlace, Switch, read_engine};
use crate::render::policy::check as render;
use crate::report::policy::check::{Around, check};
use gua_recorder::boot_id;

pub(super) fn run(
    machine: &Machine,
    settings: &Settings,
    typed: &PolicyCheck,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let config = settings.settled();
    let path = history::path(typed.db.as_deref(), &config)?;
    let engine = match Database::open(&path).and_then(|it| read_engine(&it, &boot_id())) {
        Ok(engine) => engine,
        // Without a record nobody has an idle count yet.
        Err(StoreError { problem: Problem::Missing, .. }) if typed.db.is_none() => {
            Engine::default()
        }
        Err(error) => return Err(error.into()),
    };
    let root = Host::new(machine.host_root.clone()).root().to_owned();
    let snoozes = SnoozePlace { folder: config::snoozes(&context.env), keeper: keeper(&path) };
    let mut facts = LiveFacts::new(root, snoozes).for_one_look();
    let poll = poll_once(machine)?;
    if let Err(reason) = poll.cards {
        return Err(unread_driver(reason));
    }
    let is_on = Switch::of(&path).is_on();
    let policy = &config.policy;
    let Look { step, unread_snoozes } =
        Look::new(&poll, &mut facts, policy, &config.thresholds.into(), is_on);
    if let Some(error) = unread_snoozes {
        context.say(format!("snoozes cannot be read, so no process is touched: {error}"));
    }
    let standings = Engine::look(&engine, policy, &step);
    let around = Around { at: step.covers.to, is_on, watched_at: engine.saved().last };
    let answer = check(policy, &step.holdings, &standings, around);
    let zone = typed.tz.zone.clone();
    show(&answer, typed.json, &typed.color, zone, context, |view| render::lines(&answer, view))
}

fn unread_driver(reason: Reason) -> Failure {
    Failure::CannotTell {
        what: format!("the driver cannot be read: {reason}"),
        next: "`gua doctor` checks each step.".to_owned(),
    }
}

/// Returns the user of the recorder, who owns the database.
fn keeper(database: &Path) -> u32 {
    std::fs::metadata(database).map_or_else(|_| geteuid().as_raw(), |found| found.uid())
}
