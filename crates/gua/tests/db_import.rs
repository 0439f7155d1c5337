//! `gua db import`: what it says, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};

use gua::classify::Thresholds;
use gua::report::accounts::{Accounts, By, Name};
use gua::store::History;
use rusqlite::Connection;
use serde_json::Value;

use crate::machine::{PYTHON_GUA, Run, program, run};

/// A home with what the test puts there.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        sqlite(&home.at("old.db"), PYTHON_GUA);
        home
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn import(&self, args: &[&str]) -> Run {
        let mut command = program(&[&["db", "import"], args].concat());
        command.current_dir(self.0.path()).env("GUA_HOME", self.at("home"));
        run(command)
    }

    fn refuses(&self, args: &[&str], code: i32, words: &[&str]) {
        let run = self.import(args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{run:?}");
        for word in words {
            assert!(run.stderr.contains(word), "{args:?}: {}", run.stderr);
        }
    }
}

fn sqlite(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn the_figures_are_told_and_the_next_step() {
    let home = Home::new();
    let told = home.import(&["old.db"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    for line in ["1, in 2 ticks of 1 runs", "active      0.01 GPU-hours, 50.0 %", "gua report --db"]
    {
        assert!(told.stdout.contains(line), "{}", told.stdout);
    }
    assert!(home.at("home/gua.db").exists());
    let json = home.import(&["old.db", "--json", "--db", "other.db"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["schema"], "gua.import/1");
    assert_eq!((&json["gpu_rows"], &json["process_rows"]), (&2.into(), &1.into()));
    assert_eq!(json["seconds"]["active"], 30.0);
    assert_eq!(json["seconds"]["idle_held"], 30.0);
    assert_eq!(json["from"], "2026-11-15T19:59:30Z");
}

#[test]
fn what_cannot_be_imported_is_refused_with_what_to_do() {
    let home = Home::new();
    fs::write(home.at("notes.txt"), "notes").unwrap();
    let mut broken = b"SQLite format 3\0".to_vec();
    broken.resize(4096, 0x5a);
    fs::write(home.at("broken.db"), broken).unwrap();
    home.refuses(&["none.db"], 2, &["none.db", "Name a database of the Python gua"]);
    home.refuses(&["notes.txt"], 2, &["it is not a database"]);
    home.refuses(&["broken.db"], 2, &["damaged", ".recover"]);
    assert!(!home.at("home").exists(), "nothing is made for what is refused");
    assert_eq!(home.import(&["old.db"]).code, Some(0));
    home.refuses(&["old.db"], 1, &["recorded already: 2026-11-15T19:59:30Z", "--db PATH"]);
    home.refuses(&["home/gua.db"], 2, &["of this gua", "--db home/gua.db"]);
    home.refuses(&["old.db", "--db", "notes.txt"], 2, &["notes.txt", "--db PATH"]);
    fs::copy(home.at("old.db"), home.at("copy.db")).unwrap();
    home.refuses(&["old.db", "--db", "copy.db"], 2, &["gua db import copy.db --db copy.db"]);
}

#[test]
fn a_file_at_our_own_place_is_taken_over() {
    let home = Home::new();
    fs::create_dir(home.at("home")).unwrap();
    fs::copy(home.at("old.db"), home.at("home/gua.db")).unwrap();
    let told = home.import(&["home/gua.db"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.stdout.contains("gua-python.db"), "{}", told.stdout);
    let same =
        fs::read(home.at("home/gua-python.db")).unwrap() == fs::read(home.at("old.db")).unwrap();
    assert!(same, "the old file is kept as it was");
    let again = home.import(&["home/gua.db"]);
    assert_eq!(again.code, Some(2), "{again:?}");
}

/// The same report, whether the file is read as it is or taken over first; and it stays as
/// it is.
#[test]
fn a_report_reads_the_file_as_it_is() {
    let home = Home::new();
    let before = fs::read(home.at("old.db")).unwrap();
    let report = |db: &str, more: &[&str]| {
        let window = ["--from", "2026-11-15T19:00:00Z", "--until", "2026-11-15T21:00:00Z"];
        let mut command = program(&[&["report", "--json", "--db", db], &window[..], more].concat());
        command.current_dir(home.0.path());
        let run = run(command);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let direct = report("old.db", &[]);
    assert_eq!(home.import(&["old.db", "--db", "ours.db"]).code, Some(0));
    for part in ["states", "identities", "cards", "heatmap", "equivalent_gpus"] {
        assert_eq!(direct[part], report("ours.db", &[])[part], "{part}");
    }
    assert_eq!(direct["identities"][0]["user"], "ann");
    let hours = |report: &Value| report["states"]["active"]["gpu_hours"].as_f64().unwrap();
    assert!((hours(&direct) - 30.0 / 3600.0).abs() < 1e-6);
    let minutes = report("ours.db", &["--interval", "60s"]);
    assert!((hours(&minutes) - 60.0 / 3600.0).abs() < 1e-6, "the interval was not written down");
    assert!(fs::read(home.at("old.db")).unwrap() == before);
    let names: Vec<_> =
        fs::read_dir(home.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("old.db-")), "{names:?}");
}

/// What was imported is accounted for as our own is: shares add up to the cards' idle-held time.
#[test]
fn imported_time_has_accounts_too() {
    let home = Home::new();
    let more = "INSERT INTO gpu_sample VALUES ('2026-11-15T20:01:17+00:00', 'GPU-1', 3);
        INSERT INTO proc_sample VALUES ('2026-11-15T20:01:17+00:00', 'GPU-1', 7, 500, 'ann');
        INSERT INTO proc_sample VALUES ('2026-11-15T20:01:17+00:00', 'GPU-1', 8, 1500, 'bob');";
    sqlite(&home.at("old.db"), more);
    assert_eq!(home.import(&["old.db", "--db", "ours.db"]).code, Some(0));
    let history = History::open(&home.at("ours.db")).unwrap();
    let window = history.extent().unwrap().unwrap();
    let mut accounts = Accounts::new(By::User, Thresholds::default().held.into());
    history.pieces(window, |piece| accounts.add(piece, |id| history.holder(id))).unwrap();
    let told: Vec<_> = accounts
        .finish()
        .into_iter()
        .map(|it| match it.name {
            Name::Known(known) => (known.label, it.idle_held, it.idle_held_share),
            other => panic!("{other:?}"),
        })
        .collect();
    // A tick counts for 30 s, whatever the distance to the last.
    assert_eq!(told, [("ann".to_owned(), 60_000, 37_500), ("bob".to_owned(), 30_000, 22_500)]);
    let sessions = history.sessions(window).unwrap();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    assert_eq!(sessions[0].spell.idle_millis, 60_000);
}
