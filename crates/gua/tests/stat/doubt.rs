//! What `gua stat` shows when something cannot be read.

use std::process::Command;

use nvidia_ml::skip::skipped;
use serde_json::Value;

use super::{Live, body, card, json};
use crate::machine::Machine;

/// Trap: with an interval, a card that cannot be read any more ended the view.
#[test]
fn a_chosen_card_that_becomes_unreadable_is_shown_as_such() {
    let whole = "[[card]]\nuuid = \"GPU-a\"\n[[card]]\nuuid = \"GPU-b\"\nutilization = 50\n";
    let fault = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\n";
    for code in ["GPU_IS_LOST", "UNINITIALIZED", "UNKNOWN"] {
        let machine = Machine::new(whole);
        let mut live = Live::start(&machine, &["--id", "GPU-b"]);
        live.wait_for(|look| look["cards"][0]["state"] == "active");
        machine.becomes(&format!("{whole}{fault}code = \"{code}\"\n"));
        let away = live.wait_for(|look| look["cards"][0]["state"] == "unknown");
        assert_eq!(away["cards"].as_array().unwrap().len(), 1, "{code}");
        assert_eq!(away["cards"][0]["index"], 1, "{code}");
        machine.becomes(whole);
        live.wait_for(|look| look["cards"][0]["state"] == "active");
    }
}

#[test]
fn a_lost_card_leaves_the_others_whole() {
    let cards = json(&Machine::bundled("lab.toml"));
    let states: Vec<_> =
        cards["cards"].as_array().unwrap().iter().map(|card| card["state"].clone()).collect();
    assert_eq!(states, ["active", "idle-held", "free", "active", "idle-held", "unknown"]);
    let lost = &cards["cards"][5];
    assert_eq!(lost["state_reason"], "lost");
    assert_eq!(lost["utilization_percent"], Value::Null);
    assert_eq!(lost["unknown"]["uuid"], "lost");
    assert_eq!(lost["holders_complete"], false);
}

#[test]
fn a_denied_process_list_is_not_an_empty_card() {
    let denied = r#"
        [[card]]
        memory = "80GiB"
        utilization = 0
        [[process]]
        pid = 1
        card = 0
        memory = "40GiB"
        [[fault]]
        call = "nvmlDeviceGet*RunningProcesses*"
        code = "NO_PERMISSION"
    "#;
    let card = card(denied);
    assert_eq!(card["state"], "idle-held");
    assert_eq!(card["holders_complete"], false);
    assert_eq!(card["unknown"]["holders"], "no_permission");
    let text = Machine::new(denied).gua(&["stat"]).stdout;
    assert!(text.contains("holders not readable: no permission"), "{text}");
}

#[test]
fn a_card_without_a_sample_buffer_is_marked() {
    let text = Machine::new(
        "[[card]]\nutilization = 30\n[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_SUPPORTED\"\n",
    )
    .gua(&["stat"])
    .stdout;
    assert!(text.contains("~30 %"), "{text}");
    assert!(text.ends_with("~ the value of the last moment only\n"), "{text}");
}

