//! The commands do as the config says, and options win over it.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::{with, write_user};
use crate::machine::Machine;
use crate::recorder::{Background, Recorder};

/// Other lines than the usual ones: of the lab's cards one that works is idle then, and one that
/// is held is free.
const LINES: &str = "[thresholds]\nactive_percent = 70\nheld_mb = 9000\n";

fn json(machine: &Machine, args: &[&str]) -> Value {
    let run = machine.gua(args);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {run:?}"))
}

#[test]
fn every_look_is_judged_by_the_lines_of_the_config() {
    let usual = Machine::bundled("lab.toml");
    let other = with(LINES, "");
    let states = |machine: &Machine| -> Vec<String> {
        let stat = json(machine, &["stat", "--json"]);
        let cards = stat["cards"].as_array().unwrap().iter();
        cards.map(|card| card["state"].as_str().unwrap().to_owned()).collect()
    };
    let before = ["active", "idle-held", "free", "active", "idle-held", "unknown"];
    assert_eq!(states(&usual), before);
    let after = ["active", "free", "free", "idle-held", "idle-held", "unknown"];
    assert_eq!(states(&other), after);
    let query = other.gua(&["query", "--fields", "state", "--noheader"]).stdout;
    assert_eq!(query.lines().take(5).collect::<Vec<_>>(), &after[..5]);
    let who = json(&other, &["who", "--json"]);
    let of = |pid: u64| who["holders"].as_array().unwrap().iter().find(|held| held["pid"] == pid);
    assert_eq!(of(5678).unwrap()["state"], "free");
    assert_eq!(of(41_200).unwrap()["card_state"], "idle-held");
    assert_eq!(of(41_200).unwrap()["state"], "active", "it works all the same");
    let pick = json(&other, &["pick", "--no-reserve", "--json"]);
    assert_eq!(pick["cards"][1]["reason"], "not_needed", "nobody holds it by these lines: {pick}");
    assert_eq!(pick["cards"][3]["reason"], "held", "62 % are not busy by these lines: {pick}");
}

#[test]
fn the_recorder_takes_beat_place_and_lines_from_the_config() {
    let machine = with(LINES, "[recorder]\ninterval = \"200ms\"\n");
    let recorder = Recorder::with(&machine, &[], |_| ());
    assert_eq!(recorder.number("SELECT interval_ms FROM run"), 200);
    let lines = "active from 7000 hundredths of a percent on, held above 9216000 KiB";
    assert_eq!(recorder.event("lines"), lines);
    recorder.end();
    let recorder = Recorder::with(&machine, &["--interval", "100ms"], |_| ());
    assert_eq!(recorder.number("SELECT interval_ms FROM run ORDER BY id DESC"), 100);
    recorder.end();
}

