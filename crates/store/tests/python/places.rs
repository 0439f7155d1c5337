//! Files into places: what is created, what is refused, and what stays as it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::span::Integral;
use gua_core::units::UnixMillis;
use gua_core::{Period, Reading, Reason, Span, State, Thresholds};
use gua_store::python::{import_to, open_converted, replace};
use gua_store::{Database, Problem, Retention, Run, Tick, Writer};
use rusqlite::Connection;

use crate::python_file::{
    HOUR, Layout, MINUTE, PythonFile, START, always, card, import_into, number, period, times,
};

const DAY: i64 = 24 * HOUR;
const QUARTER: i64 = HOUR / 4;

/// A file with three ticks, 90 s of active time.
fn file() -> PythonFile {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 30.0);
    for tick in 0..3 {
        file.add_tick(START + tick * 30_000, Some(1), &[card("GPU-0", 50, &[])]);
    }
    file
}

fn active(path: &Path) -> f64 {
    times(&Database::open(path).unwrap(), always())[0]
}

fn converted(path: &Path) -> f64 {
    times(&open_converted(path, always(), None).unwrap(), always())[0]
}

fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn copy(from: &Path, to: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        if name(from).exists() {
            fs::copy(name(from), name(to)).unwrap();
        }
    }
}

#[test]
fn new_database_is_for_its_owner_only() {
    let file = file();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/gua.db");
    import_to(&file.path(), &path, &mut |_| ()).unwrap();
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(active(&path), 90_000.0);
}

/// Trap: import of a Python gua: the file is never changed, and rows in its log count.
#[test]
fn reading_leaves_no_trace_with_a_log_or_without() {
    let file = file();
    let before = contents(file.dir.path());
    assert_eq!(converted(&file.path()), 90_000.0);
    assert!(contents(file.dir.path()) == before);
    file.execute("PRAGMA journal_mode = wal; DELETE FROM gpu_sample WHERE rowid = 1");
    // As a killed daemon leaves it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("python.db");
    copy(&file.path(), &path);
    let before = contents(folder.path());
    assert_eq!(converted(&path), 60_000.0);
    assert!(contents(folder.path()) == before);
    fs::remove_file(folder.path().join("python.db-shm")).unwrap();
    let error = open_converted(&path, always(), None).unwrap_err();
    assert!(matches!(error.problem, Problem::LogWithoutIndex), "{error}");
}

/// All tables of a young file may still be in its log.
#[test]
fn file_with_everything_in_its_log_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("python.db");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0").unwrap();
    let tables = "CREATE TABLE host (x); CREATE TABLE gpu_sample (ts, gpu_uuid, util_pct);
        CREATE TABLE proc_sample (ts, gpu_uuid, pid, mem_used_mb, loginuid_user);
        INSERT INTO gpu_sample VALUES ('2026-11-15T20:00:00Z', 'GPU-0', 50);";
    writer.execute_batch(tables).unwrap();
    assert!(matches!(Database::open(&path).unwrap_err().problem, Problem::PythonGua));
    assert_eq!(converted(&path), 30_000.0);
}

fn free_span(card: &Arc<CardFacts>, period: Period) -> Span {
    let (busy, memory, energy) = (Integral::default(), Integral::default(), Integral::default());
    let (card, state) = (Arc::clone(card), State::TrulyIdle);
    Span { card, period, state, holders: vec![], busy, memory, energy, energy_estimated_ms: 0 }
}

/// Records a free card of this gua's own.
fn record(path: &Path, from: i64, to: i64) -> Database {
    let run = Run {
        host: "lab".into(),
        boot: "b".into(),
        driver: None,
        recorder: "gua 0.1".into(),
        rule: "5 s".into(),
        thresholds: Thresholds::default(),
        interval_ms: Some(30_000),
        started: UnixMillis(from),
    };
    let mut writer = Writer::begin(Database::open_to_write(path).unwrap(), run).unwrap();
    let mut facts = CardFacts::unread(3, Reason::NotAsked);
    facts.uuid = Reading::Known("GPU-0".to_owned());
    let facts = Arc::new(facts);
    let mut at = from;
    while at < to {
        let (begin, mut spans) = (at, Vec::new());
        while at < to && spans.len() < 24 {
            let end = to.min((at / QUARTER + 1) * QUARTER);
            spans.push(free_span(&facts, period(at, end)));
            at = end;
        }
        let now = UnixMillis(at);
        let tick = Tick { closed: &spans, recorded_ms: at - begin, ..Tick::new(now, now) };
        writer.tick(&tick).unwrap();
        writer.prune(&Retention::default(), usize::MAX).unwrap();
    }
    writer.end("stopped").unwrap()
}

