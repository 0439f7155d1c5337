//! `gua policy check`: which rule is for whom now, and what comes next?

use std::os::unix::fs::MetadataExt;

use probe::nvml::Wants;
use rustix::process::geteuid;

use super::rules::settled;
use super::{here, show};
use crate::classify::Thresholds;
use crate::cli::PolicyCheck;
use crate::commands::history;
use crate::config::{self, Machine, Settings};
use crate::failure::Failure;
use crate::ledger::{Judge, Period};
use crate::policy::{Engine, Fed, Feed, SnoozePlace, Switch, engine_of};
use crate::recorder::boot_id;
use crate::render::policy::check as render;
use crate::report::policy::check::{Around, check};
use crate::sampler::Sampler;
use crate::store::{Deed, History, StoreError, Watched};
use crate::talk::say;

const WANTS: Wants = Wants { shares: true, ..Wants::ESSENTIALS };

pub(super) fn run(
    machine: &Machine,
    settings: &Settings,
    typed: &PolicyCheck,
) -> Result<u8, Failure> {
    let config = settings.settled();
    let path = history::path(typed.db.as_deref(), &config)?;
    let watched = match watched(&path) {
        Ok(watched) => watched,
        Err(StoreError::Missing) if typed.db.is_none() => (Watched::default(), Vec::new()),
        Err(error) => return Err(error.failure(&path)),
    };
    let watched_at = watched.0.at;
    let engine = engine_of(watched.0, &watched.1);
    let mut sampler = Sampler::open(machine, WANTS)?.with_who(true);
    let tick = sampler.first_tick();
    let thresholds = Thresholds::from(config.thresholds);
    let entry = Judge::new(thresholds).entry(&tick, Period::none_at(tick.at), None);
    let root = sampler.host().root().to_owned();
    let snoozes = SnoozePlace { folder: config::snoozes(), keeper: keeper(&path) };
    let mut feed = Feed::new(root, snoozes, thresholds).without_cpu();
    let is_on = Switch::of(&path).is_on();
    let Fed { step, unread_snoozes, .. } = feed.feed(&settled(&config), &tick, &entry, is_on);
    tick.driver?;
    if let Some(error) = unread_snoozes {
        say(format!("who is snoozed cannot be told, so nobody is touched: {error}"));
    }
    let standings = Engine::look(&engine, &config.policy, &step);
    let around = Around { at: entry.at, is_on, watched_at };
    let answer = check(&config.policy, &step.holdings, &standings, around);
    show(&answer, typed.json, &typed.color, here(), |view| render::lines(&answer, view))
}

/// The recorder's user: whose the history is.
fn keeper(database: &std::path::Path) -> u32 {
    std::fs::metadata(database).map_or_else(|_| geteuid().as_raw(), |found| found.uid())
}

fn watched(path: &std::path::Path) -> Result<(Watched, Vec<Deed>), StoreError> {
    let history = History::open(path)?;
    let watched = history.watched(&boot_id())?;
    let deeds = history.deeds_of_the_last_hour(watched.clock_millis)?;
    Ok((watched, deeds))
}