/// The file is gone on with as the one at home is: nobody named it by accident.
#[test]
fn the_database_of_the_config_is_the_usual_one() {
    let machine = Machine::bundled("lab.toml");
    let path = machine.dir().join("elsewhere/history.db");
    fs::create_dir(path.parent().unwrap()).unwrap();
    write_user(&machine, &format!("[database]\npath = \"{}\"\n", path.display()));
    for runs in [1, 2] {
        let (told, guard) = Background::start(&machine, &["--interval", "100ms"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.stdout.contains("elsewhere/history.db"), "{}", told.stdout);
        assert_eq!(json(&machine, &["status", "--json"])["state"], "recording");
        assert_eq!(machine.gua(&["stop"]).code, Some(0));
        drop(guard);
        assert_eq!(json(&machine, &["db", "info", "--json"])["rows"]["run"], runs);
    }
    assert_eq!(machine.gua(&["report"]).code, Some(0));
    assert!(!machine.home().join(".gua/gua.db").exists());
    let doctor = json(&machine, &["doctor", "--json"]);
    assert_eq!(doctor["facts"]["database"]["path"], path.display().to_string());
}

/// What was recorded by other lines than are asked for is judged again, not taken for theirs.
#[test]
fn a_report_knows_by_which_lines_was_recorded() {
    let machine = with("", LINES);
    let mut recorder = Recorder::with(&machine, &["--interval", "100ms"], |_| ());
    recorder.has_ticked(5);
    recorder.signal(Signal::TERM);
    recorder.ended();
    let share = |report: &Value, card: usize, state: &str| {
        report["cards"][card]["states"][state]["share"].as_f64().unwrap()
    };
    let by_config = json(&machine, &["report", "--json"]);
    assert_eq!(by_config["judged_again"], Value::Null, "{by_config}");
    assert_eq!(by_config["thresholds"]["active_percent"], 70.0);
    assert_eq!(share(&by_config, 3, "idle_held"), 1.0);
    write_user(&machine, "");
    let by_default = json(&machine, &["report", "--json"]);
    assert_ne!(by_default["judged_again"], Value::Null);
    assert_eq!(share(&by_default, 3, "active"), 1.0);
    let by_options = ["report", "--json", "--active-percent", "70", "--held-mb", "9000"];
    let by_options = json(&machine, &by_options);
    assert_eq!(by_options["judged_again"], Value::Null);
    assert_eq!(by_options["cards"], by_config["cards"]);
}

#[test]
fn what_is_kept_is_as_the_config_says() {
    let machine = with("[retention]\nsamples = \"7d\"\nspans = \"20d\"\n", "");
    let path = machine.dir().join("lab.db").display().to_string();
    assert_eq!(machine.gua(&["demo", "--db", &path]).code, Some(0));
    let kept = |args: &[&str]| {
        let pruned = json(&machine, &[&["db", "prune", "--json", "--db", &path], args].concat());
        let seconds = |key: &str| pruned[key].as_f64().unwrap();
        (seconds("keep_samples_seconds"), seconds("keep_spans_seconds"))
    };
    let day = 86_400.0;
    assert_eq!(kept(&[]), (7.0 * day, 20.0 * day));
    assert_eq!(kept(&["--keep-spans", "30d"]), (7.0 * day, 30.0 * day));
    assert_eq!(kept(&["--keep-spans", "2d"]), (2.0 * day, 2.0 * day));
}

/// What cannot be as a file says is said, also where no other mistake is in it.
#[test]
fn samples_that_would_outlast_spans_are_told() {
    let machine = with("[retention]\nsamples = \"7d\"\nspans = \"1d\"\n", "");
    let told = machine.gua(&["config", "check"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.stderr.starts_with("gua: samples are kept for 1d and not for 7d ("), "{told:?}");
    let path = machine.dir().join("lab.db").display().to_string();
    assert_eq!(machine.gua(&["demo", "--db", &path]).code, Some(0));
    let pruned = machine.gua(&["db", "prune", "--json", "--db", &path]);
    assert!(
        pruned.stderr.starts_with("gua: samples are kept for 1d and not for 7d ("),
        "{pruned:?}"
    );
    let kept: Value = serde_json::from_str(&pruned.stdout).unwrap();
    assert_eq!(kept["keep_samples_seconds"], kept["keep_spans_seconds"]);
}

/// The lines are kept as long as what was judged by them, and no longer.
#[test]
fn lines_go_with_their_run() {
    let machine = with(LINES, "");
    for _ in 0..3 {
        Recorder::with(&machine, &["--interval", "100ms"], |_| ()).end();
    }
    let database = machine.home().join(".gua/gua.db");
    let ask = |sql: &str| -> i64 {
        let database = rusqlite::Connection::open(&database).unwrap();
        database.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let lines = "SELECT count(*) FROM event WHERE kind = 'lines'";
    let change = |sql: &str| {
        rusqlite::Connection::open(&database).unwrap().execute_batch(sql).unwrap();
    };
    // As if the runs had begun long ago and gone on until today.
    change("UPDATE event SET at_ms = 0");
    assert_eq!(machine.gua(&["db", "prune"]).code, Some(0));
    assert_eq!(ask(lines), 3);
    assert_eq!(machine.gua(&["db", "check"]).code, Some(0));
    // And as if nothing were left of them; the first and the newest are never forgotten.
    change("DELETE FROM sample; DELETE FROM tick; DELETE FROM observed; DELETE FROM card_span");
    change("DELETE FROM owner_span; DELETE FROM holder_span; DELETE FROM unseen_span");
    assert_eq!(machine.gua(&["db", "prune"]).code, Some(0));
    assert_eq!((ask("SELECT count(*) FROM run"), ask(lines)), (2, 2));
}

/// What is kept is shown: in the sessions of a report, and in an export.
fn shown(machine: &Machine, is_kept: bool) {
    let told = machine.gua(&["report", "--since", "1h", "--json"]);
    let report: Value = serde_json::from_str(&told.stdout).unwrap();
    let masked = "python train.py --token=***";
    let expected = if is_kept { Value::from(masked) } else { Value::Null };
    assert_eq!(report["sessions"][0]["command"], expected, "{report}");
    for args in [&["report", "--since", "1h", "--format", "csv"][..], &["db", "export"]] {
        let told = machine.gua(args);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_eq!(told.stdout.contains(masked), is_kept, "{told:?}");
        assert!(!told.stdout.contains("hunter2"), "{told:?}");
    }
}

/// Arguments may hold secrets, so nobody keeps them unasked, and masked then.
#[test]
fn commands_are_kept_only_when_asked_for() {
    let scenario = "[[card]]\n[[process]]\npid = 7\ncard = 0\nmemory = \"9GiB\"\nuser = \"ann\"\n\
                    command = [\"python\", \"train.py\", \"--token=hunter2\"]\nbegin = \"-1h\"\n";
    let kept = |config: &str| {
        let machine = Machine::new(scenario);
        write_user(&machine, config);
        let recorder = Recorder::with(&machine, &["--interval", "100ms"], |_| ());
        let command = recorder.number("SELECT count(command) FROM workload");
        let path = recorder.database.clone();
        recorder.end();
        shown(&machine, config.contains("true"));
        let database = rusqlite::Connection::open(path).unwrap();
        let text = "SELECT ifnull(max(command), '') || '|' || max(script) FROM workload";
        (command, database.query_row(text, [], |row| row.get::<_, String>(0)).unwrap())
    };
    assert_eq!(kept(""), (0, "|train.py".to_owned()));
    let (count, text) = kept("[identity]\nstore_command = true\n");
    assert_eq!(count, 1);
    assert!(text.starts_with("python train.py --token=") && !text.contains("hunter2"), "{text}");
}