#[test]
fn older_time_goes_beside_what_is_recorded() {
    let file = file();
    let path = file.dir.path().join("gua.db");
    Database::create(&path).unwrap();
    drop(record(&path, START + 61_000, START + 2 * HOUR));
    import_to(&file.path(), &path, &mut |_| ()).unwrap();
    let free = 2.0 * HOUR as f64 - 61_000.0;
    let database = Database::open(&path).unwrap();
    let window = period(START - HOUR, START + 2 * HOUR);
    assert_eq!(times(&database, window), [90_000.0, 0.0, free, 0.0]);
    assert_eq!(database.check().unwrap(), []);
    assert_eq!(database.final_until().unwrap(), Some(UnixMillis(START + 2 * HOUR)));
    assert_eq!(database.cards().unwrap()[&1].index, 3, "what this gua has recorded is newer");
    drop(database);
    // The run before is the one before the import.
    drop(record(&path, START + HOUR, START + 2 * HOUR));
    assert_eq!(number(&path, "SELECT goes_back FROM run ORDER BY id DESC LIMIT 1"), 1);
    assert_eq!(number(&path, "SELECT count(*) FROM event WHERE kind = 'clock-set-back'"), 1);
}

/// Trap: import of a Python gua: time that is recorded already is refused, and nothing is changed.
#[test]
fn import_refuses_time_that_is_recorded_already() {
    let file = file();
    let path = file.dir.path().join("gua.db");
    Database::create(&path).unwrap();
    drop(record(&path, START + 61_000, START + 2 * HOUR));
    import_to(&file.path(), &path, &mut |_| ()).unwrap();
    let free = 2.0 * HOUR as f64 - 61_000.0;
    let database = Database::open(&path).unwrap();
    let window = period(START - HOUR, START + 2 * HOUR);
    let error = import_to(&file.path(), &path, &mut |_| ()).unwrap_err();
    assert!(matches!(error.problem, Problem::AlreadyRecorded(_)), "{error}");
    assert!(error.to_string().contains("2026-11-15T19:59:30Z"), "{error}");
    assert_eq!(times(&database, window), [90_000.0, 0.0, free, 0.0]);
    file.add_tick(START + HOUR, Some(1), &[card("GPU-0", 50, &[])]);
    let other = file.dir.path().join("other.db");
    Database::create(&other).unwrap();
    drop(record(&other, START + 61_000, START + 2 * HOUR));
    let error = import_into(&file.path(), &other).unwrap_err();
    assert!(matches!(error.problem, Problem::AlreadyRecorded(_)), "{error}");
    assert_eq!(number(&other, "SELECT count(*) FROM run"), 1);
}

/// Trap: import of a Python gua: one transaction, and sums are compared before COMMIT.
#[test]
fn import_whose_sums_differ_is_rolled_back_as_a_whole() {
    let file = file();
    let path = file.dir.path().join("gua.db");
    Database::create(&path).unwrap();
    drop(record(&path, START + HOUR, START + 2 * HOUR));
    let tables = ["run", "card_span", "card_hour", "sample", "event", "process"];
    let rows = || tables.map(|table| number(&path, &format!("SELECT count(*) FROM {table}")));
    let before = rows();
    // One millisecond of each row is lost on its way.
    let losing = "CREATE TRIGGER losing AFTER INSERT ON card_span BEGIN
         UPDATE card_span SET active_ms = active_ms - 1
         WHERE from_ms = new.from_ms AND card = new.card; END";
    Connection::open(&path).unwrap().execute_batch(losing).unwrap();
    let error = import_into(&file.path(), &path).unwrap_err();
    assert!(matches!(error.problem, Problem::NotWhole), "{error}");
    assert_eq!(rows(), before);
    Connection::open(&path).unwrap().execute_batch("DROP TRIGGER losing").unwrap();
    import_into(&file.path(), &path).unwrap();
}

/// Imported rows are summed up and pruned like others.
#[test]
fn imported_time_is_pruned() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 3600.0);
    for tick in 0..100 {
        let cards = [card("GPU-0", tick % 20, &[(7, Some(5000), "ann")])];
        file.add_tick(START + tick * 10 * MINUTE + 7, Some(1), &cards);
    }
    let path = file.dir.path().join("gua.db");
    import_to(&file.path(), &path, &mut |_| ()).unwrap();
    let window = period(START - HOUR, START + DAY);
    let before = times(&Database::open(&path).unwrap(), window);
    for (from, to) in [(2, 5), (5, 40)] {
        drop(record(&path, START + from * DAY, START + to * DAY));
        let database = Database::open(&path).unwrap();
        assert_eq!(database.check().unwrap(), []);
        assert_eq!(times(&database, window), before);
    }
    let rows = format!("SELECT count(*) FROM card_span WHERE from_ms < {}", START + DAY);
    assert_eq!(number(&path, &rows), 0, "only hours are left");
}

