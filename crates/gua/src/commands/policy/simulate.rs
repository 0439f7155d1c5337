//! `gua policy simulate`: the history through the rules.

use std::cell::RefCell;
use std::collections::HashMap;

use gua_core::Period;
use gua_core::units::UnixMillis;
use jiff::Timestamp;
use probe::proc::Host;

use super::show;
use crate::cli::PolicySimulate;
use crate::commands::history;
use crate::config::{Machine, Settings, Window};
use crate::context::Context;
use crate::failure::Failure;
use crate::policy::input::StoredInput;
use crate::policy::{Groups, Simulation};
use crate::render::policy::simulate as render;
use crate::report::policy::simulate::simulated;

/// Days before now if no time is given.
const DAYS: u64 = 14;

pub(super) fn run(
    machine: &Machine,
    settings: &Settings,
    typed: &PolicySimulate,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let config = settings.settled();
    let window = window(&typed.window, DAYS, context.now())?;
    let path = history::path(typed.db.as_deref(), &config)?;
    let database = history::open_record(&path, window, None)?;
    let host = Host::new(machine.host_root.clone());
    let known: RefCell<HashMap<String, Groups>> = RefCell::default();
    let groups = |name: &str| {
        let find = || probe::proc::groups(host.root(), name);
        known.borrow_mut().entry(name.to_owned()).or_insert_with(find).clone()
    };
    let policy = &config.policy;
    let mut simulation = Simulation::new(policy);
    let input = StoredInput::new(&database, window, policy)?;
    let basis = input.replay(&database, &groups, |step| simulation.step(step))?;
    let answer = simulated(policy, window, &simulation, basis);
    let zone = typed.window.tz.zone.clone();
    show(&answer, typed.json, &typed.color, zone, context, |view| render::lines(&answer, view))
}

/// Returns the window that was typed, else so many days before now.
pub(super) fn window(
    typed: &crate::cli::Window,
    days: u64,
    now: Timestamp,
) -> Result<Period, Failure> {
    let usual = std::time::Duration::from_secs(days * 86_400);
    let window = Window::since(typed, now, usual)?;
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    Ok(Period::new(moment(window.from), moment(window.until)))
}
