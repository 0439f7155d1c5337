//! How it gives the terminal back, whatever ends it.

use std::fs;

use nvidia_ml::skip::skipped;
use rustix::process::{Pid, Signal, kill_process};

use super::terminal::Terminal;
use crate::machine::Machine;

const GUA: &str = env!("CARGO_BIN_EXE_gua");

/// No other screen, a cursor, no mouse.
const THE_SHELLS: [bool; 3] = [false, true, false];
const OURS: [bool; 3] = [true, false, true];

/// Runs a command between two looks at the terminal's settings, and tells its exit code.
fn type_between(terminal: &Terminal, command: &str) {
    let (before, after) = (terminal.file("before"), terminal.file("after"));
    terminal.type_line(&format!(
        "stty -a >{}; {command}; echo $? >{}; stty -a >{}",
        before.display(),
        terminal.file("code").display(),
        after.display()
    ));
}

fn assert_restored(terminal: &Terminal, code: &str) {
    let after = terminal.wait_for_file("after");
    assert_eq!(terminal.wait_for_file("code").trim(), code);
    assert_eq!(fs::read_to_string(terminal.file("before")).unwrap(), after);
    // tmux may not have read all of it yet.
    terminal.wait_for("the shell's modes", |_| terminal.modes() == THE_SHELLS);
}

fn begun(machine: &Machine) -> Option<Terminal> {
    let terminal = Terminal::new(90, 24, &machine.command(&[]))?;
    let pid = terminal.file("pid");
    let command = format!("sh -c 'echo $$ >{}; exec {GUA} top'", pid.display());
    type_between(&terminal, &command);
    terminal.wait_for("cards", |screen| screen.contains("6 cards:"));
    assert_eq!(terminal.modes(), OURS);
    Some(terminal)
}

#[test]
fn after_each_key_that_ends_it() {
    let machine = Machine::bundled("lab.toml");
    for key in ["q", "C-c"] {
        let Some(terminal) = begun(&machine) else {
            return skipped("after_each_key_that_ends_it", "there is no tmux");
        };
        terminal.press(&[key]);
        assert_restored(&terminal, "0");
    }
}

#[test]
fn after_each_signal_that_ends_it() {
    let machine = Machine::bundled("lab.toml");
    for (signal, code) in [(Signal::TERM, "143"), (Signal::HUP, "129")] {
        let Some(terminal) = begun(&machine) else {
            return skipped("after_each_signal_that_ends_it", "there is no tmux");
        };
        let pid = terminal.wait_for_file("pid").trim().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        assert_restored(&terminal, code);
    }
}

/// To the shell with Ctrl-Z and back with `fg`.
#[test]
fn while_it_is_stopped() {
    let machine = Machine::bundled("lab.toml");
    let Some(terminal) = Terminal::new(90, 24, &machine.command(&[])) else {
        return skipped("while_it_is_stopped", "there is no tmux");
    };
    terminal.type_line(&format!("{GUA} top"));
    terminal.wait_for("cards", |screen| screen.contains("6 cards:"));
    terminal.press(&["C-z"]);
    terminal.wait_for("the shell", |screen| screen.contains("Stopped"));
    assert_eq!(terminal.modes(), THE_SHELLS);
    let settings = terminal.file("settings");
    terminal.type_line(&format!("stty -a >{}", settings.display()));
    assert!(terminal.wait_for_file("settings").contains(" icanon"));
    terminal.type_line("fg");
    terminal.wait_for("cards again", |screen| screen.contains("6 cards:"));
    assert_eq!(terminal.modes(), OURS);
    terminal.press(&["q"]);
    terminal.wait_for("the shell's modes", |_| terminal.modes() == THE_SHELLS);
}

/// This very test again, on a terminal of its own, falls over there.
#[test]
fn after_a_panic_which_is_told() {
    const INSIDE: &str = "GUA_TEST_FALLS_OVER";
    if std::env::var_os(INSIDE).is_some() {
        let _screen = gua::tui::Screen::enter().unwrap();
        panic!("fallen over on purpose");
    }
    let machine = Machine::bundled("lab.toml");
    let Some(terminal) = Terminal::new(90, 24, &machine.command(&[])) else {
        return skipped("after_a_panic_which_is_told", "there is no tmux");
    };
    let this = std::env::current_exe().unwrap();
    let name = "top::restored::after_a_panic_which_is_told";
    let again =
        format!("{INSIDE}=1 RUST_BACKTRACE=0 {} --exact {name} --nocapture", this.display());
    type_between(&terminal, &again);
    assert_restored(&terminal, "101");
    let screen = terminal.screen();
    assert!(screen.contains("fallen over on purpose"), "{screen}");
}
