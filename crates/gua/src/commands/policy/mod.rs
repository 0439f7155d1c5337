//! `gua policy`: rules for cards that are held idle.

mod check;
mod log;
mod rules;
mod simulate;
mod snooze;
mod switch;
mod trust;

pub(super) use rules::runner;
pub(super) use trust::check as check_rules;

use serde::Serialize;

use crate::cli::{self, Color, Policy, Zone};
use crate::config::{Files, Machine, Settings};
use crate::context::Context;
use crate::failure::Failure;
use crate::render::json;
use crate::render::paint::Paint;
use crate::render::policy::View;

pub(super) fn run(
    machine: cli::Machine,
    files: &Files,
    typed: &Policy,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    match typed {
        Policy::Check(typed) => {
            check::run(&Machine::try_from(machine)?, &settings(files)?, typed, context)
        }
        Policy::Simulate(typed) => {
            simulate::run(&Machine::try_from(machine)?, &settings(files)?, typed, context)
        }
        Policy::Log(typed) => log::run(files, typed, context),
        Policy::Snooze(typed) => snooze::run(files, typed, context),
        // Also where the config is broken: just then somebody may want it.
        Policy::Off(typed) => switch::off(files, typed, context),
        Policy::On(typed) => switch::on(files, typed, context),
    }
}

fn settings(files: &Files) -> Result<Settings, Failure> {
    let settings = files.settings()?;
    settings.check_ways()?;
    Ok(settings)
}

/// As JSON or as lines.
fn show(
    answer: &impl Serialize,
    is_json: bool,
    color: &Color,
    zone: Zone,
    context: &mut Context<'_>,
    lines: impl FnOnce(&View) -> Vec<String>,
) -> Result<u8, Failure> {
    if is_json {
        json::pretty(&mut context.out, answer)?;
    } else {
        let screen = context.screen(color);
        let paint = Paint(screen.color);
        let view = View { paint, width: screen.columns, zone };
        for line in lines(&view) {
            writeln!(context.out, "{line}")?;
        }
    }
    context.out.flush()?;
    Ok(0)
}
