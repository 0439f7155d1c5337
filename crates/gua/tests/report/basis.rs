//! The rules and thresholds that a report names, and what a page for one person suggests.

use std::fs;

use gua_core::Thresholds;
use gua_core::units::Percent;
use serde_json::{Value, json};

use super::{HOUR, Histories, SATURDAY};
use crate::history::{CardUse, MINUTE, Recording, card};
use crate::machine::{Run, program, run};

const DAY: [&str; 4] = ["--from", "2024-11-09", "--until", "2024-11-10"];
const A100: &str = "NVIDIA A100-SXM4-80GB";

/// Bob holds a card idle, alice one that works at 12 %.
fn held(_: i64) -> Vec<CardUse> {
    vec![
        card(A100, 0.0).held_at_work("bob", (100, 1), 8_000, 0.0),
        card(A100, 12.0).held_at_work("alice", (200, 1), 30_000, 12.0),
    ]
}

fn a_day() -> Histories {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, 5 * MINUTE);
    recording.until(SATURDAY + 24 * HOUR, 5, held);
    recording.end("stopped");
    histories
}

/// The report with this config file.
fn with(histories: &Histories, config: &str, args: &[&str]) -> Run {
    let path = histories.dir().join("config.toml");
    fs::write(&path, config).unwrap();
    let mut command = program(&["report", "--config"]);
    command.arg(path).arg("--db").arg(histories.path()).args(DAY).args(args);
    run(command)
}

fn json_with(histories: &Histories, config: &str, args: &[&str]) -> Value {
    let run = with(histories, config, &[args, &["--json"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

/// Trap: with one changed threshold, nobody was there any more. What was recorded keeps the thresholds
/// that it was recorded with.
#[test]
fn thresholds_of_the_config_change_nothing_that_was_recorded() {
    let histories = a_day();
    let config = "[thresholds]\nactive_percent = 15\nworked_percent = 50\ncontext_mb = 300\n";
    let report = json_with(&histories, config, &[]);
    let usual = json_with(&histories, "", &[]);
    for part in ["states", "cards", "accounts", "basis"] {
        assert_eq!(report[part], usual[part], "{part}");
    }
    let thresholds = json!({
        "active_percent": 10.0, "held_mb": 100, "worked_percent": 1.0, "context_mb": 300,
    });
    assert_eq!(report["thresholds"], thresholds);
    let shown = with(&histories, config, &["--width", "300"]).stdout;
    let rule = "basis: card time. by hand Thresholds: active ≥ 10 % utilization, held > 100 MiB, working \
                ≥ 1 % of the SMs.";
    assert!(shown.contains(rule), "{shown}");
    assert!(shown.contains("low use: work below 10 % of the card"), "{shown}");
}

/// Each run names its thresholds.
#[test]
fn thresholds_that_were_changed_are_named_with_their_times() {
    let histories = Histories::new();
    let mut first = Recording::begin(&histories.path(), SATURDAY, 5 * MINUTE);
    first.until(SATURDAY + 12 * HOUR, 5, held);
    first.end("stopped");
    let later =
        Thresholds { active: Percent(15.0), worked: Percent(20.0), ..Thresholds::default() };
    let noon = SATURDAY + 12 * HOUR;
    let mut second = Recording::begin_with(later, "boot", &histories.path(), noon, 5 * MINUTE);
    second.until(SATURDAY + 24 * HOUR, 5, held);
    second.end("stopped");
    let report = json_with(&histories, "", &[]);
    let basis = report["basis"].as_array().unwrap();
    let told: Vec<_> = basis
        .iter()
        .map(|it| [&it["from"], &it["to"], &it["active_percent"], &it["worked_percent"]])
        .collect();
    assert_eq!(
        json!(told),
        json!([
            ["2024-11-09T00:00:00Z", "2024-11-09T12:00:00Z", 10.0, 1.0],
            ["2024-11-09T12:00:00Z", "2024-11-10T00:00:00Z", 15.0, 20.0],
        ])
    );
    assert_eq!(report["thresholds"]["active_percent"], 15.0);
    for format in ["text", "markdown"] {
        let shown = with(&histories, "", &["--width", "300", "--format", format]).stdout;
        assert_eq!(shown.matches("basis: card time, ").count(), 2, "{shown}");
        assert!(shown.contains("9 Nov 2024 00:00 → 12:00 UTC. by hand Thresholds: active ≥ 10 %"));
        assert!(shown.contains("12:00 → 10 Nov 2024 00:00 UTC. by hand Thresholds: active ≥ 15 %"));
        assert!(shown.contains("low use: work below the threshold of that time"), "{shown}");
    }
}

/// Of one person's page: the suggestion, and all of it as text.
fn page(doing: impl Fn(i64) -> Vec<CardUse>) -> (Value, String) {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, 5 * MINUTE);
    recording.until(SATURDAY + 24 * HOUR, 5, doing);
    recording.end("stopped");
    let report = json_with(&histories, "", &["--user", "bob"]);
    let shown = with(&histories, "", &["--user", "bob", "--width", "200"]).stdout;
    (report["person"].clone(), shown)
}

/// Trap: what somebody held while they worked was left out.
#[test]
fn a_smaller_card_is_suggested_only_where_all_work_would_fit() {
    let bob = |at: i64, mib: u64| {
        let is_idle = at < SATURDAY + HOUR;
        let (percent, mib) = if is_idle { (0.0, 5_000) } else { (90.0, mib) };
        vec![card(A100, percent).held_at_work("bob", (100, 1), mib, percent)]
    };
    let (large, shown) = page(|at| bob(at, 60_000));
    assert_eq!(large["suggestion"]["kind"], "nothing", "{shown}");
    assert_eq!(large["peak_memory_bytes"], 60_000_u64 << 20);
    let (small, _) = page(|at| bob(at, 8_000));
    assert_eq!(small["suggestion"]["kind"], "smaller_card");
    assert_eq!(small["suggestion"]["peak_memory_bytes"], 8_000_u64 << 20);
}

/// Trap: the page said that nothing was idle, and that all of the card was.
#[test]
fn work_below_the_threshold_of_the_card_is_low_use() {
    let (person, shown) = page(|_| vec![card(A100, 5.0).held_at_work("bob", (1, 1), 60_000, 5.0)]);
    let hours = ["idle_held_gpu_hours", "low_use_gpu_hours", "unused_gpu_hours"]
        .map(|field| person[field].clone());
    assert_eq!(json!(hours), json!([24.0, 24.0, 0.0]));
    assert_eq!(person["idle_process_hours"], 0.0);
    assert_eq!(person["suggestion"], json!({"kind": "worked_little", "gpu_hours": 24.0}));
    assert!(shown.contains("+ low use  24.0 GPU-h  work below 10 % of the card"), "{shown}");
    assert!(shown.contains("Work more at a time, or share the card"), "{shown}");
}

/// Several processes on an active card whose work cannot be read share its time by memory.
#[test]
fn unknown_work_counts_by_the_card() {
    let (person, _) = page(|_| {
        let first = card(A100, 80.0).held_by("bob", 1001, 30_000).with_unknown_work();
        vec![first.held_by("eve", 1002, 10_000).with_unknown_work()]
    });
    assert_eq!(person["active_gpu_hours"], 18.0);
    assert_eq!(
        (&person["working_process_hours"], &person["idle_process_hours"]),
        (&0.0.into(), &0.0.into())
    );
    assert_eq!(person["present_process_hours"], 24.0);
}