/// Where only hours are kept, an import adds to hours, and pruning goes on as before.
#[test]
fn time_before_the_fine_rows_becomes_hours() {
    let file = file();
    let path = file.dir.path().join("gua.db");
    Database::create(&path).unwrap();
    drop(record(&path, START + 61_000, START + 40 * DAY));
    let fine_from = number(&path, "SELECT fine_from_ms FROM store");
    assert!(fine_from > START + HOUR);
    let fine_rows = "SELECT count(*) FROM card_span";
    let before = number(&path, fine_rows);
    import_to(&file.path(), &path, &mut |_| ()).unwrap();
    assert_eq!(number(&path, fine_rows), before);
    assert_eq!(number(&path, "SELECT fine_from_ms FROM store"), fine_from);
    let database = Database::open(&path).unwrap();
    let [active, _, free, _] = times(&database, period(START - HOUR, START + HOUR));
    assert_eq!((active, free), (90_000.0, HOUR as f64 - 61_000.0));
    assert_eq!(database.check().unwrap(), []);
}

#[test]
fn only_files_of_the_python_gua_are_imported() {
    let file = file();
    let folder = tempfile::tempdir().unwrap();
    let [path, notes] = ["gua.db", "notes.txt"].map(|name| folder.path().join(name));
    fs::write(&notes, "notes").unwrap();
    let problem = |from: &Path| import_to(from, &path, &mut |_| ()).unwrap_err();
    assert!(matches!(problem(&notes).problem, Problem::Foreign(_)));
    assert!(matches!(problem(&folder.path().join("none")).problem, Problem::Missing));
    assert!(!path.exists());
    Database::create(&path).unwrap();
    let error = problem(&path);
    assert!(matches!(error.problem, Problem::NotPython), "{error}");
    let error = import_to(&file.path(), &notes, &mut |_| ()).unwrap_err();
    assert_eq!(error.path, notes);
}

/// A file with four ticks at the usual path, as another process left it.
fn at_usual_path(has_log: bool) -> (tempfile::TempDir, PathBuf) {
    let file = file();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gua.db");
    if has_log {
        file.execute("PRAGMA journal_mode = wal");
    }
    file.add_tick(START + 90_000, Some(1), &[card("GPU-0", 50, &[])]);
    copy(&file.path(), &path);
    (folder, path)
}

#[test]
fn replaced_file_is_kept_with_its_log() {
    for has_log in [false, true] {
        let (folder, path) = at_usual_path(has_log);
        let before = contents(folder.path());
        fs::write(folder.path().join("gua-python.db"), "another").unwrap();
        let replaced = replace(&path, &mut |_| ()).unwrap();
        assert_eq!(replaced.kept, folder.path().join("gua-python-2.db"));
        assert_eq!(active(&path), 120_000.0);
        for (old, bytes) in before {
            let name = old.file_name().unwrap().to_str().unwrap().replace("gua", "gua-python-2");
            assert!(fs::read(folder.path().join(&name)).unwrap() == bytes, "{name}");
        }
        assert_eq!(converted(&replaced.kept), 120_000.0);
        assert!(matches!(replace(&path, &mut |_| ()).unwrap_err().problem, Problem::NotPython));
    }
}

/// Each crash is played by the files that it leaves.
#[test]
fn crash_at_any_step_of_replacing_loses_nothing() {
    let link = |from: &Path, to: &Path, suffixes: &[&str]| {
        for suffix in suffixes {
            let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
            fs::hard_link(name(from), name(to)).unwrap();
        }
    };
    for step in ["made", "named in part", "named", "log removed"] {
        let (folder, path) = at_usual_path(true);
        let kept = folder.path().join("gua-python.db");
        fs::write(folder.path().join("gua.db.importing"), "half").unwrap();
        match step {
            "named in part" => link(&path, &kept, &["-wal"]),
            "named" => link(&path, &kept, &["", "-wal", "-shm"]),
            "log removed" => {
                link(&path, &kept, &["", "-wal", "-shm"]);
                for suffix in ["-wal", "-shm"] {
                    fs::remove_file(folder.path().join(format!("gua.db{suffix}"))).unwrap();
                }
            }
            _ => (),
        }
        let replaced = replace(&path, &mut |_| ()).unwrap();
        assert_eq!(active(&path), 120_000.0, "{step}");
        assert_eq!(converted(&replaced.kept), 120_000.0, "{step}");
        assert!(!folder.path().join("gua.db.importing").exists());
    }
}

/// Trap: import of a Python gua: a file that its daemon still writes to is not replaced.
#[test]
fn file_that_another_process_has_open_stays() {
    let (folder, path) = at_usual_path(false);
    let before = contents(folder.path());
    let output = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let mut other = Command::new("cat").stdin(Stdio::piped()).stdout(output).spawn().unwrap();
    let error = replace(&path, &mut |_| ()).unwrap_err();
    assert!(matches!(error.problem, Problem::InUse { pid } if pid == other.id()), "{error}");
    drop(other.stdin.take());
    other.wait().unwrap();
    assert!(contents(folder.path()) == before);
}
