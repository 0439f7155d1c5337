//! What `gua query` says when something cannot be read.

use std::fs;
use std::io::Read;

use super::{Looping, STEADY, query};
use crate::machine::{Machine, project};

/// What can go wrong with a card or a driver that has been opened.
const FAULTS: &[&str] = &[
    "call = \"nvmlDeviceGet*\"\ncard = 0\ncode = \"GPU_IS_LOST\"",
    "call = \"nvmlDeviceGet*\"\ncard = 0\ncode = \"RESET_REQUIRED\"",
    "call = \"nvmlDeviceGet*\"\ncode = \"UNKNOWN\"",
    "call = \"nvmlDeviceGetHandleByIndex*\"\ncard = 1\ncode = \"NO_PERMISSION\"",
    "call = \"nvmlDeviceGet*RunningProcesses*\"\ncode = \"NO_PERMISSION\"",
    "call = \"nvmlDeviceGet*RunningProcesses*\"\ngrow = 3",
    "call = \"nvmlDeviceGetMemoryInfo*\"\ncode = \"NOT_SUPPORTED\"",
    "call = \"nvmlDeviceGetMemoryInfo*\"\ncode = \"UNKNOWN\"",
    "call = \"nvmlDeviceGetSamples\"\ncode = \"NOT_SUPPORTED\"",
    "call = \"nvmlDeviceGetUtilizationRates\"\ncode = \"NOT_SUPPORTED\"",
    "call = \"nvmlDeviceGetProcessUtilization\"\ncode = \"NO_PERMISSION\"",
    "call = \"nvmlDeviceGetP*\"\ncode = \"NOT_SUPPORTED\"",
    "call = \"nvmlDeviceGetName\"\ncode = \"UNKNOWN\"",
    "call = \"nvmlDeviceGetUUID\"\ncard = 2\ncode = \"UNKNOWN\"",
    "call = \"nvmlDeviceGetCount*\"\ncode = \"UNKNOWN\"",
    "call = \"nvmlDeviceGetTemperature*\"\ncard = 1\nlatency = \"100ms\"",
];

const VIEWS: [&[&str]; 6] = [
    &["--format", "csv"],
    &["--format", "json"],
    &["--format", "table"],
    &["--apps"],
    &["--preset", "dmon", "-n", "1"],
    &["--preset", "pmon", "-n", "1"],
];

/// Every view ends by itself, without a panic, and fails only with a sentence.
fn assert_all_views_hold(machine: &Machine, what: &str) {
    for view in VIEWS {
        let run = machine.gua(&[&["query"], view].concat());
        assert!(matches!(run.code, Some(0 | 1)), "{what} {view:?}: {run:?}");
        assert!(!run.stderr.contains("panicked"), "{what} {view:?}: {run:?}");
        assert_eq!(run.code == Some(0), run.stderr.is_empty(), "{what} {view:?}: {run:?}");
    }
}

#[test]
fn no_fault_makes_it_fall_over() {
    for fault in FAULTS {
        let machine = Machine::new(&format!("{STEADY}\n[[fault]]\n{fault}\n"));
        assert_all_views_hold(&machine, fault);
    }
}

#[test]
fn every_bundled_scenario_can_be_asked() {
    for entry in fs::read_dir(project().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let machine = Machine::new(&fs::read_to_string(&path).unwrap());
            assert_all_views_hold(&machine, path.to_str().unwrap());
        }
    }
}

