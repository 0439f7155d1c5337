//! `gua who` on pretend machines, with and without a history.

/// What it says when something is not known, and how it fails.
mod doubt;
/// Who is behind a holder.
mod identity;
/// Since when, from a history.
mod since;
/// How it reads, and the options that choose.
mod view;

use serde_json::Value;

use crate::machine::{Machine, run};

/// The answer as JSON.
pub(super) fn json(machine: &Machine, args: &[&str]) -> Value {
    let run = machine.gua(&[&["who", "--json"], args].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

/// The users of the holders that are shown, in their order.
pub(super) fn users(who: &Value) -> Vec<&str> {
    let holders = who["holders"].as_array().unwrap();
    holders.iter().map(|holder| holder["user"].as_str().unwrap_or("?")).collect()
}

/// The text at a width, which must be kept to.
pub(super) fn text(machine: &Machine, args: &[&str], columns: &str) -> String {
    let mut command = machine.command(&[&["who"], args].concat());
    command.env("COLUMNS", columns);
    let run = run(command);
    assert_eq!(run.code, Some(0), "{run:?}");
    run.stdout
}
