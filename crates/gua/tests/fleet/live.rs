//! Ten recorders at once, scraped by a real Prometheus and pushing to a real VictoriaMetrics.
//!
//! Prometheus scrapes the recorders every 5 s for most of a minute. Scrapes every 60 s need hours: the
//! tests in `agreement` simulate those.

use std::thread;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::engine::{Engine, Kind, free_port, programs};
use super::packaging::assert_dashboard_has_data;
use super::push::configure;
use crate::machine::{Machine, program, run};
use crate::recorder::{Recorder, until};

/// A host with three cards: one at work, one held idle by two people, one free.
fn scenario(place: usize) -> String {
    format!(
        r#"
        [host]
        name = "live-{place}"
        [[card]]
        uuid = "GPU-{place}-0"
        name = "NVIDIA A100-SXM4-80GB"
        utilization = {}
        [[card]]
        uuid = "GPU-{place}-1"
        name = "NVIDIA H100 80GB HBM3"
        [[card]]
        uuid = "GPU-{place}-2"
        name = "NVIDIA A100-SXM4-80GB"
        [[process]]
        pid = 100
        card = 0
        memory = "{}GiB"
        user = "alice"
        [[process]]
        pid = 101
        card = 1
        memory = "{}GiB"
        user = "bob"
        [[process]]
        pid = 102
        card = 1
        memory = "8GiB"
        user = "user-{}"
        {}
    "#,
        40 + place * 5,
        10 + place,
        2 + place,
        place % 3,
        if place == 3 {
            "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 2\ncode = \"GPU_IS_LOST\""
        } else {
            ""
        }
    )
}

/// One host at work.
struct Host {
    machine: Machine,
    recorder: Option<Recorder>,
    port: u16,
}

impl Host {
    fn start(&mut self) {
        let listen = self.port.to_string();
        let args = ["--interval", "500ms", "--listen", &listen];
        self.recorder = Some(Recorder::with(&self.machine, &args, |_| ()));
    }

    fn report(&self, window: &[&str]) -> Value {
        let database = self.machine.home().join(".gua/gua.db");
        let mut command = program(&[&["report", "--json"], window].concat());
        command.arg("--db").arg(database);
        let told = run(command);
        assert_eq!(told.code, Some(0), "{told:?}");
        serde_json::from_str(&told.stdout).unwrap()
    }
}

/// Time has to pass for something to be counted.
fn pass(time: Duration) {
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
}

fn scrape_config(hosts: &[Host]) -> String {
    let targets: Vec<_> = hosts.iter().map(|host| format!("'127.0.0.1:{}'", host.port)).collect();
    format!(
        "global: {{scrape_interval: 5s}}\nscrape_configs:\n- job_name: gua\n  static_configs:\n  \
         - targets: [{}]\n",
        targets.join(", ")
    )
}

