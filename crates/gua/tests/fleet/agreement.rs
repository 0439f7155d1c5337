//! The report over many hosts has the figures of their own reports.

use std::collections::BTreeMap;

use serde_json::Value;

use super::engine::{Engine, Kind, programs};
use super::hosts::{Hosts, Plan, at};

pub(super) const HOUR: i64 = 3600;

/// Somebody who trains, somebody who holds memory beside that, and two who come and go.
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
        unattributed = "2GiB"
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
        reset: None,
    }
}

/// Ten hosts over a time, with everything that happens to hosts and to engines.
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
    // One whose counters begin again.
    plans[6].reset = Some(third / 60 * 60);
    // One with rarer ticks than scrapes, and one with more frequent ticks.
    plans[7].interval = interval * 2;
    plans[8].interval = (interval / 2).max(1);
    plans
}

/// Figures of a report in hours, kilowatt-hours and for each person.
#[derive(Debug, Default)]
struct Figures {
    host: BTreeMap<String, f64>,
    people: BTreeMap<String, BTreeMap<&'static str, f64>>,
}

/// Figures of an account that counters have.
const OF_ACCOUNT: [&str; 7] = [
    "total_gpu_hours",
    "active_gpu_hours",
    "idle_held_gpu_hours",
    "unused_gpu_hours",
    "low_use_gpu_hours",
    "active_energy_kwh",
    "idle_held_energy_kwh",
];

fn figures(report: &Value) -> Figures {
    let mut figures = Figures::default();
    for (state, amount) in report["states"].as_object().unwrap() {
        figures.host.insert(state.clone(), amount["gpu_hours"].as_f64().unwrap());
    }
    for energy in ["active_energy_kwh", "idle_held_energy_kwh"] {
        figures.host.insert(energy.to_owned(), report[energy].as_f64().unwrap());
    }
    let observed = report["window"]["observed_seconds"].as_f64().unwrap();
    figures.host.insert("observed".to_owned(), observed / 3600.0);
    for account in report["accounts"].as_array().unwrap() {
        let why = account["unattributed"].as_str().unwrap_or_default();
        let name = account["name"].as_str().unwrap_or(why).to_owned();
        let hours = OF_ACCOUNT.map(|key| (key, account[key].as_f64().unwrap_or(0.0)));
        figures.people.insert(name, hours.into_iter().collect());
    }
    figures
}

impl Figures {
    fn add(&mut self, other: Self) {
        for (name, figure) in other.host {
            *self.host.entry(name).or_default() += figure;
        }
        for (user, figures) in other.people {
            let sums = self.people.entry(user).or_default();
            for (name, figure) in figures {
                *sums.entry(name).or_default() += figure;
            }
        }
    }

    /// Fails unless each figure is within one percent.
    fn assert_is(&self, own: &Self, what: &str) {
        let close = |name: &str, found: f64, is: f64| {
            let off = (found - is).abs();
            assert!(off <= 0.01 * is.max(0.05), "{what}: {name}: {found} instead of {is}");
        };
        for (name, is) in &own.host {
            close(name, self.host[name], *is);
        }
        for (user, figures) in &own.people {
            let found = self.people.get(user).unwrap_or_else(|| panic!("{what}: no {user}"));
            for (name, is) in figures {
                close(&format!("{user}, {name}"), found[name], *is);
            }
        }
        let more = self.people.iter().filter(|(user, _)| !own.people.contains_key(*user));
        for (user, figures) in more {
            close(user, figures["total_gpu_hours"], 0.0);
        }
    }
}

fn assert_agrees(test: &str, length: i64, interval: i64, scrape: i64) {
    let Some(programs) = programs(test) else { return };
    let hosts = Hosts::new(&plans(length, interval), scrape);
    // Neither at a tick nor at a scrape.
    let (from, until) = (length / 20 + 13, length - length / 30 - 17);
    let window = ["--from", &at(from), "--until", &at(until)];
    let own: BTreeMap<&str, Value> =
        hosts.names.iter().map(|name| (name.as_str(), hosts.report(name, from, until))).collect();
    let mut sums = Figures::default();
    own.values().for_each(|report| sums.add(figures(report)));
    let files = [hosts.for_prometheus(), hosts.for_victoria()];
    for (kind, file) in [Kind::Prometheus, Kind::Victoria].into_iter().zip(files) {
        let mut engine = Engine::with(&programs, kind, &file);
        for again in ["", " after its restart"] {
            let what = format!("{kind:?}{again}, every {scrape} s");
            let report = engine.json(&[&["report"], &window[..]].concat());
            assert_eq!(report["schema"], "gua.fleet-report/2");
            assert_eq!(report["hosts"].as_array().unwrap().len(), 10, "{what}");
            assert_hosts_agree(&report, &own, scrape + 2 * interval, &what);
            figures(&report).assert_is(&sums, &what);
            assert_columns_add_up(&report, &what);
            assert_eq!(report["silent_hosts"], serde_json::json!(["node-4"]), "{what}");
            engine.stop();
            engine.start("");
        }
    }
}

