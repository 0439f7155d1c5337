//! What is typed: words that make no sense, and where help has an option.

use crate::machine::in_process_without_cards;

/// Regression: what came after a group of options stood below its heading.
#[test]
fn every_option_stands_below_its_own_heading() {
    let heading = |command: &[&str], option: &str| {
        let help = in_process_without_cards(&[command, &["--help"]].concat()).stdout;
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

/// Regression: "invalid digit found in string".
#[test]
fn a_word_that_makes_no_sense_is_answered_in_words() {
    let mut said = String::new();
    for args in [
        &["report", "--sort", "name"][..],
        &["pick", "-n", "abc"],
        &["policy", "snooze", "abc"],
        &["query", "-n", "0"],
        &["who", "--watch", "0"],
        &["daemon", "--interval", "0s"],
        &["report", "--since", "0s"],
        &["demo", "--days", "0"],
        &["track", "--cores", "x", "--", "true"],
        &["report", "--width", "9"],
        &["daemon", "--keep-spans", "4d"],
        &["db", "prune", "--keep-spans"],
    ] {
        let told = in_process_without_cards(args);
        assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{told:?}");
        said.push_str(told.stderr.lines().next().unwrap());
        said.push('\n');
    }
    insta::assert_snapshot!(said);
}

/// One code for one mistake: it was typed wrong, and nothing was done.
#[test]
fn a_file_in_a_folder_that_is_not_there_is_wrong_usage() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("gua.db");
    let db = db.to_str().unwrap();
    assert_eq!(in_process_without_cards(&["demo", "--db", db]).code, Some(0));
    for args in [
        &["report", "--db", db, "-o", "/nowhere/x"][..],
        &["db", "export", "--db", db, "-o", "/nowhere/x"],
        &["query", "--fields", "index", "-o", "/nowhere/x"],
        &["track", "-o", "/nowhere/x", "--", "true"],
    ] {
        let told = in_process_without_cards(args);
        assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{told:?}");
        assert!(told.stderr.contains("/nowhere/x"), "{told:?}");
    }
}
