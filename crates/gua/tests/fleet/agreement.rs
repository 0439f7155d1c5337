//! The report over all hosts says what their own reports say.

use std::collections::BTreeMap;

use serde_json::Value;

use super::engine::{Engine, Kind, programs};
use super::hosts::{Hosts, Plan, at};

pub(super) const HOUR: i64 = 3600;

/// One that trains, one that sleeps beside it, and somebody whose name is unknown.
fn lab(name: &str, from: i64, wobble: i64) -> String {
    format!(
        r#"
        [host]
        name = "{name}"
        [[card]]
        uuid = "GPU-{name}-0"
        name = "NVIDIA A100-SXM4-80GB"
        [[card]]
        uuid = "GPU-{name}-1"
        name = "NVIDIA H100 80GB HBM3"
        utilization = {{ duty = 40, period = "{wobble}m", high = 90, low = 1 }}
        [[card]]
        uuid = "GPU-{name}-2"
        name = "NVIDIA A100-SXM4-80GB"
        [[process]]
        pid = 1
        card = 0
        memory = "30GiB"
        sm = {{ points = [["0s", 70], ["{from}m", 1]], repeat = "90m" }}
        user = "alice"
        begin = "-1h"
        [[process]]
        pid = 2
        cards = [0, 1]
        memory = "10GiB"
        user = "bob"
        begin = "{from}m"
        [[process]]
        pid = 3
        card = 1
        memory = "20GiB"
        user = "carol"
        begin = "20m"
        end = "{}m"
        [[process]]
        pid = 4
        card = 2
        memory = "60MiB"
        user = "dora"
    "#,
        200 + wobble
    )
}

pub(super) fn plan(place: i64, length: i64, interval: i64) -> Plan {
    let name = format!("node-{place}");
    Plan {
        scenario: lab(&name, 7 + place * 3, 11 + place),
        name,
        interval,
        runs: vec![(0, length)],
        reached: vec![(0, length)],
        anew: None,
    }
}

/// Ten hosts over a time, with all that happens to hosts and to who scrapes them.
fn plans(length: i64, interval: i64) -> Vec<Plan> {
    let mut plans: Vec<_> = (0..10).map(|place| plan(place, length, interval)).collect();
    let (third, tenth) = (length / 3, length / 10);
    // A recorder that is restarted, with a pause.
    plans[1].runs = vec![(0, third), (third + tenth, length)];
    // An engine that is restarted: nobody scrapes for a while, and the counters go on.
    for plan in &mut plans[2..4] {
        plan.reached = vec![(0, third), (third + tenth, length)];
    }
    // A host that goes silent, and one that comes later.
    plans[4].runs = vec![(0, 2 * third)];
    plans[4].reached = vec![(0, 2 * third)];
    plans[5].runs = vec![(third, length)];
    // One whose counters begin anew.
    plans[6].anew = Some(third);
    // One that looks less often than it is scraped, and one that looks more often.
    plans[7].interval = interval * 2;
    plans[8].interval = (interval / 2).max(1);
    plans
}

/// What is told of each state and of each person, in hours.
#[derive(Debug, Default)]
struct Account {
    states: BTreeMap<String, f64>,
    people: BTreeMap<String, [f64; 2]>,
    observed: f64,
}

fn account(report: &Value) -> Account {
    let mut account = Account::default();
    for (state, amount) in report["states"].as_object().unwrap() {
        account.states.insert(state.clone(), amount["gpu_hours"].as_f64().unwrap());
    }
    for person in report["identities"].as_array().unwrap() {
        let hours = |key: &str| person[key].as_f64().unwrap();
        let user = person["user"].as_str().unwrap_or("nobody").to_owned();
        account.people.insert(user, [hours("gpu_hours"), hours("idle_held_gpu_hours")]);
    }
    account.observed = report["window"]["observed_seconds"].as_f64().unwrap();
    account
}

impl Account {
    fn add(&mut self, other: Self) {
        for (state, hours) in other.states {
            *self.states.entry(state).or_default() += hours;
        }
        for (user, hours) in other.people {
            let sums = self.people.entry(user).or_default();
            sums[0] += hours[0];
            sums[1] += hours[1];
        }
        self.observed += other.observed;
    }

    /// Within one percent, each.
    fn assert_is(&self, true_one: &Self, what: &str) {
        let close = |name: &str, said: f64, is: f64| {
            let off = (said - is).abs();
            assert!(off <= 0.01 * is.max(0.05), "{what}: {name}: said {said}, is {is}");
        };
        close("observed", self.observed, true_one.observed);
        for (state, hours) in &true_one.states {
            close(state, self.states[state], *hours);
        }
        for (user, hours) in &true_one.people {
            let said = self.people.get(user).unwrap_or_else(|| panic!("{what}: no {user}"));
            close(user, said[0], hours[0]);
            close(&format!("{user}, idle"), said[1], hours[1]);
        }
    }
}

