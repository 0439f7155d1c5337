//! Where a file is taken over to, and what stays where it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use probe::units::UnixMillis;
use rusqlite::Connection;

use super::super::{TakenOver, history, import_to, take_over};
use super::fixture::{ALWAYS, File, Layout, START, Sums, by_state, card};
use crate::ledger::{Entry, Period};
use crate::store::{
    Ending, History, Identity, RecorderLock, Run, StoreError, Writer, create, identify,
    open_to_write,
};

fn file() -> File {
    let file = File::new(Layout::Newest);
    file.run(1, 30.0);
    for tick in 0..3 {
        file.tick(START + tick * 30_000, Some(1), &[card("GPU-0", 50, &[])]);
    }
    file
}

fn expected() -> Sums {
    Sums::from([("active", 90_000)])
}

fn sums(path: &Path) -> Sums {
    by_state(&History::open(path).unwrap(), ALWAYS)
}

fn quietly(path: &Path) -> Result<TakenOver, StoreError> {
    take_over(path, &mut |_| ())
}

fn listing(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_database_is_made_for_its_owner_only() {
    let file = file();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/gua.db");
    import_to(&file.path(), &path, &mut |_| ()).unwrap();
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(sums(&path), expected());
}

#[test]
fn reading_leaves_no_trace_with_a_log_or_without() {
    let File { dir, database, .. } = file();
    let path = dir.path().join("python.db");
    drop(database);
    let unchanged = || {
        let before = listing(dir.path());
        let read = history(&path, ALWAYS, true).unwrap();
        let sums = by_state(&read, ALWAYS);
        assert!(listing(dir.path()) == before);
        sums
    };
    assert_eq!(unchanged(), expected());
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = wal; DELETE FROM gpu_sample").unwrap();
    // As a killed daemon leaves it.
    let copy = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("python.db{suffix}");
        fs::copy(dir.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let before = listing(copy.path());
    let copied = copy.path().join("python.db");
    assert_eq!(by_state(&history(&copied, ALWAYS, true).unwrap(), ALWAYS), Sums::new());
    assert!(listing(copy.path()) == before);
    fs::remove_file(copy.path().join("python.db-shm")).unwrap();
    let lacking = history(&copied, ALWAYS, true).unwrap_err();
    assert!(matches!(lacking, StoreError::LogWithoutIndex), "{lacking}");
}

fn record(path: &Path, at: i64) {
    let run = Run {
        host: "lab".into(),
        boot: "b".into(),
        driver: None,
        recorder: "gua 0.1.0".into(),
        interval_millis: Some(30_000),
        started: UnixMillis(at),
    };
    let mut writer = Writer::begin(open_to_write(path).unwrap(), &run).unwrap();
    for to in [at, at + 30_000] {
        let covers = Period::new(UnixMillis(at), UnixMillis(to));
        let entry = Entry { at: covers.to, covers, late: None, cards: Vec::new() };
        writer.record(&entry, &[]).unwrap();
    }
    writer.end(Ending::Stopped).unwrap();
}

#[test]
fn older_time_goes_beside_what_is_recorded() {
    let file = file();
    let path = file.dir.path().join("ours.db");
    create(&path).unwrap();
    record(&path, START + 70_000);
    import_to(&file.path(), &path, &mut |_| ()).unwrap();
    assert_eq!(sums(&path), expected());
    let history = History::open(&path).unwrap();
    assert_eq!(history.newest_tick().unwrap(), Some(UnixMillis(START + 100_000)));
    assert_eq!(history.observed(ALWAYS).unwrap().len(), 3);
    let again = import_to(&file.path(), &path, &mut |_| ()).unwrap_err();
    assert!(matches!(again, StoreError::Overlap(_)), "{again}");
    assert_eq!(sums(&path), expected());
}

#[test]
fn a_recorder_is_not_disturbed() {
    let file = file();
    let path = file.dir.path().join("ours.db");
    create(&path).unwrap();
    let _lock = RecorderLock::take(&path).unwrap();
    let refused = import_to(&file.path(), &path, &mut |_| ()).unwrap_err();
    assert!(matches!(refused, StoreError::Recorded), "{refused}");
}

/// The old file as the daemon of another process left it: `gua.db` in a folder of its own.
fn at_our_place(with_log: bool) -> (tempfile::TempDir, PathBuf) {
    let file = file();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gua.db");
    let tick = |at| file.tick(at, Some(1), &[card("GPU-0", 50, &[])]);
    if with_log {
        file.database.execute_batch("PRAGMA journal_mode = wal").unwrap();
        tick(START + 90_000);
    } else {
        tick(START + 90_000);
    }
    for suffix in ["", "-wal", "-shm"] {
        let from = file.dir.path().join(format!("python.db{suffix}"));
        if from.exists() {
            fs::copy(from, folder.path().join(format!("gua.db{suffix}"))).unwrap();
        }
    }
    (folder, path)
}

#[test]
fn the_old_file_is_kept_with_its_log() {
    for with_log in [false, true] {
        let (folder, path) = at_our_place(with_log);
        let before = listing(folder.path());
        fs::write(folder.path().join("gua-python.db"), "another").unwrap();
        let taken = quietly(&path).unwrap();
        assert_eq!(taken.kept, folder.path().join("gua-python-2.db"));
        assert_eq!(sums(&path), Sums::from([("active", 120_000)]));
        for (old, bytes) in before {
            let name = old.file_name().unwrap().to_str().unwrap().replace("gua", "gua-python-2");
            assert!(fs::read(folder.path().join(&name)).unwrap() == bytes, "{name}");
        }
        assert!(matches!(identify(&path), Identity::Ours { .. }));
        let again = history(&taken.kept, ALWAYS, false).unwrap();
        assert_eq!(by_state(&again, ALWAYS), Sums::from([("active", 120_000)]));
    }
}

/// Each crash is played by the files that it leaves.
#[test]
fn a_crash_at_any_step_loses_nothing() {
    let link = |from: &Path, to: &Path, suffixes: &[&str]| {
        for suffix in suffixes {
            let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
            fs::hard_link(name(from), name(to)).unwrap();
        }
    };
    let all = Sums::from([("active", 120_000)]);
    for step in ["made beside", "named twice in part", "named twice", "log gone"] {
        let (folder, path) = at_our_place(true);
        let kept = folder.path().join("gua-python.db");
        fs::write(folder.path().join("gua.db.importing"), "half").unwrap();
        match step {
            "named twice in part" => link(&path, &kept, &["-wal"]),
            "named twice" => link(&path, &kept, &["", "-wal", "-shm"]),
            "log gone" => {
                link(&path, &kept, &["", "-wal", "-shm"]);
                for suffix in ["-wal", "-shm"] {
                    fs::remove_file(folder.path().join(format!("gua.db{suffix}"))).unwrap();
                }
            }
            _ => (),
        }
        let taken = quietly(&path).unwrap();
        assert_eq!(sums(&path), all, "{step}");
        let old = history(&taken.kept, ALWAYS, false).unwrap();
        assert_eq!(by_state(&old, ALWAYS), all, "{step}");
        assert!(!folder.path().join("gua.db.importing").exists());
    }
}

#[test]
fn a_file_that_somebody_has_open_stays() {
    let (folder, path) = at_our_place(false);
    let before = listing(folder.path());
    let output = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let mut other = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(output)
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1));
    let refused = quietly(&path).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { pid } if pid == other.id()), "{refused}");
    drop(other.stdin.take());
    other.wait().unwrap();
    assert!(listing(folder.path()) == before);
}
