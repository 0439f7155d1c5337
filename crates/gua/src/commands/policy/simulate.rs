//! `gua policy simulate`: the history through the rules.

use std::cell::RefCell;
use std::collections::HashMap;

use jiff::Timestamp;
use probe::proc::Host;
use probe::units::UnixMillis;

use super::show;
use crate::cli::PolicySimulate;
use crate::commands::history::{self, Detail};
use crate::config::{Machine, Settings, Window};
use crate::failure::Failure;
use crate::ledger::Period;
use crate::policy::{Groups, Replay, Simulation, replay_all};
use crate::render::policy::simulate as render;
use crate::report::policy::simulate::simulated;

/// How far back it looks that does not say.
const DAYS: u64 = 14;

pub(super) fn run(
    machine: &Machine,
    settings: &Settings,
    typed: &PolicySimulate,
) -> Result<u8, Failure> {
    let config = settings.settled();
    let window = window(&typed.window, DAYS)?;
    let path = history::path(typed.db.as_deref(), &config)?;
    let history = history::open(&path, window, Detail::Samples)?;
    let host = Host::new(machine.host_root.clone());
    let known: RefCell<HashMap<String, Groups>> = RefCell::default();
    let groups = |name: &str| {
        let find = || probe::proc::groups(host.root(), name);
        known.borrow_mut().entry(name.to_owned()).or_insert_with(find).clone()
    };
    let policy = &config.policy;
    let failed = |error: crate::store::StoreError| error.failure(&path);
    let replay = Replay::new(&history, window, policy, config.thresholds.worked, &groups);
    let mut simulation = Simulation::new(policy);
    let (mut observed, mut assumed) = (0, 0);
    replay_all(&history, window, replay.map_err(failed)?, |_, replayed| {
        observed += replayed.step.covers.millis();
        assumed += replayed.assumed_millis;
        simulation.step(replayed.step);
    })
    .map_err(failed)?;
    let answer = simulated(policy, window, &simulation, observed, assumed);
    let zone = typed.window.tz.clone();
    show(&answer, typed.json, &typed.color, zone, |view| render::lines(&answer, view))
}

/// What was typed, or so many days back from now.
pub(super) fn window(typed: &crate::cli::Window, days: u64) -> Result<Period, Failure> {
    let now = Timestamp::now();
    let usual = std::time::Duration::from_secs(days * 86_400);
    let window = Window::since(typed, now, usual)?;
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    Ok(Period::new(moment(window.from), moment(window.until)))
}
