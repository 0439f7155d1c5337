//! `gua query` held against nvidia-smi on the same machine.

use std::process::Command;

use super::{STEADY, printed};
use crate::machine::Machine;

/// All that both have, but for the time, which passes between them.
const FIELDS: &str = "name,index,uuid,pci.bus_id,driver_version,count,pstate,temperature.gpu,\
                      utilization.gpu,utilization.memory,utilization.encoder,utilization.decoder,\
                      memory.total,memory.free,memory.used,memory.reserved,power.draw,power.limit,\
                      enforced.power.limit,clocks.sm,clocks.mem,fan.speed,compute_mode,\
                      persistence_mode,mig.mode.current";

fn nvidia_smi(machine: &Machine, args: &[&str]) -> String {
    let mut command = Command::new(machine.bin().join("nvidia-smi"));
    let envs = machine.command(&[]);
    for (name, value) in envs.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn assert_same(machine: &Machine, args: &[&str]) {
    let ours = machine.gua(&[&["query"], args].concat());
    assert_eq!(printed(&ours), nvidia_smi(machine, args), "{args:?}");
}

#[test]
fn the_same_words_give_the_same_lines() {
    let machine = Machine::new(STEADY);
    let fields = format!("--query-gpu={FIELDS}");
    for format in ["csv", "csv,noheader", "csv,nounits", "csv,noheader,nounits"] {
        assert_same(&machine, &[&fields, &format!("--format={format}")]);
    }
    assert_same(&machine, &[&fields, "--format=csv", "-i", "1"]);
    assert_same(&machine, &[&fields, "--format=csv", "--id=GPU-a"]);
    assert_same(&machine, &["--query-gpu=index", "--format=csv", "-i", "00000000:5e:00.0"]);
}

#[test]
fn holders_that_compute_are_the_same() {
    let machine = Machine::new(STEADY);
    let fields = "--query-compute-apps=gpu_name,gpu_bus_id,gpu_uuid,pid,process_name,used_memory";
    for format in ["--format=csv", "--format=csv,noheader,nounits"] {
        assert_same(&machine, &[fields, format]);
    }
    let gone = "[[card]]\n[[process]]\npid = 9\ncard = 0\nmemory = \"1GiB\"\ngone = true\n\
                [[process]]\npid = 11\ncard = 0\nmemory = \"1GiB\"\nkind = \"graphics\"\n";
    assert_same(&Machine::new(gone), &["--query-compute-apps=pid,name", "--format=csv"]);
}

/// What one call refuses is unknown in the same words.
#[test]
fn what_is_refused_is_named_the_same() {
    let refused = [
        ("nvmlDeviceGetPowerUsage", "power.draw"),
        ("nvmlDeviceGetTemperature*", "temperature.gpu"),
        ("nvmlDeviceGetPerformanceState", "pstate"),
        ("nvmlDeviceGetComputeMode", "compute_mode"),
        ("nvmlDeviceGetPersistenceMode", "persistence_mode"),
        ("nvmlDeviceGetFanSpeed*", "fan.speed"),
    ];
    for (call, field) in refused {
        for code in ["NOT_SUPPORTED", "NO_PERMISSION", "UNKNOWN", "TIMEOUT"] {
            let fault = format!("{STEADY}\n[[fault]]\ncall = \"{call}\"\ncode = \"{code}\"\n");
            let fields = format!("--query-gpu=index,{field}");
            assert_same(&Machine::new(&fault), &[&fields, "--format=csv", "-i", "1"]);
        }
    }
}

/// As people have it in their notes.
#[test]
fn lines_of_others_are_understood_as_they_are() {
    let machine = Machine::new(STEADY);
    let line =
        ["query", "--query-gpu=timestamp,pstate", "--format=csv", "-l", "1", "-t", "-n", "1"];
    let run = machine.gua(&line);
    assert_eq!((run.code, run.stdout.lines().next()), (Some(0), Some("timestamp, pstate")));
    let line = ["query", "--query-gpu=index", "--format=csv", "-t", "-n", "1", "-l"];
    let run = machine.gua(&line);
    assert_eq!(
        (run.code, run.stdout.lines().next()),
        (Some(0), Some("timestamp, index")),
        "{run:?}"
    );
    let fields = machine.gua(&["query", "--list-fields"]);
    for word in ["--help-query-gpu", "--help-query-compute-apps"] {
        assert_eq!(machine.gua(&["query", word]).stdout, fields.stdout);
    }
}

#[test]
fn a_field_may_be_asked_for_twice() {
    let machine = Machine::new(STEADY);
    let run = machine.gua(&["query", "--query-gpu=index,index,name", "--format=csv", "-i", "0"]);
    assert_eq!(run.stdout.lines().next(), Some("index, index, name"), "{run:?}");
    let run = machine.gua(&["query", "--query-gpu=index,index", "--format=json", "-i", "0"]);
    assert_eq!(run.stdout.matches("\"index\"").count(), 1, "{run:?}");
}
