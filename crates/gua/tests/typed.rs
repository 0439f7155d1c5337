//! What is typed: words that make no sense, and where help has an option.

use crate::machine::{program, run};

/// Regression: what came after a group of options stood below its heading.
#[test]
fn every_option_stands_below_its_own_heading() {
    let heading = |command: &[&str], option: &str| {
        let help = run(program(&[command, &["--help"]].concat())).stdout;
        let is_heading = |line: &&str| line.ends_with(':') && !line.starts_with(' ');
        let lines: Vec<&str> = help.lines().collect();
        let names = |line: &str| line.split([' ', ',']).any(|word| word == option);
        let place = lines.iter().position(|line| line.starts_with("  ") && names(line));
        let place = place.unwrap_or_else(|| panic!("no {option} in {help}"));
        lines[..place].iter().rev().copied().find(|line| is_heading(line)).unwrap().to_owned()
    };
    for (command, option, expected) in [
        (&["report"][..], "--since", "Which time:"),
        (&["report"], "--by", "Whose it was, and what it cost:"),
        (&["report"], "--prometheus", "Many hosts:"),
        (&["report"], "--format", "Options:"),
        (&["report"], "--width", "Options:"),
        (&["report"], "--db", "Options:"),
        (&["demo"], "--json", "Options:"),
        (&["who"], "--color", "Options:"),
        (&["fleet"], "--json", "Options:"),
        (&["policy", "simulate"], "--db", "Options:"),
        (&["policy", "log"], "--json", "Options:"),
        (&["daemon"], "--token-file", "Who may read it:"),
    ] {
        assert_eq!(heading(command, option), expected, "{command:?} {option}");
    }
}
