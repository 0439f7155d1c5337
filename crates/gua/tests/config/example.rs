//! The example that comes with the project: it can never be out of date.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{told, write_user};
use crate::machine::{Machine, project};

fn example() -> String {
    fs::read_to_string(project().join("packaging/config.toml")).unwrap()
}

/// With every key that stands behind a `#` in force.
fn uncommented() -> String {
    let is_key = |line: &str| line.starts_with('#') && !line.starts_with("# ") && line.len() > 1;
    let line = |line: &str| (if is_key(line) { &line[1..] } else { line }).to_owned() + "\n";
    example().lines().map(line).collect()
}

fn settings(machine: &Machine) -> Value {
    let shown = machine.gua(&["config", "show", "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    serde_json::from_str::<Value>(&shown.stdout).unwrap()["settings"].clone()
}

/// Keys that have no default.
const WITHOUT: [&str; 10] = [
    "cost.price_per_gpu_hour",
    "cost.models",
    "cost.per_kwh",
    "notify.webhook",
    "notify.command",
    "remote_write.url",
    "remote_write.user",
    "remote_write.password_file",
    "remote_write.token_file",
    "remote_write.ca_file",
];

/// Names and values of all keys that have a default.
fn values(settings: &Value) -> BTreeSet<(String, String)> {
    let sections = settings.as_object().unwrap().iter();
    let keys = sections.flat_map(|(section, keys)| {
        let keys = keys.as_object().unwrap().iter();
        keys.map(move |(key, told)| (format!("{section}.{key}"), told["value"].to_string()))
    });
    keys.filter(|(key, _)| !WITHOUT.contains(&key.as_str())).collect()
}

#[test]
fn the_example_has_every_key_with_its_default() {
    let machine = Machine::bundled("lab.toml");
    let defaults = values(&settings(&machine));
    // Who pushes is said in one way only.
    write_user(&machine, &uncommented().replace("\ntoken_file", "\n#token_file"));
    let checked = machine.gua(&["config", "check"]);
    assert_eq!(checked.code, Some(0), "{}", told(&machine, &checked));
    write_user(&machine, &uncommented());
    let of_example = settings(&machine);
    assert_eq!(values(&of_example), defaults);
    let sections = of_example.as_object().unwrap().values();
    for (key, told) in sections.flat_map(|keys| keys.as_object().unwrap()) {
        let is_told = key == "models" || told["source"]["kind"] == "user";
        assert!(is_told, "the example does not tell of `{key}`");
    }
    assert_eq!(of_example["cost"]["models"].as_object().unwrap().len(), 2);
}

#[test]
fn the_example_as_it_is_changes_nothing() {
    let machine = Machine::bundled("lab.toml");
    let before = settings(&machine);
    write_user(&machine, &example());
    assert_eq!(settings(&machine), before);
}
