//! `gua db import`: what it prints, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};

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
fn figures_and_the_next_step_are_printed() {
    let home = Home::new();
    let told = home.import(&["old.db"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    for line in ["ticks       2 in 1 run", "active      0.01 GPU-h, 50.0 %", "gua report --db"] {
        assert!(told.stdout.contains(line), "{}", told.stdout);
    }
    assert!(home.at("home/gua.db").exists());
    let json = home.import(&["old.db", "--json", "--db", "other.db"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["schema"], "gua.import/2");
    assert_eq!((&json["card_rows"], &json["process_rows"]), (&2.into(), &1.into()));
    assert_eq!(json["active_gpu_hours"], 30.0 / 3600.0);
    assert_eq!(json["idle_held_gpu_hours"], 30.0 / 3600.0);
    assert_eq!(json["from"], "2026-11-15T19:59:30Z");
}

#[test]
fn unusable_file_is_refused_with_the_next_step() {
    let home = Home::new();
    fs::write(home.at("notes.txt"), "notes").unwrap();
    let mut damaged = fs::read(home.at("old.db")).unwrap();
    damaged[2 * 4096..3 * 4096].fill(0x5a);
    fs::write(home.at("broken.db"), damaged).unwrap();
    home.refuses(&["none.db"], 2, &["none.db", "Name a database of the Python gua"]);
    home.refuses(&["notes.txt"], 2, &["it is not an SQLite file"]);
    home.refuses(&["broken.db"], 2, &["damaged", ".recover"]);
    let is_empty = fs::read_dir(home.at("home")).is_ok_and(|mut files| files.next().is_none());
    assert!(is_empty, "no database is left of a file that is refused");
    assert_eq!(home.import(&["old.db"]).code, Some(0));
    home.refuses(&["old.db"], 1, &["recorded already: 2026-11-15T19:59:30Z", "--db"]);
    home.refuses(&["home/gua.db"], 2, &["of this gua", "--db home/gua.db"]);
    home.refuses(&["old.db", "--db", "notes.txt"], 2, &["notes.txt", "--db"]);
    fs::copy(home.at("old.db"), home.at("copy.db")).unwrap();
    home.refuses(&["old.db", "--db", "copy.db"], 2, &["gua db import copy.db --db copy.db"]);
    let layout = "PRAGMA application_id = 0x47554131; PRAGMA user_version = 4; CREATE TABLE t (x);";
    sqlite(&home.at("layout.db"), layout);
    let before = fs::read(home.at("layout.db")).unwrap();
    home.refuses(&["old.db", "--db", "layout.db"], 2, &["layout 4 of an earlier gua"]);
    assert!(fs::read(home.at("layout.db")).unwrap() == before);
}

#[test]
fn file_at_the_default_path_is_replaced_and_kept() {
    let home = Home::new();
    fs::create_dir(home.at("home")).unwrap();
    fs::copy(home.at("old.db"), home.at("home/gua.db")).unwrap();
    let told = home.import(&["home/gua.db"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.stdout.contains("gua-python.db"), "{}", told.stdout);
    let same =
        fs::read(home.at("home/gua-python.db")).unwrap() == fs::read(home.at("old.db")).unwrap();
    assert!(same, "the old file is unchanged");
    let again = home.import(&["home/gua.db"]);
    assert_eq!(again.code, Some(2), "{again:?}");
}

/// The report is the same whether the file is read or imported, and the file stays unchanged.
#[test]
fn report_reads_the_file_without_importing_it() {
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
    for part in ["states", "accounts", "cards", "heatmap", "equivalent_gpus"] {
        assert_eq!(direct[part], report("ours.db", &[])[part], "{part}");
    }
    assert_eq!(direct["accounts"][0]["name"], "ann");
    let hours = |report: &Value| report["states"]["active"]["gpu_hours"].as_f64().unwrap();
    assert!((hours(&direct) - 30.0 / 3600.0).abs() < 1e-6);
    let minutes = report("old.db", &["--interval", "60s"]);
    assert!((hours(&minutes) - 60.0 / 3600.0).abs() < 1e-6, "a tick counts for the interval");
    let imported = report("ours.db", &["--interval", "60s"]);
    for part in ["states", "accounts", "cards", "heatmap", "equivalent_gpus"] {
        assert_eq!(minutes[part], imported[part], "{part} with an interval");
    }
    // Regression: the cards of "as if" were divided by time that does not follow the interval.
    assert_eq!(direct["states"]["active"]["share"], 0.5);
    assert_eq!(minutes["states"]["active"]["share"], 0.5);
    assert_eq!(direct["equivalent_gpus"]["idle_held"], 0.5);
    assert_eq!(direct["equivalent_gpus"], minutes["equivalent_gpus"]);
    assert!(fs::read(home.at("old.db")).unwrap() == before);
    let names: Vec<_> =
        fs::read_dir(home.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("old.db-")), "{names:?}");
}