#[test]
fn a_card_that_hangs_holds_up_no_other() {
    let fault = "[[fault]]\ncall = \"nvmlDeviceGetPowerUsage\"\ncard = 0\nhang = true\n";
    let text = query(&format!("{STEADY}\n{fault}"), &["--fields", "index,power.draw,memory.used"]);
    insta::assert_snapshot!(text, @"
    index, power.draw [W], memory.used [MiB]
    0, [Timeout], [Timeout]
    1, 58.00 W, 0 MiB
    2, 58.00 W, 0 MiB
    ");
}

#[test]
fn a_lost_card_is_said_to_be_lost() {
    let fault = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 0\ncode = \"GPU_IS_LOST\"\n";
    let lost = format!("{STEADY}\n{fault}");
    let fields = ["--fields", "index,uuid,state,utilization.gpu,memory.used,pstate,holders"];
    insta::assert_snapshot!(query(&lost, &fields), @"
    index, uuid, state, utilization.gpu [%], memory.used [MiB], pstate, holders
    0, [GPU is lost], [not judged: lost from the bus], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]
    1, GPU-b, [not judged: not told by the driver], 0 %, 0 MiB, P0, 1
    2, GPU-c, free, 0 %, 0 MiB, P8, 0
    ");
    insta::assert_snapshot!(query(&lost, &["--preset", "dmon", "-n", "1"]), @"
    # gpu     sm    mem    enc    dec
    # Idx      %      %      %      %
        0      -      -      -      -    [GPU is lost]
        1      0      0      0      0
        2      0      0      0      0
    ");
    insta::assert_snapshot!(query(&lost, &["--preset", "pmon", "-n", "1"]), @"
    # gpu         pid   type     sm    mem    enc    dec    command
    # Idx           #    C/G      %      %      %      %    name
        0           -      -      -      -      -      -    [GPU is lost]
        1         200      C      0      0      0      0    jupyter-lab
        2           -      -      -      -      -      -    -
    ");
}

/// Trap: an unreadable list would read as a card that nobody holds.
#[test]
fn a_denied_process_list_is_a_row_of_its_own() {
    let fault = "[[fault]]\ncall = \"nvmlDeviceGet*RunningProcesses*\"\ncode = \"NO_PERMISSION\"\n";
    let denied = format!("{STEADY}\n{fault}");
    let fields = ["--apps", "--fields", "card,pid,user,used_memory", "-i", "0"];
    insta::assert_snapshot!(query(&denied, &fields), @"
    card, pid, user, used_gpu_memory [MiB]
    0, [Insufficient Permissions], [Insufficient Permissions], [Insufficient Permissions]
    ");
    let json: serde_json::Value =
        serde_json::from_str(&query(&denied, &[&fields[..], &["--json"]].concat())).unwrap();
    insta::assert_json_snapshot!(json["holders"], @r#"
    [
      {
        "card": "0",
        "pid": null,
        "unknown": {
          "pid": "no_permission",
          "used_gpu_memory_bytes": "no_permission",
          "user": "no_permission"
        },
        "used_gpu_memory_bytes": null,
        "user": null
      }
    ]
    "#);
    insta::assert_snapshot!(query(&denied, &["--fields", "card,holders,state"]), @"
    card, holders, state
    0, [Insufficient Permissions], active
    1, [Insufficient Permissions], [not judged: no permission]
    2, [Insufficient Permissions], [not judged: no permission]
    ");
}

#[test]
fn a_driver_that_comes_and_goes_is_told_and_waited_for() {
    let machine = Machine::new(STEADY);
    let mut looping =
        Looping::start(&machine, &["--fields", "index,memory.used", "--every", "20ms"]);
    looping.wait_for(|line| line == "0, 71024 MiB");
    let gone = "[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n";
    machine.becomes(&format!("{STEADY}\n{gone}"));
    looping.wait_for(|line| line == "0, [the driver went away]");
    machine.becomes(STEADY);
    // What is said about a look is said before the next.
    (0..2).for_each(|_| drop(looping.wait_for(|line| line == "0, 71024 MiB")));
    looping.child.kill().unwrap();
    let mut said = String::new();
    looping.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.starts_with("gua: cannot read the driver: "), "{said}");
    assert!(said.contains("gua: the driver answers again\n"), "{said}");
}

#[test]
fn without_a_driver_it_fails_before_it_writes() {
    let machine =
        Machine::new("[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = \"DRIVER_NOT_LOADED\"\n");
    let file = machine.dir().join("log.csv");
    let run = machine.gua(&["query", "-o", file.to_str().unwrap()]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.starts_with("gua: cannot read the driver: "), "{run:?}");
    assert!(!file.exists());
}

/// Trap: a card that could not be read was nothing but dashes.
#[test]
fn the_columns_of_dmon_say_why() {
    let lost = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"GPU_IS_LOST\"\n";
    let text = query(&format!("{STEADY}\n{lost}"), &["--preset", "dmon", "-n", "1"]);
    let line = text.lines().find(|line| line.starts_with("    1")).unwrap();
    assert_eq!(line, "    1      -      -      -      -    [GPU is lost]", "{text}");
    assert_eq!(text.matches('[').count(), 1, "{text}");
}

#[test]
fn a_host_without_cards_is_told() {
    let run = Machine::new("[host]\nname = \"none\"\n").gua(&["query", "--fields", "index"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "index\n"));
    assert_eq!(run.stderr, "gua: the driver counts no cards on this host\n");
}

/// Trap: six rows became five when the driver went away.
#[test]
fn a_lost_card_keeps_its_row_without_a_driver() {
    let lost = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"GPU_IS_LOST\"\n";
    let machine = Machine::new(&format!("{STEADY}\n{lost}"));
    let args = ["--fields", "index,name", "--json", "--every", "50ms"];
    let mut looping = Looping::start(&machine, &args);
    let rows = |line: &str| {
        let look: serde_json::Value = serde_json::from_str(line).unwrap();
        (look["driver_error"].is_string(), look["cards"].as_array().unwrap().len())
    };
    assert_eq!(rows(&looping.line()), (false, 3));
    machine
        .becomes(&format!("{STEADY}\n[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n"));
    let away = std::iter::from_fn(|| Some(looping.line())).take(200);
    let away = away.map(|line| rows(&line)).find(|(is_away, _)| *is_away);
    assert_eq!(away, Some((true, 3)));
}
