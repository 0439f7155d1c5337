//! The format's description is a scenario itself: every key it names is understood.

#![allow(clippy::unwrap_used, reason = "a test fails by falling over")]

use std::fs;
use std::path::Path;

#[test]
fn every_documented_key_and_shape_is_understood() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = fs::read_to_string(scenarios.join("README.md")).unwrap();
    let examples = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let machines = examples.map(|text| scenario::parse::from_str("README.md", text).unwrap());
    let counts = machines.map(|it| (it.cards.len(), it.processes.len(), it.faults.len()));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 1, 1), (1, 4, 0)]);
    let shapes: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('`').find(|part| part.starts_with("{ ")))
        .collect();
    assert_eq!(shapes.len(), 4, "{shapes:?}");
    for shape in shapes {
        scenario::parse::from_str(shape, &format!("[[card]]\nutilization = {shape}\n")).unwrap();
    }
}

#[test]
fn every_bundled_scenario_is_good() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = fs::read_dir(scenarios).unwrap().map(|entry| entry.unwrap().path());
    let toml: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    assert!(toml.len() >= 2);
    for path in toml {
        scenario::parse::from_file(&path).unwrap();
    }
}
