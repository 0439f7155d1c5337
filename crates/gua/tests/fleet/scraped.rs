//! What a scrape does to our series: labels of its own, other names for a host.

use serde_json::Value;

use super::agreement::{HOUR, plan};
use super::engine::{Engine, Kind, programs};
use super::hosts::{Hosts, at};
use super::metrics::listening;
use crate::machine::Machine;
use crate::recorder::until;

const HOST: &str = r#"
    [host]
    name = "gpu-1"
    [[card]]
    uuid = "GPU-a"
    name = "NVIDIA A100-SXM4-80GB"
    utilization = 80
    [[card]]
    uuid = "GPU-b"
    name = "NVIDIA A100-SXM4-80GB"
    [[process]]
    pid = 100
    card = 0
    memory = "9GiB"
    user = "alice"
"#;

/// As the scrape config that is shipped, and with labels that are called as ours are.
fn config(target: &str) -> String {
    format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: gua\n  static_configs:\n  \
         - targets: ['{target}']\n    labels: {{hostname: node3, version: x, state: bavaria, \
         user: nobody, gpu: '7', cluster: lab}}\n  metric_relabel_configs:\n  \
         - {{source_labels: [model_name], target_label: modelName}}\n"
    )
}

fn assert_is_whole(engine: &Engine) {
    let now = engine.json(&["fleet"]);
    let host = &now["hosts"][0];
    assert_eq!((&host["name"], &host["is_silent"]), (&"gpu-1".into(), &false.into()), "{now}");
    assert_eq!((&now["totals"]["active"], &now["totals"]["free"]), (&1.into(), &1.into()), "{now}");
    assert_eq!(now["hosts"].as_array().unwrap().len(), 1, "{now}");
    let free = engine.json(&["fleet", "--free", "--model", "A100"]);
    assert_eq!(free["cards"][0]["gpu"], "1", "{free}");
    let who = engine.json(&["who"]);
    assert_eq!(who["holders"][0]["user"], "alice", "{who}");
    let report = engine.json(&["report", "--since", "10m"]);
    let host = &report["hosts"][0];
    assert_eq!((&host["name"], &host["is_silent"]), (&"gpu-1".into(), &false.into()), "{report}");
    assert_eq!(host["labels"]["cluster"], "lab", "{report}");
    assert_eq!(host["cards"][1]["index"], 1, "{report}");
    assert_eq!(report["models"][0]["name"], "NVIDIA A100-SXM4-80GB", "{report}");
    assert_eq!(report["people"][0]["user"], "alice", "{report}");
    assert_eq!(report["thresholds"], Value::Null, "each host has its own");
    assert!(host["observed_seconds"].as_f64().unwrap() > 0.0, "{report}");
    assert_eq!(report["hosts"].as_array().unwrap().len(), 1, "{report}");
}

/// Also when the host is scraped by another name from now on.
#[test]
fn labels_of_a_scrape_do_not_get_in_the_way() {
    let Some(programs) = programs("labels_of_a_scrape_do_not_get_in_the_way") else { return };
    let machine = Machine::new(HOST);
    let (recorder, port) = listening(&machine, &[]);
    let mut engine = Engine::new(&programs, Kind::Prometheus);
    for name in ["127.0.0.1", "localhost"] {
        let target = format!("{name}:{port}");
        engine.start(&config(&target));
        let twice = format!(
            "count_over_time(gua_last_tick_timestamp_seconds{{instance=\"{target}\"}}[1m]) > 1"
        );
        until("it is scraped", || engine.count(&twice) == 1);
        let alice = format!("gua_user_gpu_seconds_total{{instance=\"{target}\"}} > 2");
        until("alice is counted", || engine.count(&alice) > 0);
        assert_is_whole(&engine);
        engine.stop();
    }
    recorder.end();
}

