//! The cards of a pretend machine, held by a real process.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::machine::Machine;

const CARDS: &str = "[[card]]\nname = \"NVIDIA A100-SXM4-80GB\"\nmemory = \"80GiB\"\nutilization = 40\n\
                     [[card]]\nname = \"NVIDIA A100-SXM4-80GB\"\nmemory = \"80GiB\"\nutilization = 90\n";

/// Waits until a row of the table tells of memory on the cards.
fn wait_for_memory(table: &Path) {
    for _ in 0..200_000 {
        let text = fs::read_to_string(table).unwrap_or_default();
        let mut rows = text.lines().skip(2).map(|line| line.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap_or_default();
        let column = header.iter().position(|name| *name == "combined_gpu_ram");
        let is_told = |row: Vec<&str>| {
            let held = column.and_then(|column| row.get(column)?.parse::<f64>().ok());
            held.is_some_and(|held| held > 0.0)
        };
        if rows.any(is_told) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("no memory was ever told: {:?}", fs::read_to_string(table));
}

/// What is told of a process that holds 5 GiB of card 0.
fn held(machine: &Machine, options: &[&str]) -> Value {
    let table = machine.dir().join("t.csv");
    let fixed = ["track", "--json", "--every", "10ms", "--overwrite", "--timeline"];
    let script = "echo $$; read line; :";
    let args =
        [&fixed[..], &[table.to_str().unwrap()], options, &["--", "sh", "-c", script]].concat();
    let mut child = machine
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pid = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    let pid = pid.trim();
    machine.becomes(&format!(
        "{CARDS}[[process]]\npid = {pid}\ncard = 0\nmemory = \"5GiB\"\nsm = 30\n"
    ));
    wait_for_memory(&table);
    drop(child.stdin.take());
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn what_it_held_and_what_the_card_did() {
    let machine = Machine::new(CARDS);
    let told = held(&machine, &[]);
    let gpu = &told["gpu"];
    assert_eq!(gpu["memory_peak_bytes"]["combined"], 5_u64 << 30, "{told}");
    assert_eq!(gpu["cards"].as_array().unwrap().len(), 2);
    assert_eq!(gpu["cards"][0]["memory_peak_bytes"], 5_u64 << 30);
    assert_eq!(gpu["cards"][1]["memory_peak_bytes"], 0);
    assert_eq!(
        (&told["asked"]["gpus"], &told["asked"]["gpus_source"]),
        (&2.into(), &"machine".into())
    );
}

#[test]
fn named_cards_are_what_was_asked_for() {
    let machine = Machine::new(CARDS);
    let told = held(&machine, &["--gpus", "0"]);
    let chosen = |index: usize| told["gpu"]["cards"][index]["is_chosen"].clone();
    assert_eq!((chosen(0), chosen(1)), (true.into(), false.into()), "{told}");
    assert_eq!(
        (&told["asked"]["gpus"], &told["asked"]["gpus_source"]),
        (&1.into(), &"option".into())
    );
}

/// Regression: one lost card made the work of others look like the command's.
#[test]
fn a_lost_card_hides_nothing_of_the_others() {
    let machine = Machine::new(&format!(
        "{CARDS}[[card]]\n[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 2\ncode = \"GPU_IS_LOST\"\n\
         [[process]]\npid = 4000000\ncard = 1\nmemory = \"9GiB\"\nsm = 90\n"
    ));
    let run = |options: &[&str]| {
        let command = ["--", "sleep", "1.2"];
        let told = machine.gua(&[&["track"], options, &command].concat());
        assert_eq!(told.code, Some(0), "{told:?}");
        told.stderr
    };
    let remark = "Card 2 is in no figure: lost from the bus all the while.";
    let text = run(&[]);
    let memory = text.lines().find(|line| line.contains("GPU memory")).unwrap();
    assert!(memory.contains("none") && memory.contains("no GPU"), "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("GPU  ")), "{text}");
    assert_eq!(text.matches(remark).count(), 1, "{text}");
    assert!(!run(&["--gpus", "0"]).contains(remark));

    let told: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let gpu = &told["gpu"];
    assert_eq!(
        (&gpu["memory_peak_bytes"]["combined"], &gpu["unknown"]),
        (&0.into(), &serde_json::json!({}))
    );
    assert_eq!(gpu["cards"][2]["unknown"]["memory_peak_bytes"], "lost", "{told}");
    assert_eq!(told["suggestion"]["gpus"], 0, "{told}");
}

/// A driver that is not there is no reason not to run a command.
#[test]
fn no_driver_is_one_remark() {
    let run = super::super::machine::run(super::super::machine::program(&[
        "track",
        "--nvml",
        "/nowhere/libnvidia-ml.so.1",
        "--",
        "true",
    ]));
    assert_eq!(run.code, Some(0));
    let remark = "Nothing is known of the GPUs: /nowhere/libnvidia-ml.so.1 was not found.";
    assert_eq!(run.stderr.matches(remark).count(), 1, "{}", run.stderr);
}

/// Regression: a driver that hangs held the command up for half a minute.
#[test]
fn a_command_does_not_wait_long_for_a_driver_that_hangs() {
    let machine = Machine::new("[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\nhang = true\n");
    let table = machine.dir().join("t.csv");
    let begun = Instant::now();
    let run = machine.gua(&["track", "--timeline", table.to_str().unwrap(), "--", "true"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let first_row = fs::read_to_string(&table).unwrap().lines().nth(1).unwrap().to_owned();
    let cells: Vec<&str> = first_row.split(',').collect();
    assert_eq!((cells[4], &cells[7..]), ("", &["", ""][..]), "{first_row}");
}
