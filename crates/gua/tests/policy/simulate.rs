//! What the rules would have done over a lab's week.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::machine::{Machine, assert_fits, program, run};

const RULES: &str = r#"
[[policy.rule]]
name = "the H100s"
match = { card = "H100", memory_over = "1GB" }
idle_for = "2h"
notices = ["1h", "1h45m"]
action = "end"
notify = ["tty"]

[[policy.rule]]
name = "everybody"
idle_for = "40m"
notices = ["20m"]
"#;

/// A week of the demo's lab, and the rules in a file.
fn week() -> (Machine, PathBuf, PathBuf) {
    let machine = Machine::new("[[card]]\n");
    let (db, rules) = (machine.dir().join("week.db"), machine.dir().join("rules.toml"));
    let made = run(program(&[
        "demo",
        "--days",
        "7",
        "--at",
        "2026-11-15T20:00:00Z",
        "--db",
        db.to_str().unwrap(),
    ]));
    assert_eq!(made.code, Some(0), "{made:?}");
    super::write(&rules, RULES);
    (machine, db, rules)
}

/// Returns what the rules would have done in that week.
fn simulated(machine: &Machine, db: &Path, rules: &Path, more: &[&str]) -> String {
    let mut args = vec!["policy", "simulate", "--config", rules.to_str().unwrap()];
    args.extend(["--db", db.to_str().unwrap()]);
    args.extend(["--from", "2026-11-08T20:00:00Z", "--until", "2026-11-15T20:00:00Z"]);
    args.extend(more);
    let told = machine.gua(&args);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    told.stdout
}

#[test]
fn a_week_of_a_lab() {
    let (machine, db, rules) = week();
    let asked = |more: &[&str]| simulated(&machine, &db, &rules, more);
    insta::assert_snapshot!(asked(&[]));
    let elsewhere = asked(&["--tz", "+02:00"]);
    assert!(
        elsewhere.starts_with("8 Nov 22:00 → 15 Nov 2026 22:00 +02:00: 24 holders"),
        "{elsewhere}"
    );
    let json: serde_json::Value = serde_json::from_str(&asked(&["--json"])).unwrap();
    assert_eq!(json["schema"], "gua.policy_simulate/2");
    let holders = json["holders"].as_array().unwrap();
    let won: f64 = holders.iter().map(|it| it["won_gpu_hours"].as_f64().unwrap()).sum();
    assert!((json["total"]["won_gpu_hours"].as_f64().unwrap() - won).abs() < 1e-6);
    assert!(won > 0.0);
    assert_eq!(
        json["uncertainty_seconds"], 900.0,
        "what is older than two days is in quarter hours"
    );
}

/// Regression: sentences were as long as they are, and figures stood beyond the edge.
#[test]
fn it_fits_a_narrow_screen() {
    let (machine, db, rules) = week();
    let shown = |columns: usize| {
        let mut asked =
            machine.command(&["policy", "simulate", "--config", rules.to_str().unwrap()]);
        asked.args(["--db", db.to_str().unwrap(), "--tz", "UTC"]);
        asked.args(["--from", "2026-11-08T20:00:00Z", "--until", "2026-11-15T20:00:00Z"]);
        asked.env("COLUMNS", columns.to_string());
        let told = run(asked);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_fits(&told.stdout, columns);
        told.stdout
    };
    for columns in [30, 40, 60, 80, 120] {
        shown(columns);
    }
    insta::assert_snapshot!(shown(50).lines().take(24).collect::<Vec<_>>().join("\n"));
}

/// Regression: who could not be judged was told as "0 holders told 0 times".
#[test]
fn who_could_not_be_judged_is_told_apart() {
    let (machine, db, rules) = week();
    super::write(
        &rules,
        "[[policy.rule]]\nname = \"students\"\nmatch = { group = \"students\" }\n\
         idle_for = \"2h\"\nnotices = [\"1h\"]\n",
    );
    let asked = |more: &[&str]| simulated(&machine, &db, &rules, more);
    insta::assert_snapshot!(asked(&[]));
    let json: serde_json::Value = serde_json::from_str(&asked(&["--json"])).unwrap();
    insta::assert_json_snapshot!(json["unjudged"]);
}

/// Times are as exact as the rows: exact spans of two days, then quarter hours, then hours.
#[test]
fn uncertainty_grows_with_the_age_of_rows() {
    let machine = Machine::new("[[card]]\n");
    let (db, rules) = (machine.dir().join("months.db"), machine.dir().join("rules.toml"));
    let made = run(program(&[
        "demo",
        "--days",
        "33",
        "--at",
        "2026-11-15T20:00:00Z",
        "--db",
        db.to_str().unwrap(),
    ]));
    assert_eq!(made.code, Some(0), "{made:?}");
    super::write(&rules, RULES);
    let simulated = |since: &str, more: &[&str]| {
        let args = ["policy", "simulate", "--config", rules.to_str().unwrap(), "--db"];
        let window = ["--from", since, "--until", "2026-11-15T20:00:00Z"];
        let told = machine.gua(&[&args[..], &[db.to_str().unwrap()], &window, more].concat());
        assert_eq!(told.code, Some(0), "{told:?}");
        told.stdout
    };
    let days = [
        ("2026-11-14T20:00:00Z", 0.0, ""),
        ("2026-11-08T20:00:00Z", 900.0, "; times are exact to ± 15m"),
        ("2026-10-14T00:00:00Z", 3600.0, "; times are exact to ± 1h"),
    ];
    for (since, seconds, words) in days {
        let json: serde_json::Value = serde_json::from_str(&simulated(since, &["--json"])).unwrap();
        assert_eq!(json["uncertainty_seconds"], seconds, "{since}");
        let basis = simulated(since, &[]).lines().nth(1).unwrap().to_owned();
        assert!(basis.contains(words), "{basis}");
        assert_eq!(basis.contains("exact to"), seconds > 0.0, "{basis}");
    }
    // Sums have no idle time that is shorter than a session.
    super::write(&rules, "[[policy.rule]]\nname = \"all\"\nidle_for = \"4m\"\n");
    for (since, expected) in [(days[0].0, json!(0.0)), (days[1].0, json!(null))] {
        let json: serde_json::Value = serde_json::from_str(&simulated(since, &["--json"])).unwrap();
        assert_eq!(json["uncertainty_seconds"], expected, "{since}");
    }
    assert!(simulated(days[1].0, &[]).contains("ends and notices may be missing"));
}

#[test]
fn without_a_history_it_says_so() {
    let machine = Machine::new("[[card]]\n");
    let told = machine.gua(&["policy", "simulate"]);
    assert_eq!(told.code, Some(1));
    assert!(told.stderr.contains("there is no such file"), "{told:?}");
}
