//! `gua policy check`: which rule is for whom now, and what comes next?

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use gua_core::{Poll, Reason};
use gua_store::{Database, Problem, StoreError};
use probe::nvml::{Prober, Wants};
use probe::poller::Poller;
use probe::proc::Host;
use rustix::process::geteuid;

use super::{here, show};
use crate::cli::PolicyCheck;
use crate::commands::history;
use crate::config::{self, Machine, Settings};
use crate::failure::Failure;
use crate::policy::input::{LiveFacts, Look};
use crate::policy::{Engine, SnoozePlace, Switch, read_engine};
use crate::recorder::boot_id;
use crate::render::policy::check as render;
use crate::report::policy::check::{Around, check};
use crate::talk::say;

/// Interval of a poller that polls once: everything is read at the first poll.
const ONE_POLL: Duration = Duration::from_secs(5);

pub(super) fn run(
    machine: &Machine,
    settings: &Settings,
    typed: &PolicyCheck,
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
    let host = Host::new(machine.host_root.clone()).with_who(true);
    let snoozes = SnoozePlace { folder: config::snoozes(), keeper: keeper(&path) };
    let mut facts = LiveFacts::new(host.root().to_owned(), snoozes).for_one_look();
    let poll = poll(machine, host)?;
    let is_on = Switch::of(&path).is_on();
    let policy = &config.policy;
    let Look { step, unread_snoozes } =
        Look::new(&poll, &mut facts, policy, &config.thresholds.into(), is_on);
    if let Some(error) = unread_snoozes {
        say(format!("snoozes cannot be read, so no process is touched: {error}"));
    }
    let standings = Engine::look(&engine, policy, &step);
    let around = Around { at: step.covers.to, is_on, watched_at: engine.saved().last };
    let answer = check(policy, &step.holdings, &standings, around);
    show(&answer, typed.json, &typed.color, here(), |view| render::lines(&answer, view))
}

/// Polls the driver once.
fn poll(machine: &Machine, host: Host) -> Result<Poll, Failure> {
    let prober = Prober::open(machine.probe_options(Wants::ESSENTIALS))?;
    let poll = Poller::new(prober, host, ONE_POLL).first_poll();
    match poll.cards {
        Err(reason) => Err(unread_driver(reason)),
        Ok(_) => Ok(poll),
    }
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