#[test]
fn a_hung_card_is_unknown_and_the_others_are_shown() {
    let run = Machine::new(
        "[[card]]\nutilization = 50\n[[card]]\nutilization = 0\n\
         [[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncard = 0\nhang = true\n",
    )
    .gua(&["stat"]);
    insta::assert_snapshot!(body(&run), @"
    [0]  A100-SXM4-80GB  unknown    –                                 not judged: no answer in time
    [1]  A100-SXM4-80GB  free     0 %  34 °C  58/400 W  0.0/80.0 GiB
    ");
}

#[test]
fn a_driver_that_goes_away_is_told_and_picked_up_again() {
    let whole = "[[card]]\nutilization = 50\n";
    let machine = Machine::new(whole);
    let mut live = Live::start(&machine, &[]);
    live.wait_for(|look| look["cards"][0]["state"] == "active");
    machine.becomes(&format!("{whole}[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n"));
    let away = live.wait_for(|look| look["driver_error"].is_string());
    assert_eq!(away["driver_error"], "the NVIDIA kernel driver is not loaded");
    assert_eq!(away["cards"][0]["state"], "unknown");
    machine.becomes(whole);
    live.wait_for(|look| look["cards"][0]["state"] == "active" && look["driver_error"].is_null());
}

/// Trap: an empty list on a card whose memory cannot be read was called free.
#[test]
fn a_card_of_unknown_memory_is_not_free() {
    for code in ["UNKNOWN", "NO_PERMISSION", "GPU_IS_LOST"] {
        let card = card(&format!(
            "[[card]]\nutilization = 0\n[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\n\
             code = \"{code}\"\n"
        ));
        assert_eq!(card["state"], "unknown", "{code}");
    }
}

#[test]
fn what_cannot_be_read_is_marked_and_explained() {
    let machine = Machine::new(
        r#"
        [[card]]
        utilization = 0
        [[card]]
        utilization = 50
        [[fault]]
        call = "nvmlDeviceGetMemoryInfo*"
        code = "NO_PERMISSION"
        [[fault]]
        call = "nvmlDeviceGetTemperature*"
        card = 0
        code = "NO_PERMISSION"
        [[fault]]
        call = "nvmlDeviceGetPowerUsage"
        card = 0
        code = "NO_PERMISSION"
        [[fault]]
        call = "nvmlDeviceGetTemperature*"
        card = 1
        code = "NOT_SUPPORTED"
        "#,
    );
    insta::assert_snapshot!(body(&machine.gua(&["stat"])), @"
    [0]  A100-SXM4-80GB  unknown   0 %  ? °C    ?/400 W  ?/? GiB  memory not readable: no permission
    [1]  A100-SXM4-80GB  active   50 %        229/400 W  ?/? GiB  memory not readable: no permission
    ");
    let cards = json(&machine);
    let unknown = &cards["cards"][0]["unknown"];
    for field in ["used", "free", "total", "reserved", "unattributed"] {
        assert_eq!(unknown[format!("memory_{field}_bytes")], "no_permission", "{field}");
    }
    assert_eq!(unknown["power_watts"], "no_permission");
}

/// Every reason belongs to a field, and the field is null or not complete; every null has
/// one, but for what does not apply or was not asked for.
#[test]
fn reasons_are_given_by_field() {
    let machine = Machine::bundled("lab.toml");
    let look = json(&machine);
    assert_eq!(look["unknown"], serde_json::json!({}));
    for card in look["cards"].as_array().unwrap() {
        let holders = card["holders"].as_array().unwrap();
        for place in std::iter::once(card).chain(holders) {
            let unknown = place["unknown"].as_object().unwrap();
            for (field, why) in unknown {
                let Some(value) = place.get(field) else {
                    assert!(REQUESTED.contains(&field.as_str()), "{field} is no field");
                    continue;
                };
                assert!(value.is_null() || field == "holders", "{field}: {value} {why}");
            }
            let nulls = place.as_object().unwrap().iter().filter(|(_, value)| value.is_null());
            for (field, _) in nulls.filter(|(field, _)| !MAY_BE_NULL.contains(&field.as_str())) {
                assert!(unknown.contains_key(field), "{field} is null without a reason");
            }
        }
    }
}

/// Fields that are left out unless they are known.
const REQUESTED: [&str; 6] = [
    "memory_busy_percent",
    "performance_state",
    "compute_mode",
    "persistence_mode",
    "mig_mode",
    "set_power_limit_watts",
];

const MAY_BE_NULL: [&str; 12] = [
    "mig_slot",
    "parent_uuid",
    "state_reason",
    "command",
    "identity",
    "unlisted",
    "idle_since",
    "idle_seconds",
    "idle_certainty",
    "idle_source",
    "idle_doubt",
    "idle_recorded_until",
];

/// A driver that counts its reserve as used: some used memory shows nothing, much does.
#[test]
fn an_old_driver_shows_who_holds_much() {
    let machine = Machine::new(
        r#"
        [driver]
        version = "450.80.02"
        lacks = ["nvmlDeviceGetMemoryInfo_v2"]
        [[card]]
        utilization = 0
        [[card]]
        utilization = 0
        unattributed = "40GiB"
        [[card]]
        utilization = 0
        unattributed = "40GiB"
        [[fault]]
        call = "*RunningProcesses*"
        card = 2
        code = "NO_PERMISSION"
        [[card]]
        utilization = 0
        [[fault]]
        call = "*RunningProcesses*"
        card = 3
        code = "NO_PERMISSION"
        "#,
    );
    insta::assert_snapshot!(body(&machine.gua(&["stat"])), @"
    [0]  A100-SXM4-80GB  free       0 %  34 °C  58/400 W   0.6/80.0 GiB
    [1]  A100-SXM4-80GB  idle-held  0 %  34 °C  58/400 W  40.6/80.0 GiB  40.6 GiB of no visible process, the driver's reserve among them
    [2]  A100-SXM4-80GB  idle-held  0 %  34 °C  58/400 W  40.6/80.0 GiB  holders not readable: no permission
    [3]  A100-SXM4-80GB  unknown    0 %  34 °C  58/400 W   0.6/80.0 GiB  holders not readable: no permission
    ");
    let reserved = &json(&machine)["cards"][0]["unknown"]["memory_reserved_bytes"];
    assert_eq!(reserved, "not_supported");
}

#[test]
fn unknown_memory_and_memory_of_nobody_are_said() {
    let run = Machine::new(
        r#"
        [[card]]
        utilization = 0
        unattributed = "40GiB"
        [[card]]
        utilization = 0
        unattributed = "40GiB"
        [[card]]
        unified_memory = true
        utilization = 0
        [[process]]
        pid = 5
        card = 1
        memory = "unknown"
        user = "ann"
        begin = "-2h"
        "#,
    )
    .gua(&["stat"]);
    insta::assert_snapshot!(body(&run), @"
    [0]  A100-SXM4-80GB  idle-held  0 %  34 °C  58/400 W   40.0/80.0 GiB  40.0 GiB held by no visible process
    [1]  A100-SXM4-80GB  idle-held  0 %  34 °C  58/400 W   40.0/80.0 GiB  ann  python  ? GiB  SM 0 %  2h00m  idle
    [2]  A100-SXM4-80GB  free       0 %  34 °C  58/400 W  32.0/128.0 GiB  shares the host's memory
    ");
}

/// Trap: inside a container the driver reports the host's pids. Pid 1 is there in both
/// worlds, and is not the same process.
#[test]
fn in_a_container_a_pid_of_the_host_is_not_taken_for_one_of_ours() {
    let machine = Machine::new(
        "[[card]]\nutilization = 0\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nbegin = \"-1h\"\n",
    );
    let inside = machine.command(&["stat", "--json"]);
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--mount-proc"])
        .arg(inside.get_program())
        .args(inside.get_args());
    let changes = inside.get_envs().filter(|(name, _)| *name != "GUA_HOST_ROOT");
    command
        .envs(changes.filter_map(|(name, value)| Some((name, value?))))
        .env_remove("GUA_HOST_ROOT");
    let output = command.output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return skipped("the host's pids in a container", "no pid namespace can be made here");
    };
    let look: Value = serde_json::from_slice(&output.stdout).unwrap();
    let holder = &look["cards"][0]["holders"][0];
    assert_eq!(holder["presence"], "foreign", "{look}");
    assert_eq!(holder["program"], Value::Null);
    assert_eq!(holder["memory_bytes"], 1_u64 << 30);
}
