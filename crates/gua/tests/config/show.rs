//! What is in force, and where it came from.

use std::fs;

use super::{told, with, write_user};
use crate::machine::{Machine, run};

const SYSTEM: &str = r#"
[recorder]
interval = "5s"
[cost]
price = 2.50
models = { "A100" = 3.2, "H100" = 5.9 }
"#;

const USER: &str = r#"
# Tabs, dots and inline tables are TOML too.
recorder.interval = "250ms"
thresholds = { active_percent = 12.5, held_mb = 0x80 }

[cost.models]
	"a100" = 4
"RTX \"Ada\"" = 0.9
"#;

#[test]
fn without_a_file_the_defaults_are_in_force() {
    let machine = Machine::bundled("lab.toml");
    insta::assert_snapshot!(told(&machine, &machine.gua(&["config", "show"])));
}

#[test]
fn the_users_value_wins_key_by_key() {
    let machine = with(SYSTEM, USER);
    insta::assert_snapshot!(told(&machine, &machine.gua(&["config", "show"])));
}

#[test]
fn json_has_the_same_with_units() {
    let machine = with(SYSTEM, USER);
    insta::assert_snapshot!(told(&machine, &machine.gua(&["config", "show", "--json"])));
}

#[test]
fn options_win_over_both_files() {
    let machine = with("[retention]\nhours = \"10d\"\n", "[retention]\nsamples = \"5d\"\n");
    let options = ["--db", "/tmp/x.db", "--keep-hours", "1d", "--interval", "1s"];
    let shown = machine.gua(&[["config", "show"].as_slice(), &options].concat());
    insta::assert_snapshot!(told(&machine, &shown));
    let shown = machine.gua(&["config", "show", "--keep-samples", "1s"]);
    let line = "samples = \"1s\"    # flag --keep-samples";
    assert!(shown.stdout.contains(line), "{}", shown.stdout);
}

#[test]
fn the_home_of_gua_moves_file_and_database() {
    let machine = Machine::bundled("lab.toml");
    let home = machine.dir().join("other");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("config.toml"), "[recorder]\ninterval = \"1s\"\n").unwrap();
    let mut command = machine.command(&["config", "show"]);
    command.env("GUA_HOME", &home);
    let shown = told(&machine, &run(command));
    assert!(shown.contains("path = \"[DIR]/other/gua.db\"  # environment GUA_HOME"), "{shown}");
    assert!(shown.contains("interval = \"1s\"  # user [DIR]/other/config.toml:2"), "{shown}");
}

#[test]
fn a_named_file_stands_for_the_users() {
    let machine = with(SYSTEM, USER);
    let named = machine.dir().join("named.toml");
    fs::write(&named, "[thresholds]\nheld_mb = 1\n").unwrap();
    let named = named.to_str().unwrap();
    let shown = machine.gua(&["config", "show", "--config", named]).stdout;
    assert!(shown.contains("named.toml:2\n"), "{shown}");
    assert!(shown.contains("interval = \"5s\""), "the system's still counts: {shown}");
    assert!(!shown.contains(".gua/config.toml"), "{shown}");
    let mut by_variable = machine.command(&["config", "show"]);
    by_variable.env("GUA_CONFIG", named);
    assert_eq!(run(by_variable).stdout, shown);
    let mut of_nothing = machine.command(&["config", "show"]);
    of_nothing.env("GUA_CONFIG", "");
    assert!(run(of_nothing).stdout.contains(".gua/config.toml:3\n"));
}

#[test]
fn a_named_file_must_be_there_and_others_need_not() {
    let machine = Machine::bundled("lab.toml");
    let refused = machine.gua(&["stat", "--config", "/nowhere/config.toml"]);
    insta::assert_snapshot!(told(&machine, &refused), @"
    gua: there is no config file /nowhere/config.toml
         Name another one with --config FILE or GUA_CONFIG, or none.
    [Some(2)]
    ");
    assert_eq!(machine.gua(&["stat", "--config", "/dev/null"]).code, Some(0));
    assert_eq!(machine.gua(&["stat"]).code, Some(0));
}

#[test]
fn a_user_without_a_home_has_the_systems_settings() {
    let machine = with(SYSTEM, "");
    let mut command = machine.command(&["config", "show"]);
    command.env_remove("HOME");
    let shown = told(&machine, &run(command));
    assert!(shown.starts_with("# system: [DIR]/etc-gua-config.toml\n\n[database]\n"), "{shown}");
    assert!(shown.contains("# path is not set  # default\n"), "{shown}");
}

#[test]
fn a_tilde_is_the_home_of_who_asks() {
    let machine = with("[database]\npath = \"~/history.db\"\n", "");
    let shown = told(&machine, &machine.gua(&["config", "show"]));
    assert!(shown.contains("path = \"[DIR]/home/history.db\""), "{shown}");
    let mut command = machine.command(&["config", "show"]);
    command.env_remove("HOME");
    assert_eq!(run(command).code, Some(2), "nobody knows where that is");
    write_user(&machine, "");
    assert_eq!(machine.gua(&["config", "show"]).code, Some(0));
}
