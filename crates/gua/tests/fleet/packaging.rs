//! The rules, the alerts and the dashboard that are shipped.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::engine::{Engine, programs};
use crate::machine::project;

#[test]
fn rules_and_alerts_are_valid() {
    let Some(programs) = programs("rules_and_alerts_are_valid") else { return };
    for args in [
        &["check", "rules", "gua.rules.yml", "gua.alerts.yml"][..],
        &["test", "rules", "gua.test.yml"],
        &["check", "config", "--syntax-only", "prometheus.yml"],
    ] {
        let checked = Command::new(programs.join("promtool"))
            .args(args)
            .current_dir(project().join("packaging/prometheus"))
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&checked.stdout).into_owned()
            + &String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "promtool {args:?}: {output}");
    }
}

/// Every alert and every recording rule has a test.
#[test]
fn every_rule_is_tested() {
    let read =
        |name: &str| fs::read_to_string(project().join("packaging/prometheus").join(name)).unwrap();
    let (rules, tests) = (read("gua.alerts.yml") + &read("gua.rules.yml"), read("gua.test.yml"));
    for line in rules.lines() {
        if let Some(name) = line.trim().strip_prefix("- alert: ") {
            assert!(tests.contains(&format!("- alertname: {name}\n")), "{name} has no test");
        }
        if let Some(name) = line.trim().strip_prefix("- record: ") {
            assert!(tests.contains(&format!("- expr: {name}")), "{name} has no test");
        }
    }
}

fn dashboard() -> Value {
    let path = project().join("packaging/grafana/gua.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Collects every query of the dashboard.
fn queries(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "expr" => drop(found.insert(text.clone())),
                    value => queries(value, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| queries(value, found)),
        _ => {}
    }
}

/// Returns a query with values for Grafana's variables.
fn fill(query: &str) -> String {
    [("$__rate_interval", "1m"), ("$__range", "5m"), ("$host", ".*"), ("$card", ".*")]
        .iter()
        .fold(query.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Fails unless every query of the dashboard has data in an engine that recorders filled.
pub(super) fn assert_dashboard_has_data(engine: &Engine) {
    let mut found = BTreeSet::new();
    queries(&dashboard(), &mut found);
    assert!(found.len() > 10, "{found:?}");
    for query in found {
        let filled = fill(&query);
        assert!(!filled.contains('$'), "{query} has a variable that is not known here");
        assert!(engine.count(&filled) > 0, "no data for {query}");
    }
}

/// It has a data source to choose, and every panel has a number and a place of its own.
#[test]
fn dashboard_can_be_imported() {
    let dashboard = dashboard();
    assert_eq!(dashboard["id"], Value::Null);
    assert!(dashboard["uid"].is_string() && dashboard["schemaVersion"].as_i64().unwrap() >= 36);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert!(variables.iter().any(|it| it["type"] == "datasource" && it["query"] == "prometheus"));
    let panels = dashboard["panels"].as_array().unwrap();
    let numbers: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    assert_eq!(numbers.len(), panels.len());
    let place = |panel: &Value| (panel["gridPos"]["x"].as_i64(), panel["gridPos"]["y"].as_i64());
    assert_eq!(panels.iter().map(place).collect::<BTreeSet<_>>().len(), panels.len());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
    }
}
