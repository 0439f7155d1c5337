//! What `gua doctor` says of its own files: the database and the recorder's.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use gua_store::Database;
use nvidia_ml::skip::skipped;
use rusqlite::Connection;
use serde_json::Value;

use super::{TWO_CARDS, as_nobody, doctor, json, machine, of, write_program};
use crate::machine::{Machine, PYTHON_GUA, run};

/// What a finding says, and whether the host is ready with it.
fn database(machine: &Machine, args: &[&str]) -> (Value, Value, Option<i32>) {
    let (code, checkup) = json(doctor(machine, args));
    let finding = of(&checkup, "database").clone();
    (finding, checkup["facts"]["database"].clone(), code)
}

#[test]
fn missing_database_and_empty_file_can_be_used() {
    let machine = machine(TWO_CARDS);
    let (finding, facts, code) = database(&machine, &[]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()));
    assert_eq!(facts["path"], machine.home().join(".gua/gua.db").to_str().unwrap());
    assert_eq!((&facts["kind"], &facts["writable"]), (&"missing".into(), &true.into()));
    assert!(!machine.home().join(".gua").exists());
    let empty = machine.dir().join("empty.db");
    fs::write(&empty, "").unwrap();
    let (finding, facts, code) = database(&machine, &["--db", empty.to_str().unwrap()]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()));
    assert_eq!((&facts["kind"], &facts["size_bytes"]), (&"empty".into(), &0.into()));
}

/// Trap: a link that leads nowhere looks like a file that is still to be made.
#[test]
fn a_link_into_a_folder_that_is_not_there_is_an_error() {
    let machine = machine(TWO_CARDS);
    let link = machine.dir().join("link.db");
    std::os::unix::fs::symlink(machine.dir().join("new/gua.db"), &link).unwrap();
    let (finding, facts, code) = database(&machine, &["--db", link.to_str().unwrap()]);
    assert_eq!((code, &finding["verdict"]), (Some(1), &"error".into()));
    assert!(finding["detail"].as_str().unwrap().contains("a link to "), "{finding}");
    assert_eq!((&facts["kind"], &facts["writable"]), (&"missing".into(), &false.into()));
    fs::create_dir(machine.dir().join("new")).unwrap();
    let (finding, _, code) = database(&machine, &["--db", link.to_str().unwrap()]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()), "{finding}");
}

fn sqlite(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn database_is_known_and_another_layout_refused() {
    let machine = machine(TWO_CARDS);
    fs::create_dir(machine.home().join(".gua")).unwrap();
    let path = machine.home().join(".gua/gua.db");
    Database::create(&path).unwrap();
    let (finding, facts, code) = database(&machine, &[]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()));
    assert_eq!((&facts["kind"], &facts["schema_version"]), (&"gua".into(), &11.into()));
    assert!(facts["size_bytes"].as_u64().unwrap() > 0);
    for (version, words) in [(99, "layout 99 of a newer gua"), (4, "layout 4 of an earlier gua")] {
        sqlite(&path, &format!("PRAGMA user_version = {version};"));
        let (finding, facts, code) = database(&machine, &[]);
        assert_eq!((code, &finding["verdict"]), (Some(1), &"error".into()));
        assert!(finding["detail"].as_str().unwrap().contains(words), "{finding}");
        assert_eq!((&facts["kind"], &facts["schema_version"]), (&"gua".into(), &version.into()));
    }
}

#[test]
fn a_database_of_the_python_gua_is_welcome() {
    let machine = machine(TWO_CARDS);
    fs::create_dir(machine.home().join(".gua")).unwrap();
    sqlite(&machine.home().join(".gua/gua.db"), PYTHON_GUA);
    let (finding, facts, code) = database(&machine, &[]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()));
    assert!(finding["detail"].as_str().unwrap().contains("Python gua"), "{finding}");
    assert_eq!((&facts["kind"], &facts["schema_version"]), (&"python_gua".into(), &Value::Null));
}

