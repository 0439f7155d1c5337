//! What `gua who` says when something is not known, and how it fails.

use std::fs;

use serde_json::Value;

use super::{json, text, users};
use crate::faults::{FAULTS, TWO_CARDS};
use crate::machine::{Machine, PYTHON_GUA, program, run};

#[test]
fn every_fault_is_survived_and_told() {
    for (name, fault) in FAULTS {
        let machine = Machine::new(&format!("{TWO_CARDS}{fault}"));
        let run = machine.gua(&["who", "--json"]);
        assert!(matches!(run.code, Some(0 | 1)), "{name}: {run:?}");
        assert!(!run.stderr.contains("panicked"), "{name}: {run:?}");
        if run.stdout.is_empty() {
            assert!(run.stderr.starts_with("gua: cannot read the driver"), "{name}: {run:?}");
            continue;
        }
        let who: Value = serde_json::from_str(&run.stdout).unwrap();
        for held in who["holders"].as_array().unwrap() {
            let is_unknown = held["state"] == "unknown";
            assert_eq!(is_unknown, held["state_reason"].is_string(), "{name}: {held}");
        }
    }
}

#[test]
fn a_lost_card_has_unknown_holders() {
    let machine = Machine::bundled("lab.toml");
    let unlisted = json(&machine, &[])["unlisted"].clone();
    assert_eq!(unlisted[0]["card"]["index"], 5, "{unlisted}");
    assert_eq!(unlisted[0]["state_reason"], "lost");
    assert_eq!(unlisted[0]["memory_bytes"], Value::Null);
    assert_eq!(unlisted.as_array().unwrap().len(), 1, "{unlisted}");
}

#[test]
fn who_is_not_listed_is_somebody_all_the_same() {
    let fault = "[[fault]]\ncall = \"*RunningProcesses*\"\ncard = 0\ncode = \"NO_PERMISSION\"\n";
    let machine = Machine::new(&format!("{TWO_CARDS}{fault}"));
    insta::assert_snapshot!(text(&machine, &[], "100"), @"
    held on two, longest idle first
      idle  who  card   memory  program                      pid  running  idle since
       now  ?    0     7.8 GiB  (not listed: no permission)    ?        ?  not recorded
    1 card is idle-held. Ask first.
    ");
    let unattributed = "[[card]]\nutilization = 0\nunattributed = \"40GiB\"\n";
    insta::assert_snapshot!(text(&Machine::new(unattributed), &["--id", "0"], "100"), @"
    held on pretend, longest idle first
      idle  who  card    memory  program               pid  running  idle since
       now  ?    0     40.0 GiB  (no visible process)    ?        ?  not recorded
    1 card is idle-held. Ask first.
    ");
}

#[test]
fn no_driver_is_a_sentence() {
    let run = run(program(&["--nvml", "/nowhere.so", "who"]));
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.starts_with("gua: cannot read the driver: /nowhere.so was not found\n"));
}

/// What was named must be there; the usual one need not.
#[test]
fn a_history_that_cannot_be_read() {
    let machine = Machine::new(TWO_CARDS);
    let run = machine.gua(&["who", "--db", "/nowhere/gua.db"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.starts_with("gua: cannot use /nowhere/gua.db: there is no such file"));
    fs::create_dir(machine.home().join(".gua")).unwrap();
    fs::write(machine.home().join(".gua/gua.db"), "not a database").unwrap();
    let who = json(&machine, &[]);
    assert_eq!(who["history"]["state"], "none");
    let reason = who["history"]["reason"].as_str().unwrap();
    assert!(reason.contains("cannot be read: it is not a database of gua"), "{reason}");
    assert_eq!(who["holders"][0]["idle_doubt"], "no_history");
    let said = machine.gua(&["who"]).stderr;
    assert!(!said.contains("gua daemon"), "recording is not what is missing: {said}");
}

#[test]
fn wrong_usage_is_refused() {
    let machine = Machine::new(TWO_CARDS);
    for args in [
        &["who", "--idle", "soon"][..],
        &["who", "--idle", "0s"],
        &["who", "--watch", "0"],
        &["who", "--id", "7"],
        &["who", "bob"],
    ] {
        let run = machine.gua(args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?} {run:?}");
    }
}

/// Trap: memory that could not be read was taken for none, and the card was not told of at all.
#[test]
fn memory_that_cannot_be_read_may_be_somebodys() {
    let fault = "[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\ncode = \"NO_PERMISSION\"\n";
    let machine = Machine::new(&format!("{TWO_CARDS}{fault}"));
    insta::assert_snapshot!(text(&machine, &[], "100"), @"
    held on two, longest idle first
         idle  who  card   memory  program                pid  running  idle since
          now  bob  0     7.8 GiB  jupyter-lab            200    3d02h  not recorded
      unknown  ?    1       ? GiB  (memory not readable)    ?        ?  no permission
    1 card is idle-held. Ask first.
    ");
    let unlisted = json(&machine, &[])["unlisted"][0].clone();
    assert_eq!((&unlisted["card"]["index"], &unlisted["memory_bytes"]), (&1.into(), &Value::Null));
    assert_eq!(unlisted["unknown"]["memory_bytes"], "no_permission", "{unlisted}");
}

/// No card is missing: it is free, or there is a line for it.
#[test]
fn every_card_that_is_not_free_is_told_of() {
    for (name, fault) in FAULTS {
        let machine = Machine::new(&format!("{TWO_CARDS}{fault}"));
        let stat = machine.gua(&["stat", "--json"]);
        let Ok(stat) = serde_json::from_str::<Value>(&stat.stdout) else { continue };
        let run = machine.gua(&["who", "--json"]);
        let who: Value = serde_json::from_str(&run.stdout).unwrap();
        for card in stat["cards"].as_array().unwrap() {
            let is_it = |row: &&Value| row["card"]["index"] == card["index"];
            let told = ["holders", "unlisted"].map(|list| who[list].as_array().unwrap().iter());
            let is_told = told.into_iter().flatten().any(|row| is_it(&row));
            assert!(is_told || card["state"] == "free", "{name}: {card} {who}");
        }
    }
}

/// Trap: they were left out without a word.
#[test]
fn who_may_be_idle_is_counted() {
    let fault = "[[fault]]\ncall = \"nvmlDeviceGet*Utiliz*\"\ncode = \"UNKNOWN\"\n\
                 [[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"UNKNOWN\"\n";
    let machine = Machine::new(&format!("{TWO_CARDS}{fault}"));
    let run = machine.gua(&["who", "--idle", "30m"]);
    assert_eq!(run.stdout, "no card on two is known to be held idle for 30m or longer\n");
    assert!(run.stderr.ends_with("; one more may be idle: its card cannot be judged\n"), "{run:?}");
    assert_eq!(json(&machine, &["--idle", "30m"])["unknown_left_out"], 1);
    let lost = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"GPU_IS_LOST\"\n";
    let machine = Machine::new(&format!("{TWO_CARDS}{lost}"));
    let run = machine.gua(&["who", "--user", "bob"]);
    assert!(run.stderr.ends_with("; further holders of one card are unknown\n"), "{run:?}");
}

/// One of the Python gua is read as it is; it knows no process by its start.
#[test]
fn a_history_of_the_python_gua_is_read() {
    let machine = Machine::new(TWO_CARDS);
    let path = machine.dir().join("old.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(PYTHON_GUA).unwrap();
    let run = machine.gua(&["who", "--json", "--db", path.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let who: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(users(&who), ["bob"]);
    let run = machine.gua(&["pick", "--no-reserve", "--db", path.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{run:?}");
}
