//! What `gua pick` says when something is not known, and how it fails.

use serde_json::Value;

use super::{chosen, free_cards, json, pick};
use crate::faults::{FAULTS, TWO_CARDS};
use crate::machine::{Machine, program, run};

#[test]
fn every_fault_is_survived_and_told() {
    for (name, fault) in FAULTS {
        let machine = Machine::new(&format!("{TWO_CARDS}{fault}"));
        let run = machine.gua(&["pick", "--json", "--min-free", "1GB"]);
        assert!(matches!(run.code, Some(0 | 1)), "{name}: {run:?}");
        assert!(!run.stderr.contains("panicked"), "{name}: {run:?}");
        if run.stdout.is_empty() {
            assert!(run.stderr.starts_with("gua: cannot read the driver"), "{name}: {run:?}");
            continue;
        }
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        for card in answer["cards"].as_array().unwrap() {
            let is_unknown = card["state"] == "unknown" || card["uuid"].is_null();
            for field in ["uuid", "name", "memory_free_bytes", "utilization_percent"] {
                let has_reason = card["unknown"][field].is_string();
                assert_eq!(card[field].is_null(), has_reason, "{name} {field}: {card}");
            }
            assert!(!is_unknown || card["reason"] == "unknown", "{name}: {card}");
            assert_eq!(card["chosen"] == true, card["reason"].is_null(), "{name}: {card}");
        }
    }
}

#[test]
fn what_is_not_known_is_not_chosen() {
    for fault in [
        "call = \"nvmlDeviceGet*\"\ncode = \"GPU_IS_LOST\"",
        "call = \"nvmlDeviceGetSamples\"\nhang = true",
        "call = \"*RunningProcesses*\"\ncode = \"NO_PERMISSION\"",
        "call = \"nvmlDeviceGetMemoryInfo*\"\ncode = \"NO_PERMISSION\"",
        "call = \"nvmlDeviceGetUUID\"\ncode = \"UNKNOWN\"",
    ] {
        let machine = Machine::new(&format!("{}[[fault]]\ncard = 0\n{fault}\n", free_cards(2)));
        let answer = json(&machine, &[]);
        assert_eq!(chosen(&answer), [1], "{fault}: {answer}");
        assert_eq!(answer["cards"][0]["reason"], "unknown", "{fault}");
    }
}

#[test]
fn no_driver_is_a_sentence() {
    let run = run(program(&["--nvml", "/nowhere.so", "pick", "--no-reserve"]));
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.starts_with("gua: cannot read the driver: /nowhere.so was not found\n"));
}

#[test]
fn no_cards_is_a_sentence() {
    let (code, said) = pick(&Machine::new("[host]\nname = \"none\"\n"), &["--wait"]).unwrap_err();
    assert_eq!(code, Some(1));
    assert!(said.contains("gua: 1 card wanted: no card found\n"), "{said}");
}

#[test]
fn wrong_usage_is_refused_with_a_sentence() {
    let machine = Machine::new(&free_cards(2));
    for (args, words) in [
        (&["-n", "0"][..], "expected a number of cards from 1 to 4096"),
        (&["-n", "-1"], "expected a number of cards from 1 to 4096"),
        (&["-n", "many"], "expected a number of cards from 1 to 4096"),
        (&["--min-free", "20"], "expected a number and MB, GB"),
        (&["--min-free", "-1GB"], "expected a number and MB, GB"),
        (&["--max-util", "101"], "expected a percentage from 0 to 100"),
        (&["--max-util", "NaN"], "expected a percentage from 0 to 100"),
        (&["--over", "0s"], "expected at least 1ms"),
        (&["--wait", "soon"], "expected a number and ms, s, m, h, d, w or mo"),
        (&["--reserve", "2h"], "expected at most 1h"),
        (&["--format", "csv"], "possible values: indices, uuids, env"),
        (&["--json", "--", "true"], "cannot be used with"),
        (&["--id", "7"], "there is no card `7` here"),
        (&["--"], "there is no command after `--`"),
        (&["-n", "2", "--"], "there is no command after `--`"),
    ] {
        let (code, said) = pick(&machine, args).unwrap_err();
        assert_eq!(code, Some(2), "{args:?} {said}");
        assert!(said.contains(words), "{args:?} {said}");
    }
    let (code, said) = pick(&machine, &["--db", "/nowhere/gua.db"]).unwrap_err();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("gua: cannot use /nowhere/gua.db: there is no such file"));
}
