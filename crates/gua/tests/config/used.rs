//! The commands do as the config says, and options win over it.

use std::fs;
use std::time::SystemTime;

use gua_core::units::UnixMillis;
use rustix::process::Signal;
use serde_json::Value;

use super::{with, write_user};
use crate::history::{MINUTE, Recording, card};
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
fn recorder_takes_interval_and_thresholds_from_the_config() {
    let machine = with(LINES, "[recorder]\ninterval = \"200ms\"\n");
    let recorder = Recorder::with(&machine, &[], |_| ());
    assert_eq!(recorder.number("SELECT interval_ms FROM run"), 200);
    assert_eq!(recorder.number("SELECT active_centipercent FROM run"), 7000);
    assert_eq!(recorder.number("SELECT held_kib FROM run"), 9000 * 1024);
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

/// Thresholds belong to the run: recorded time is never classified again.
#[test]
fn report_has_the_thresholds_of_the_recording() {
    let machine = with("", LINES);
    let mut recorder = Recorder::with(&machine, &["--interval", "100ms"], |_| ());
    recorder.has_ticked(5);
    recorder.signal(Signal::TERM);
    recorder.ended();
    write_user(&machine, "");
    let report = json(&machine, &["report", "--json"]);
    assert_eq!(report["thresholds"]["active_percent"], 70.0);
    assert_eq!(report["cards"][3]["states"]["idle_held"]["share"], 1.0, "{report}");
}

/// Records an hour, now.
fn database(machine: &Machine) -> String {
    let path = machine.dir().join("lab.db");
    let now = UnixMillis::from(SystemTime::now()).0;
    let mut run = Recording::begin(&path, now - 60 * MINUTE, 30_000);
    run.until(now, 10, |_| vec![card("NVIDIA A100", 80.0).held_by("ann", 1000, 9_000)]);
    run.end("stopped");
    path.display().to_string()
}

#[test]
fn rows_are_kept_as_long_as_the_config_says() {
    let machine = with("[retention]\nsamples = \"3d\"\nhours = \"20d\"\n", "");
    let path = database(&machine);
    let kept = |args: &[&str]| {
        let pruned = json(&machine, &[&["db", "prune", "--json", "--db", &path], args].concat());
        ["exact", "quarters", "hours", "samples"]
            .map(|kind| pruned[format!("keep_{kind}_seconds")].as_f64().unwrap() / 86_400.0)
    };
    assert_eq!(kept(&[]), [2.0, 20.0, 20.0, 3.0]);
    assert_eq!(kept(&["--keep-hours", "50d"]), [2.0, 30.0, 50.0, 3.0]);
    assert_eq!(kept(&["--keep-hours", "1d", "--keep-samples", "9d"]), [1.0, 1.0, 1.0, 9.0]);
}

/// A file that cannot be followed in full is no mistake, but it is said.
#[test]
fn rows_that_would_outlast_their_sums_are_named() {
    let machine = with("[retention]\nquarters = \"7d\"\nhours = \"1d\"\nexact = \"1d\"\n", "");
    let expected = "gua: `quarters` is 1d instead of 7d (system ";
    let checked = machine.gua(&["config", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.stderr.starts_with(expected), "{checked:?}");
    let path = database(&machine);
    let pruned = machine.gua(&["db", "prune", "--json", "--db", &path]);
    assert!(pruned.stderr.starts_with(expected), "{pruned:?}");
    let kept: Value = serde_json::from_str(&pruned.stdout).unwrap();
    assert_eq!(kept["keep_quarters_seconds"], kept["keep_hours_seconds"]);
}

/// An export has the commands that are kept.
fn assert_exported(machine: &Machine, is_kept: bool) {
    let exported = machine.gua(&["db", "export", "--what", "holders"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let masked = "python train.py --token=***";
    assert_eq!(exported.stdout.contains(masked), is_kept, "{exported:?}");
    assert!(!exported.stdout.contains("hunter2"), "{exported:?}");
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
        assert_exported(&machine, config.contains("true"));
        let database = rusqlite::Connection::open(path).unwrap();
        let text = "SELECT ifnull(max(command), '') || '|' || max(script) FROM workload";
        (command, database.query_row(text, [], |row| row.get::<_, String>(0)).unwrap())
    };
    assert_eq!(kept(""), (0, "|train.py".to_owned()));
    let (count, text) = kept("[identity]\nstore_command = true\n");
    assert_eq!(count, 1);
    assert!(text.starts_with("python train.py --token=") && !text.contains("hunter2"), "{text}");
}