fn assert_agrees(test: &str, length: i64, interval: i64, scrape: i64) {
    let Some(programs) = programs(test) else { return };
    let hosts = Hosts::new(&plans(length, interval), scrape);
    // Neither on a tick nor on a scrape.
    let (from, until) = (length / 20 + 13, length - length / 30 - 17);
    let window = ["--from", &at(from), "--until", &at(until)];
    let own: BTreeMap<&str, Value> =
        hosts.names.iter().map(|name| (name.as_str(), hosts.report(name, from, until))).collect();
    let mut truth = Account::default();
    own.values().for_each(|report| truth.add(account(report)));
    let mut parts: BTreeMap<String, f64> = BTreeMap::new();
    for account in own.values().flat_map(|report| report["accounts"].as_array().unwrap()) {
        let user = account["name"].as_str().unwrap_or("nobody").to_owned();
        *parts.entry(user).or_default() += account["idle_held_gpu_hours"].as_f64().unwrap();
    }
    let files = [hosts.for_prometheus(), hosts.for_victoria()];
    for (kind, file) in [Kind::Prometheus, Kind::Victoria].into_iter().zip(files) {
        let mut engine = Engine::with(&programs, kind, &file);
        for again in ["", " after its restart"] {
            let what = format!("{kind:?}{again}, every {scrape} s");
            let report = engine.json(&[&["report"], &window[..]].concat());
            assert_hosts_agree(&report, &own, &what);
            account(&report).assert_is(&truth, &what);
            assert_parts_add_up(&report, &parts, &what);
            assert_eq!(report["silent_hosts"], serde_json::json!(["node-4"]), "{what}");
            assert_eq!(report["hosts"].as_array().unwrap().len(), 10, "{what}");
            engine.stop();
            engine.start("");
        }
    }
}

/// Each host by itself, within a percent of the window.
fn assert_hosts_agree(report: &Value, own: &BTreeMap<&str, Value>, what: &str) {
    let seconds = report["window"]["seconds"].as_f64().unwrap();
    for host in report["hosts"].as_array().unwrap() {
        let name = host["name"].as_str().unwrap();
        for (state, amount) in host["states"].as_object().unwrap() {
            let said = amount["gpu_hours"].as_f64().unwrap();
            let is = own[name]["states"][state]["gpu_hours"].as_f64().unwrap();
            let off = (said - is).abs() * 3600.0 / seconds;
            assert!(off < 0.01, "{what}: {name}, {state}: said {said}, is {is}");
        }
    }
}

/// What is divided by memory is what the hosts' own accounts say, and adds up to what the cards
/// were idle-held.
fn assert_parts_add_up(report: &Value, own: &BTreeMap<String, f64>, what: &str) {
    let mut sum = 0.0;
    for person in report["people"].as_array().unwrap() {
        let user = person["user"].as_str().unwrap_or("nobody");
        let part = person["idle_held_part_gpu_hours"].as_f64().unwrap();
        let is = own.get(user).copied().unwrap_or(0.0);
        let off = (part - is).abs();
        assert!(off <= 0.01 * is.max(0.05), "{what}: the part of {user}: said {part}, is {is}");
        sum += part;
    }
    let whole = report["states"]["idle_held"]["gpu_hours"].as_f64().unwrap();
    assert!((sum - whole).abs() < 0.001 * whole, "{what}: {sum} of {whole}");
}

#[test]
fn ten_hosts_scraped_every_minute_agree() {
    assert_agrees("ten_hosts_scraped_every_minute_agree", 6 * HOUR, 30, 60);
}

#[test]
fn ten_hosts_scraped_every_five_seconds_agree() {
    assert_agrees("ten_hosts_scraped_every_five_seconds_agree", HOUR, 10, 5);
}

/// One host is one host, also where it is scraped and pushes too; and a part of them is a part.
#[test]
fn hosts_are_chosen_and_counted_once() {
    let Some(programs) = programs("hosts_are_chosen_and_counted_once") else { return };
    let hosts = Hosts::new(&[plan(0, HOUR, 30), plan(1, HOUR, 30)], 60);
    let told = std::fs::read_to_string(hosts.for_victoria()).unwrap();
    let again = told.replace("instance=\"node-0:7071\"", "instance=\"node-0\",cluster=\"a\"");
    std::fs::write(hosts.for_victoria(), told + &again).unwrap();
    let engine = Engine::with(&programs, Kind::Victoria, &hosts.for_victoria());
    let (from, until) = (at(600), at(3000));
    let window = ["report", "--from", &from, "--until", &until];
    let cards = |more: &[&str]| {
        let report = engine.json(&[&window[..], more].concat());
        let hosts = report["hosts"].as_array().unwrap().iter();
        let names: Vec<_> = hosts.map(|host| host["name"].as_str().unwrap().to_owned()).collect();
        (names.join(" "), report["states"]["active"]["gpu_hours"].as_f64().unwrap())
    };
    let (names, all) = cards(&[]);
    assert_eq!(names.split(' ').count(), 2, "{names}");
    let (zero, zeros) = cards(&["--host", "node-[0]"]);
    assert_eq!(zero, "node-0");
    assert_eq!(cards(&["--match", "cluster=\"a\""]), ("node-0".to_owned(), zeros));
    let (_, ones) = cards(&["--host", "node-1"]);
    assert!((all - zeros - ones).abs() < 1e-5, "{all} is not {zeros} and {ones}");
}

/// All formats, as they are read.
#[test]
fn the_report_of_two_hosts_in_all_formats() {
    let Some(programs) = programs("the_report_of_two_hosts_in_all_formats") else { return };
    let hosts = Hosts::new(&[plan(0, 2 * HOUR, 30), plan(4, HOUR, 30)], 60);
    let engine = Engine::with(&programs, Kind::Victoria, &hosts.for_victoria());
    let (from, until) = (at(0), at(2 * HOUR));
    let mut shown = String::new();
    for format in ["text", "markdown", "csv", "json"] {
        let window = ["report", "--from", &from, "--until", &until];
        let told =
            engine.gua(&[&window[..], &["--price", "A100=2.50", "--format", format]].concat());
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
        shown += &format!("== {format}\n{}", told.stdout);
    }
    insta::assert_snapshot!(shown.replace(&engine.url(), "[URL]"));
}
