//! What is shipped to use with it: rules, alerts, a dashboard.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::engine::{Engine, programs};
use crate::machine::project;

#[test]
fn rules_and_alerts_hold_what_they_say() {
    let Some(programs) = programs("rules_and_alerts_hold_what_they_say") else { return };
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
        let said = String::from_utf8_lossy(&checked.stdout).into_owned()
            + &String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "promtool {args:?}: {said}");
    }
}

/// Every alert has a test that it is raised by.
#[test]
fn every_alert_is_tested() {
    let read =
        |name: &str| fs::read_to_string(project().join("packaging/prometheus").join(name)).unwrap();
    let (alerts, tests) = (read("gua.alerts.yml"), read("gua.test.yml"));
    for line in alerts.lines() {
        if let Some(name) = line.trim().strip_prefix("- alert: ") {
            assert!(tests.contains(&format!("- alertname: {name}\n")), "{name} has no test");
        }
    }
}

fn dashboard() -> Value {
    let path = project().join("packaging/grafana/gua.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Every question of the dashboard.
fn questions(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "expr" => drop(found.insert(text.clone())),
                    value => questions(value, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| questions(value, found)),
        _ => {}
    }
}

/// With what Grafana would put for its variables.
fn filled(question: &str) -> String {
    [("$__rate_interval", "1m"), ("$__range", "5m"), ("$host", ".*"), ("$card", ".*")]
        .iter()
        .fold(question.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Every question has an answer in an engine that our recorders filled.
pub(super) fn assert_dashboard_has_data(engine: &Engine) {
    let mut found = BTreeSet::new();
    questions(&dashboard(), &mut found);
    assert!(found.len() > 10, "{found:?}");
    for question in found {
        let filled = filled(&question);
        assert!(!filled.contains('$'), "{question} has a variable that is not known here");
        assert!(engine.count(&filled) > 0, "no data for {question}");
    }
}

/// It imports as it is: it has a data source to choose, and every panel an own number.
#[test]
fn the_dashboard_imports_as_it_is() {
    let dashboard = dashboard();
    assert_eq!(dashboard["id"], Value::Null);
    assert!(dashboard["uid"].is_string() && dashboard["schemaVersion"].as_i64().unwrap() >= 36);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert!(variables.iter().any(|it| it["type"] == "datasource" && it["query"] == "prometheus"));
    let panels = dashboard["panels"].as_array().unwrap();
    let numbers: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    assert_eq!(numbers.len(), panels.len());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
    }
}
