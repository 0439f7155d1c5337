//! Drivers whose list entries are longer than NVIDIA's header declares, under valgrind: nothing is
//! written beyond a buffer.

use std::fs::File;
use std::process::{Command, Stdio};

use nvidia_ml::skip::skipped;
use serde_json::Value;

use crate::machine::{Machine, run};
use crate::recorder::Recorder;

/// The numbers of processes on each card. Without a remedy, up to 24 give wrong pids, and more
/// write beyond a buffer for 32 entries.
const PROCESSES: [u32; 4] = [3, 24, 25, 100];

/// Makes valgrind fail where it finds an invalid access.
const INVALID: &str = "--error-exitcode=99";

/// A driver that is known for longer entries, and one that is not.
const KNOWN: &str = "[driver]\nversion = \"535.54.03\"\n";
const UNKNOWN: &str = "[driver]\nversion = \"999.1\"\n\
                       [[fault]]\ncall = \"*RunningProcesses_v3\"\nextra_bytes = 8\n";

/// A machine with this driver: pids from 1000 on its first card, from 2000 on the second.
fn machine(driver: &str) -> Machine {
    let mut scenario = driver.to_owned();
    for (card, count) in (0..).zip(PROCESSES) {
        scenario += "[[card]]\nutilization = 0\n";
        for pid in pids(card, count) {
            scenario += &format!("[[process]]\npid = {pid}\ncard = {card}\nmemory = \"9MiB\"\n");
        }
    }
    Machine::new(&scenario)
}

fn pids(card: u32, count: u32) -> impl Iterator<Item = u32> {
    let first = 1000 * (card + 1);
    first..first + count
}

/// The same command under valgrind; `None` where that is not installed.
fn under_valgrind(gua: &Command) -> Option<Command> {
    let mut valgrind = Command::new("valgrind");
    let is_there = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !is_there.is_ok_and(|status| status.success()) {
        skipped("lists with longer entries under valgrind", "valgrind is not installed");
        return None;
    }
    // Only accesses are checked; uninitialised values would take twice as long.
    valgrind.args(["-q", "--undef-value-errors=no", INVALID]);
    valgrind.arg(gua.get_program()).args(gua.get_args()).stdin(Stdio::null());
    for (name, value) in gua.get_envs() {
        match value {
            Some(value) => valgrind.env(name, value),
            None => valgrind.env_remove(name),
        };
    }
    Some(valgrind)
}

#[test]
fn a_known_driver_writes_within_buffers_and_its_pids_are_right() {
    is_read(KNOWN);
}

#[test]
fn an_unknown_driver_writes_within_buffers_and_its_pids_are_right() {
    is_read(UNKNOWN);
}

fn is_read(driver: &str) {
    let machine = machine(driver);
    let gua = machine.command(&["stat", "--json"]);
    let Some(valgrind) = under_valgrind(&gua) else { return };
    let run = run(valgrind);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let shown: Value = serde_json::from_str(&run.stdout).unwrap();
    for (card, count) in (0..).zip(PROCESSES) {
        let holders = shown["cards"][card as usize]["holders"].as_array().unwrap();
        let mut listed: Vec<_> = holders.iter().map(|holder| holder["pid"].as_u64()).collect();
        listed.sort_unstable();
        let expected: Vec<_> = pids(card, count).map(|pid| Some(u64::from(pid))).collect();
        assert_eq!(listed, expected, "card {card}");
    }
}

/// The recorder died before its first tick.
#[test]
fn the_recorder_records_the_right_pids() {
    let machine = machine(KNOWN);
    let Some(valgrind) = under_valgrind(&machine.command(&["daemon", "--foreground"])) else {
        return;
    };
    let recorder = Recorder::with(&machine, &["--interval", "100ms"], |command| {
        let log = File::options().append(true).open(machine.dir().join("stderr")).unwrap();
        *command = valgrind;
        command.args(["--interval", "100ms"]).stdout(Stdio::null()).stderr(log);
    });
    let expected: Vec<_> =
        (0..).zip(PROCESSES).flat_map(|(card, count)| pids(card, count)).collect();
    let count = i64::try_from(expected.len()).unwrap();
    assert_eq!(recorder.number("SELECT count(*) FROM process"), count);
    let sum = expected.into_iter().map(i64::from).sum::<i64>();
    assert_eq!(recorder.number("SELECT sum(pid) FROM process"), sum);
    recorder.end();
}

#[test]
fn a_card_whose_lists_are_all_rejected_is_not_free() {
    let lists = "[[fault]]\ncall = \"*RunningProcesses*\"\nextra_bytes = 8\n";
    let process = "[[process]]\npid = 1\ncard = 0\nmemory = \"40GiB\"\n";
    let machine = Machine::new(&format!("[[card]]\nutilization = 0\n{process}{lists}"));
    let run = machine.gua(&["stat", "--json"]);
    let shown: Value = serde_json::from_str(&run.stdout).unwrap();
    let card = &shown["cards"][0];
    assert_eq!(card["state"], "idle-held");
    assert_eq!(card["holders_complete"], false);
    assert_eq!(card["unknown"]["holders"], "entry_size");
    let text = machine.gua(&["stat"]).stdout;
    let said = "holders not readable: the driver's list has entries of an unknown size";
    assert!(text.contains(said), "{text}");
}