#[test]
fn ten_recorders_agree_with_both_engines() {
    let Some(programs) = programs("ten_recorders_agree_with_both_engines") else { return };
    let mut victoria = Engine::new(&programs, Kind::Victoria);
    victoria.start("");
    let mut hosts: Vec<Host> = (0..10)
        .map(|place| {
            let machine = Machine::new(&scenario(place));
            configure(&machine, &victoria.write_url(), "");
            Host { machine, recorder: None, port: free_port() }
        })
        .collect();
    // Before anything is counted: what began in the window is all of it in the window.
    let from = Timestamp::now();
    hosts.iter_mut().for_each(Host::start);
    let mut prometheus = Engine::new(&programs, Kind::Prometheus);
    let config = scrape_config(&hosts);
    prometheus.start(&config);
    let all_are_there = |engine: &Engine| engine.count("gua_last_tick_timestamp_seconds") == 10;
    until("all are scraped", || all_are_there(&prometheus));
    until("all are pushed", || all_are_there(&victoria));
    pass(Duration::from_secs(8));
    // Recorders end, one of them the hard way, and are started again; so are the engines.
    hosts[1].recorder.take().unwrap().end();
    hosts[2].recorder.take().unwrap().kill();
    pass(Duration::from_secs(1));
    hosts[1].start();
    hosts[2].start();
    prometheus.stop();
    victoria.stop();
    pass(Duration::from_secs(3));
    prometheus.start(&config);
    victoria.start("");
    pass(Duration::from_secs(14));
    let until_then = Timestamp::now();
    // Counters have to be final up to here, and to arrive.
    for engine in [&prometheus, &victoria] {
        let late = format!("gua_final_until_timestamp_seconds > {}", until_then.as_second() + 1);
        until("everything has arrived", || engine.count(&late) == 10);
    }
    assert_dashboard_has_data(&prometheus);
    let last_seconds = until_then - SignedDuration::from_secs(9);
    for from in [from, last_seconds] {
        let (from, to) = (from.to_string(), until_then.to_string());
        let window = ["--from", &from, "--until", &to];
        let own: Vec<Value> = hosts.iter().map(|host| host.report(&window)).collect();
        for engine in [&prometheus, &victoria] {
            let fleet = engine.json(&[&["report"], &window[..]].concat());
            assert_agrees(&fleet, &own, &engine.url());
        }
    }
    let now = prometheus.json(&["fleet"]);
    assert_eq!(now["totals"]["cards"], 30, "{now}");
    assert_eq!(
        (&now["totals"]["active"], &now["totals"]["free"]),
        (&10.into(), &9.into()),
        "{now}"
    );
    let shown = prometheus.gua(&["fleet", "--host", "live-[12]"]).stdout;
    assert!(shown.contains("live-1") && !shown.contains("live-3"), "{shown}");
    let free = prometheus.json(&["fleet", "--free", "--model", "a100"]);
    assert_eq!(free["cards"].as_array().unwrap().len(), 9);
    let bobs = victoria.json(&["who", "--user", "bob"]);
    assert_eq!(bobs["holders"].as_array().unwrap().len(), 10, "{bobs}");
    for host in &mut hosts {
        host.recorder.take().unwrap().end();
    }
}

fn hours(report: &Value, path: &str) -> f64 {
    report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {report}"))
}

/// Returns a figure of an account; 0 without the account.
fn of_account(report: &Value, user: &str, figure: &str) -> f64 {
    let accounts = report["accounts"].as_array().unwrap_or_else(|| panic!("{report}"));
    let account = accounts.iter().find(|account| account["name"] == user);
    account.map_or(0.0, |account| account[figure].as_f64().unwrap())
}

/// Fails unless figures are within one percent, and a tick at either end: of a counter, only its values
/// at ticks are known. Over hours, `agreement` demands the percent alone.
fn assert_agrees(fleet: &Value, own: &[Value], url: &str) {
    const TWO_TICKS: f64 = 2.0 * 5.0 / 3600.0;
    let close = |what: &str, found: f64, is: f64| {
        let allowed = 0.01 * is + TWO_TICKS;
        assert!(
            (found - is).abs() <= allowed,
            "{url}: {what}: {found} instead of {is}: {} {}",
            fleet["window"],
            fleet["source"]
        );
    };
    for state in ["active", "idle_held", "truly_idle", "unknown"] {
        let path = format!("/states/{state}/gpu_hours");
        close(state, hours(fleet, &path), own.iter().map(|one| hours(one, &path)).sum());
    }
    for user in ["alice", "bob", "user-0", "user-1", "user-2"] {
        for figure in ["total_gpu_hours", "unused_gpu_hours"] {
            let of = |report: &Value| of_account(report, user, figure);
            close(&format!("{user}, {figure}"), of(fleet), own.iter().map(of).sum());
        }
    }
    assert!(of_account(fleet, "bob", "idle_held_gpu_hours") > 0.0, "{fleet}");
}