#[test]
fn what_is_not_ours_is_refused() {
    let machine = machine(TWO_CARDS);
    let at = |name: &str| machine.dir().join(name);
    sqlite(&at("other.db"), "CREATE TABLE gpu_sample (x); CREATE TABLE host (x);");
    fs::write(at("notes.txt"), "SQLite is a library\n").unwrap();
    fs::create_dir(at("folder")).unwrap();
    let mut broken = b"SQLite format 3\0".to_vec();
    broken.resize(4096, 0x5a);
    fs::write(at("broken.db"), broken).unwrap();
    let cases = [
        (at("other.db"), "other_sqlite"),
        (at("notes.txt"), "not_sqlite"),
        (at("folder"), "directory"),
        (at("broken.db"), "not_sqlite"),
        (PathBuf::from("/dev/null"), "not_a_file"),
        (at("notes.txt/gua.db"), "unreadable"),
    ];
    for (path, kind) in cases {
        let (finding, facts, code) = database(&machine, &["--db", path.to_str().unwrap()]);
        assert_eq!((code, &finding["verdict"]), (Some(1), &"error".into()), "{finding}");
        assert_eq!(facts["kind"], kind);
        assert!(finding["next_step"].as_str().unwrap().contains("--db PATH"), "{finding}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_and_a_history_in_it_a_warning() {
    let machine = machine(TWO_CARDS);
    let Some(command) = as_nobody(&machine, &[]) else {
        return skipped("a_folder_that_cannot_be_written", "no other user can be played");
    };
    let (code, checkup) = json(command);
    assert_eq!((code, &of(&checkup, "database")["verdict"]), (Some(1), &"error".into()));
    assert_eq!(checkup["facts"]["database"]["writable"], false);
    let path = machine.dir().join("shared.db");
    Database::create(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let command = as_nobody(&machine, &["--db", path.to_str().unwrap()]).unwrap();
    let (code, checkup) = json(command);
    assert_eq!((code, &of(&checkup, "database")["verdict"]), (Some(0), &"warning".into()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let command = as_nobody(&machine, &["--db", path.to_str().unwrap()]).unwrap();
    let (code, checkup) = json(command);
    assert_eq!((code, &of(&checkup, "database")["verdict"]), (Some(1), &"error".into()));
    assert_eq!(checkup["facts"]["database"]["kind"], "unreadable");
}

#[test]
fn an_empty_name_for_the_database_is_wrong_usage() {
    let run = run(doctor(&machine(TWO_CARDS), &["--db", ""]));
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("--db <PATH>"), "{}", run.stderr);
}

#[test]
fn without_a_home_the_database_must_be_named() {
    let machine = machine(TWO_CARDS);
    let homeless = |args: &[&str]| {
        let mut command = doctor(&machine, args);
        command.env_remove("HOME");
        json(command)
    };
    let (code, checkup) = homeless(&[]);
    assert_eq!((code, &of(&checkup, "database")["verdict"]), (Some(1), &"error".into()));
    assert_eq!(of(&checkup, "daemon")["verdict"], "skipped");
    assert_eq!(checkup["facts"]["daemon"]["running"], Value::Null);
    let path = machine.dir().join("x.db");
    assert_eq!(homeless(&["--db", path.to_str().unwrap()]).0, Some(0));
}

fn with_pid_file(machine: &Machine, text: &str) -> (Value, Value) {
    let folder = machine.home().join(".gua");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("gua.pid"), text).unwrap();
    let (code, checkup) = json(doctor(machine, &[]));
    assert_eq!(code, Some(0));
    (of(&checkup, "daemon").clone(), checkup["facts"]["daemon"].clone())
}

#[test]
fn a_stale_pid_file_is_a_warning() {
    let machine = machine(TWO_CARDS);
    let own = format!("{}\n", std::process::id());
    for text in ["2147483647\n", &own, "", "not a number\n"] {
        let (finding, facts) = with_pid_file(&machine, text);
        assert_eq!(finding["verdict"], "warning", "{finding}");
        assert!(finding["detail"].as_str().unwrap().starts_with("stale pid file"), "{finding}");
        assert!(finding["next_step"].as_str().unwrap().contains("rm "), "{finding}");
        assert_eq!((&facts["running"], &facts["pid"]), (&false.into(), &Value::Null));
    }
}

/// What is to be typed can be typed as it stands.
#[test]
fn a_path_with_blanks_is_quoted_in_advice() {
    let machine = machine(TWO_CARDS);
    let home = machine.dir().join("it's my home");
    fs::create_dir(&home).unwrap();
    let file = home.join("gua.pid");
    fs::write(&file, "2147483647\n").unwrap();
    let mut command = doctor(&machine, &[]);
    command.env("GUA_HOME", &home);
    let (_, checkup) = json(command);
    let step = of(&checkup, "daemon")["next_step"].as_str().unwrap().to_owned();
    let advice = step.split('`').nth(1).unwrap();
    assert!(Command::new("/bin/sh").args(["-c", advice]).status().unwrap().success(), "{step}");
    assert!(!file.exists(), "{step}");
}

#[test]
fn a_running_recorder_is_found_by_its_pid_file() {
    let machine = machine(TWO_CARDS);
    let gua = machine.dir().join("gua");
    write_program(&gua, "read line");
    let mut recorder = Command::new(gua).arg("daemon").stdin(Stdio::piped()).spawn().unwrap();
    // Until the shell has taken over, the process is still this test.
    let of_recorder = format!("/proc/{}/cmdline", recorder.id());
    while !fs::read_to_string(&of_recorder).unwrap().contains("daemon") {
        thread::sleep(Duration::from_millis(5));
    }
    let (finding, facts) = with_pid_file(&machine, &format!("{}\nmore\n", recorder.id()));
    drop(recorder.stdin.take());
    recorder.wait().unwrap();
    assert_eq!(finding["verdict"], "ok", "{finding}");
    assert_eq!((&facts["running"], &facts["pid"]), (&true.into(), &recorder.id().into()));
}

/// Every file below a folder with its bytes and the time of its last change; of a folder
/// the time only.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let changed = fs::metadata(&folder).unwrap().modified().unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let changed = fs::metadata(&path).unwrap().modified().unwrap();
                found.insert(path.clone(), (fs::read(&path).ok(), changed));
            }
        }
        found.insert(folder, (None, changed));
    }
    found
}

#[test]
fn nothing_is_changed_by_looking() {
    let machine = machine(TWO_CARDS);
    let folder = machine.home().join(".gua");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("gua.pid"), "2147483647\n").unwrap();
    let path = folder.join("gua.db");
    let unchanged = |what: &str| {
        let before = tree(machine.dir());
        for args in [&[][..], &["--json"]] {
            assert_eq!(run(doctor(&machine, args)).code, Some(0), "{what}");
        }
        assert!(tree(machine.dir()) == before, "{what}");
    };
    unchanged("no database");
    sqlite(&path, PYTHON_GUA);
    unchanged("a database at rest");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x);").unwrap();
    assert!(folder.join("gua.db-wal").exists());
    unchanged("a database in use");
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("gua.db{suffix}");
        fs::copy(folder.join(&name), folder.join(format!("copy-{name}"))).unwrap();
    }
    drop(writer);
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("gua.db{suffix}");
        fs::rename(folder.join(format!("copy-{name}")), folder.join(&name)).unwrap();
    }
    unchanged("a database whose writer died");
    fs::remove_file(folder.join("gua.db-shm")).unwrap();
    unchanged("a database with a log but no index");
}