/// Fails unless each host is within a percent of the window. Of hosts that end, or that lose their counters,
/// the last seconds before are in no scrape.
fn assert_hosts_agree(report: &Value, own: &BTreeMap<&str, Value>, unseen: i64, what: &str) {
    const CARDS: f64 = 3.0;
    let unseen = f64::from(i32::try_from(unseen).unwrap()) * CARDS;
    let seconds = report["window"]["seconds"].as_f64().unwrap();
    for host in report["hosts"].as_array().unwrap() {
        let name = host["name"].as_str().unwrap();
        let unseen = if ["node-4", "node-6"].contains(&name) { unseen } else { 0.0 };
        for (state, amount) in host["states"].as_object().unwrap() {
            let found = amount["gpu_hours"].as_f64().unwrap();
            let is = own[name]["states"][state]["gpu_hours"].as_f64().unwrap();
            let off = (found - is).abs() * 3600.0;
            assert!(
                off < 0.01 * seconds + unseen,
                "{what}: {name}, {state}: {found} instead of {is}"
            );
        }
    }
}

/// Fails unless accounts add up to the cards.
fn assert_columns_add_up(report: &Value, what: &str) {
    let sum = |key: &str| -> f64 {
        let accounts = report["accounts"].as_array().unwrap().iter();
        accounts.map(|account| account[key].as_f64().unwrap()).sum()
    };
    for (key, state) in [("active_gpu_hours", "active"), ("idle_held_gpu_hours", "idle_held")] {
        let whole = report["states"][state]["gpu_hours"].as_f64().unwrap();
        assert!((sum(key) - whole).abs() < 1e-4, "{what}: {state}: {} of {whole}", sum(key));
    }
    let idle = sum("unused_gpu_hours") + sum("low_use_gpu_hours");
    assert!((sum("idle_held_gpu_hours") - idle).abs() < 1e-6, "{what}: {idle}");
}

#[test]
fn ten_hosts_scraped_every_minute_agree() {
    assert_agrees("ten_hosts_scraped_every_minute_agree", 4 * HOUR, 30, 60);
}

#[test]
fn ten_hosts_scraped_every_five_seconds_agree() {
    assert_agrees("ten_hosts_scraped_every_five_seconds_agree", HOUR, 10, 5);
}

/// A host that is scraped twice counts once, and a selection has only its hosts.
#[test]
fn hosts_are_selected_and_counted_once() {
    let Some(programs) = programs("hosts_are_selected_and_counted_once") else { return };
    let hosts = Hosts::new(&[plan(0, HOUR, 30), plan(1, HOUR, 30)], 60);
    let samples = std::fs::read_to_string(hosts.for_victoria()).unwrap();
    let again = samples.replace("instance=\"node-0:7071\"", "instance=\"node-0\",cluster=\"a\"");
    std::fs::write(hosts.for_victoria(), samples + &again).unwrap();
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

/// Samples within a window may be final only up to a time before it: those after it have its counters.
#[test]
fn window_shorter_than_the_delay_of_final_time_is_complete() {
    let Some(programs) = programs("window_shorter_than_the_delay_of_final_time_is_complete") else {
        return;
    };
    let hosts = Hosts::new(&[plan(0, HOUR, 30)], 5);
    let engine = Engine::with(&programs, Kind::Victoria, &hosts.for_victoria());
    for from in [610, 613, 1801] {
        let window = ["report", "--from", &at(from), "--until", &at(from + 9)];
        let (found, own) = (engine.json(&window), hosts.report("node-0", from, from + 9));
        assert_eq!(found["window"]["observed_seconds"], 9.0, "{found}");
        for (state, hours) in figures(&own).host {
            let off = (figures(&found).host[&state] - hours).abs() * 3600.0;
            assert!(off < 0.5, "{from}: {state}: {off} s off in {found}");
        }
    }
}

#[test]
fn report_of_two_hosts_in_all_formats() {
    let Some(programs) = programs("report_of_two_hosts_in_all_formats") else { return };
    let hosts = Hosts::new(&[plan(0, 2 * HOUR, 30), plan(4, HOUR, 30)], 60);
    let engine = Engine::with(&programs, Kind::Victoria, &hosts.for_victoria());
    let (from, until) = (at(0), at(2 * HOUR));
    let mut shown = String::new();
    for format in ["text", "markdown", "csv", "json"] {
        let window = ["report", "--from", &from, "--until", &until];
        let output =
            engine.gua(&[&window[..], &["--price", "A100=2.50", "--format", format]].concat());
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
        shown += &format!("== {format}\n{}", output.stdout);
    }
    insta::assert_snapshot!(shown.replace(&engine.url(), "[URL]"));
}
