//! A snapshot of a simulated host says what a look through the driver's library says.

use std::time::Duration;

use gua::simulated::SimulatedHost;
use gua_core::snapshot::{Snapshot, UtilizationBasis};
use gua_core::{Reason, State, Thresholds};
use probe::units::UnixMillis;
use serde_json::Value;

use crate::machine::{Machine, project};

const MIG: &str = r#"
    [[card]]
    utilization = 40
    [[card]]
    gpm = true
    [[card.mig]]
    slot = 1
    profile = "3g.40gb"
    memory = "40GiB"
    utilization = 55
    [[card.mig]]
    slot = 3
    profile = "1g.10gb"
    memory = "10GiB"
    [[process]]
    pid = 7
    card = 1
    slot = 3
    memory = "2GiB"
    user = "ivan"
    begin = "-1h"
    [[process]]
    pid = 8
    card = 0
    memory = "60MiB"
    kind = "compute+graphics"
    user = "judy"
    begin = "-1h"
"#;

/// Calls that fail in one way or another.
const TROUBLED: &str = r#"
    [[card]]
    utilization = 3
    [[card]]
    utilization = 3
    [[card]]
    utilization = 3
    [[card]]
    utilization = 3
    [[process]]
    pid = 7
    cards = [0, 1, 2, 3]
    memory = "2GiB"
    user = "ivan"
    begin = "-1h"
    [[fault]]
    call = "nvmlDeviceGet*Processes*"
    card = 0
    code = "NO_PERMISSION"
    [[fault]]
    call = "nvmlDeviceGet*"
    card = 1
    code = "RESET_REQUIRED"
    [[fault]]
    call = "nvmlDeviceGetMemoryInfo*"
    card = 2
    code = "UNKNOWN"
    [[fault]]
    call = "nvmlDeviceGet*Util*"
    card = 3
    code = "NOT_SUPPORTED"
    [[fault]]
    call = "nvmlDeviceGetSamples"
    card = 3
    code = "NOT_SUPPORTED"
"#;

fn played(text: &str, seconds: i64) -> Snapshot {
    let scenario = scenario::parse::from_str("pretend.toml", text).unwrap();
    let origin = UnixMillis(1_794_182_400_000);
    let at = UnixMillis(origin.0 + seconds * 1000);
    SimulatedHost::new(scenario, origin, Thresholds::default()).snapshot(at, Duration::from_secs(5))
}

/// Fields of a card that both have.
const CARD: [&str; 10] = [
    "index",
    "mig_slot",
    "uuid",
    "state",
    "memory_used_bytes",
    "memory_total_bytes",
    "memory_unattributed_bytes",
    "holders_complete",
    "holders",
    "unlisted",
];

/// Fields of a holder that both have.
const HOLDER: [&str; 6] = ["pid", "user", "uid", "program", "kinds", "memory_bytes"];

/// Fields of unlisted memory that both have. Since when it is idle, only the record says.
const UNLISTED: [&str; 2] = ["memory_bytes", "holders_reason"];

/// Returns what both have of a card.
fn told(card: &Value) -> Value {
    let only = |of: &Value, fields: &[&str]| -> Value {
        fields.iter().map(|field| ((*field).to_owned(), of[field].clone())).collect()
    };
    let mut told = only(card, &CARD);
    for holder in told["holders"].as_array_mut().unwrap() {
        *holder = only(holder, &HOLDER);
    }
    if told["unlisted"].is_object() {
        told["unlisted"] = only(&told["unlisted"], &UNLISTED);
    }
    told
}

/// Of another value only what this one tells too.
fn part_of(whole: &Value, like: &Value) -> Value {
    match (whole, like) {
        (Value::Object(whole), Value::Object(like)) => {
            like.iter().map(|(key, like)| (key.clone(), part_of(&whole[key], like))).collect()
        }
        (Value::Array(whole), Value::Array(like)) if whole.len() == like.len() => {
            whole.iter().zip(like).map(|(whole, like)| part_of(whole, like)).collect()
        }
        _ => whole.clone(),
    }
}

fn assert_same(text: &str) {
    let run = Machine::new(text).gua(&["stat", "--json"]);
    let real: Value = serde_json::from_str(&run.stdout).unwrap();
    let played = serde_json::to_value(played(text, 1)).unwrap();
    let mut simulated: Value = played["cards"].as_array().unwrap().iter().map(told).collect();
    for (index, card) in simulated.as_array_mut().unwrap().iter_mut().enumerate() {
        // A card that never answered a library has no UUID yet.
        if real["cards"][index]["uuid"].is_null() {
            assert_eq!(card["state"], "unknown");
            card["uuid"].take();
        }
    }
    assert_eq!(part_of(&real["cards"], &simulated), simulated);
}

#[test]
fn the_lab_looks_the_same() {
    let lab = project().join("scenarios/lab.toml");
    assert_same(&std::fs::read_to_string(lab).unwrap());
}

#[test]
fn instances_look_the_same() {
    assert_same(MIG);
    let instance = &played(MIG, 1).cards[1];
    assert!((instance.utilization_percent.unwrap() - 55.0).abs() < 1e-9);
    assert_eq!(instance.utilization_basis, Some(UtilizationBasis::Counters));
    assert_eq!(instance.utilization_covers_seconds, Some(5.0));
}

#[test]
fn trouble_looks_the_same() {
    assert_same(TROUBLED);
}

/// The mean over the time, not its last moment.
#[test]
fn utilization_is_averaged_over_the_time() {
    let text = "[[card]]\nutilization = { points = [[\"0s\", 50], [\"4s\", 0]] }";
    let work = |second| played(text, second).cards[0].utilization_percent.unwrap();
    assert!((work(5) - 40.0).abs() < 1e-9);
    assert!((work(9) - 0.0).abs() < 1e-9);
}

#[test]
fn a_driver_that_does_not_open() {
    let text = "[[card]]\n[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\nto = \"10s\"";
    let away = played(text, 9);
    let error = probe::nvml::OpenError::DriverNotLoaded.to_string();
    assert_eq!(away.host.driver_error, Some(error));
    assert_eq!(away.cards[0].state, State::Unknown(Reason::DriverGone));
    assert_eq!(played(text, 10).host.driver_error, None);
}

/// It may be asked about any time, in any order.
#[test]
fn time_may_go_back() {
    let text = "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nend = \"1h\"";
    let scenario = scenario::parse::from_str("pretend.toml", text).unwrap();
    let mut host = SimulatedHost::new(scenario, UnixMillis(0), Thresholds::default());
    let mut holders = |hours: i64| {
        let snapshot = host.snapshot(UnixMillis(hours * 3_600_000), Duration::from_secs(30));
        snapshot.cards[0].holders.len()
    };
    assert_eq!([0, 1, 50, 0, -1].map(&mut holders), [1, 0, 0, 1, 0]);
}
