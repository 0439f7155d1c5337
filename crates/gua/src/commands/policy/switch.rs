//! `gua policy off` and `gua policy on`: one switch for all rules.

use std::io::{self, Write};

use crate::cli::PolicySwitch;
use crate::commands::history;
use crate::config::Files;
use crate::failure::Failure;
use crate::policy::Switch;
use crate::render::json;
use crate::report::policy::snooze::Switched;

pub(super) fn off(files: &Files, typed: &PolicySwitch) -> Result<u8, Failure> {
    let switch = switch(files, typed)?;
    let changed = switch.turn_off().map_err(|error| cannot(&switch, &error))?;
    let words = if changed {
        "no rule does anything any more; `gua policy on` lets them go on"
    } else {
        "the rules were off already; `gua policy on` lets them go on"
    };
    told(typed, &Switched { schema: SCHEMA, switched_off: true, changed }, words)
}

pub(super) fn on(files: &Files, typed: &PolicySwitch) -> Result<u8, Failure> {
    let switch = switch(files, typed)?;
    let changed = switch.turn_on().map_err(|error| cannot(&switch, &error))?;
    let words = if changed {
        "the rules go on; whoever is idle is told anew first"
    } else {
        "the rules were not switched off"
    };
    told(typed, &Switched { schema: SCHEMA, switched_off: false, changed }, words)
}

const SCHEMA: &str = "gua.policy_switch/1";

/// A config that cannot be used must not keep anybody from switching off.
fn switch(files: &Files, typed: &PolicySwitch) -> Result<Switch, Failure> {
    let (settings, _) = files.what_can_be_used();
    Ok(Switch::of(&history::path(typed.db.as_deref(), &settings.settled())?))
}

fn told(typed: &PolicySwitch, switched: &Switched, words: &str) -> Result<u8, Failure> {
    if typed.json {
        json::pretty(&mut io::stdout().lock(), switched)?;
    } else {
        writeln!(io::stdout(), "{words}")?;
    }
    Ok(0)
}

fn cannot(switch: &Switch, error: &io::Error) -> Failure {
    Failure::Failed {
        what: format!("cannot switch by {}: {error}", switch.path().display()),
        next: "Do it as the recorder's user or as root; --db names the recorder's history."
            .to_owned(),
    }
}
