//! `gua pick` on pretend machines.

/// Which cards are chosen, and why the others are not.
mod choice;
/// The command that is run on them.
mod command;
/// What it says when something is not known, and how it fails.
mod doubt;
/// Nobody else is given them meanwhile.
mod reserve;
/// It waits until there are enough.
mod wait;

use serde_json::Value;

use crate::machine::Machine;

/// So many free cards.
pub(super) fn free_cards(count: u32) -> String {
    let card = |index| format!("[[card]]\nuuid = \"GPU-0000000{index}\"\nutilization = 0\n");
    (0..count).map(card).collect()
}

/// The chosen cards, or the exit code and what was said.
pub(super) fn pick(machine: &Machine, args: &[&str]) -> Result<String, (Option<i32>, String)> {
    let run = machine.gua(&[&["pick"], args].concat());
    match run.code {
        Some(0) => Ok(run.stdout),
        code => {
            assert_eq!(run.stdout, "", "{run:?}");
            Err((code, run.stderr))
        }
    }
}

/// The answer as JSON, whatever the exit code.
pub(super) fn json(machine: &Machine, args: &[&str]) -> Value {
    let run = machine.gua(&[&["pick", "--json", "--no-reserve"], args].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
}

/// The indices of the chosen cards.
pub(super) fn chosen(pick: &Value) -> Vec<u64> {
    let cards = pick["cards"].as_array().unwrap().iter();
    cards
        .filter(|card| card["chosen"] == true)
        .map(|card| card["index"].as_u64().unwrap())
        .collect()
}