/// A host that is scraped by another name in the middle of a window is one host all the time.
#[test]
fn a_host_that_moves_loses_no_time() {
    let Some(programs) = programs("a_host_that_moves_loses_no_time") else { return };
    let hosts = Hosts::new(&[plan(0, HOUR, 30), plan(1, HOUR, 30)], 30);
    let (from, until) = (600, 3000);
    let own: f64 = ["node-0", "node-1"]
        .map(|name| hosts.report(name, from, until)["window"]["observed_seconds"].as_f64().unwrap())
        .iter()
        .sum();
    for (kind, file, unit) in [
        (Kind::Prometheus, hosts.for_prometheus(), 1),
        (Kind::Victoria, hosts.for_victoria(), 1000),
    ] {
        let told = std::fs::read_to_string(&file).unwrap();
        let moved = |line: &str| {
            let time = line.rsplit_once(' ').and_then(|(_, time)| time.parse::<i64>().ok());
            let is_late = time.is_some_and(|time| time / unit > super::hosts::MONDAY + 1800);
            let name = if is_late { "gpu-0.lab:7071" } else { "node-0:7071" };
            line.replace("node-0:7071", name) + "\n"
        };
        std::fs::write(&file, told.lines().map(moved).collect::<String>()).unwrap();
        let engine = Engine::with(&programs, kind, &file);
        let report = engine.json(&["report", "--from", &at(from), "--until", &at(until)]);
        assert_eq!(report["hosts"].as_array().unwrap().len(), 2, "{report}");
        assert_eq!(report["silent_hosts"], serde_json::json!([]), "{report}");
        assert_eq!(
            report["models"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["cards"].as_u64().unwrap())
                .sum::<u64>(),
            6
        );
        let said = report["window"]["observed_seconds"].as_f64().unwrap();
        // Between the last scrape by the one name and the first by the other nobody saw it.
        assert!((said - own).abs() <= 31.0, "{kind:?}: said {said}, is {own}");
    }
}

/// A card that was taken out today, or divided anew, is not there now.
#[test]
fn a_card_that_is_gone_is_not_unknown() {
    let Some(programs) = programs("a_card_that_is_gone_is_not_unknown") else { return };
    let dir = tempfile::tempdir().unwrap();
    let now = jiff::Timestamp::now().as_second();
    let mut lines = String::new();
    for (ago, uuid, gpu) in [(5 * HOUR, "GPU-a", "0"), (5 * HOUR, "GPU-b", "1"), (10, "GPU-a", "0")]
    {
        let at = now - ago;
        for (series, value) in [
            ("gua_build_info{instance=\"a\",hostname=\"a\",version=\"1\"}".to_owned(), 1),
            ("gua_last_tick_timestamp_seconds{instance=\"a\"}".to_owned(), at),
            (format!("gua_gpu_info{{instance=\"a\",UUID=\"{uuid}\",gpu=\"{gpu}\"}}"), 1),
            (format!("gua_gpu_state{{instance=\"a\",UUID=\"{uuid}\",state=\"truly_idle\"}}"), 1),
        ] {
            lines += &format!("{series} {value} {at}000\n");
        }
    }
    let file = dir.path().join("samples");
    std::fs::write(&file, lines).unwrap();
    let engine = Engine::with(&programs, Kind::Victoria, &file);
    let told = engine.json(&["fleet"]);
    assert_eq!(told["totals"]["cards"], 1, "{told}");
    assert_eq!((&told["totals"]["free"], &told["totals"]["unknown"]), (&1.into(), &0.into()));
}

/// A host that looks rarely is not silent between two looks.
#[test]
fn rare_ticks_are_no_silence() {
    let Some(programs) = programs("rare_ticks_are_no_silence") else { return };
    let hosts = Hosts::new(&[plan(0, 3 * HOUR, 900)], 60);
    let engine = Engine::with(&programs, Kind::Victoria, &hosts.for_victoria());
    let report = engine.json(&["report", "--from", &at(HOUR), "--until", &at(3 * HOUR - 60)]);
    assert_eq!(report["silent_hosts"], serde_json::json!([]), "{report}");
}
